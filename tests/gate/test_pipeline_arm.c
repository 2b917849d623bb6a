/* Tests the pipeline of Arm CPUs: slots are cycles, and the CPU counts instructions that were started and those that were completed. */
#define INTERPOSE_AARCH64
#include "tests/gate/played_pipeline.h"

static double count_of(uint32_t code, const double *p)
{
	const double data = p[MADE_L1] + p[MADE_L2] + p[MADE_L3] + p[MADE_DRAM];

	switch (code) {
	case 0x11:
		return FREQUENCY * (p[MADE_FRONT_END] + p[MADE_SPECULATION] + p[MADE_RETIRING] + p[MADE_CORE] + data);
	case 0x23:
		return FREQUENCY * p[MADE_FRONT_END];
	case 0x24:
		return FREQUENCY * (p[MADE_CORE] + data);
	case 0x08:
		return FREQUENCY * WIDTH * p[MADE_RETIRING];
	case 0x1b:
		return FREQUENCY * WIDTH * (p[MADE_RETIRING] + p[MADE_SPECULATION]);
	case 0x8164:
		return FREQUENCY * data;
	case 0x8165:
		return FREQUENCY * (data - p[MADE_L1]);
	case 0x8166:
		return FREQUENCY * (p[MADE_L3] + p[MADE_DRAM]);
	case 0x4005:
		return FREQUENCY * p[MADE_DRAM];
	default:
		fail_msg("%x", code);
		return 0;
	}
}

static void test_levels(void **state)
{
	(void)state;
	levels_found((const uint32_t[]){ 0x8165, 0x8166, 0x4005 }, (const uint32_t[]){ 0x8164, 0, 0 });
}

static void test_nothing(void **state)
{
	(void)state;
	nothing_counted(0x11);
}

int main(void)
{
	const struct CMUnitTest tests[] = { SCRATCH_TEST(test_levels), SCRATCH_TEST(test_nothing) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
