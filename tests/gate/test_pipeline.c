/* Tests the pipeline of Intel CPUs. */
#include "tests/gate/played_pipeline.h"

static double count_of(uint32_t code, const double *p)
{
	const double data = p[MADE_L1] + p[MADE_L2] + p[MADE_L3] + p[MADE_DRAM];
	const double all = p[MADE_FRONT_END] + p[MADE_SPECULATION] + p[MADE_RETIRING] + p[MADE_CORE] + data;

	switch (code) {
	case 0x0400:
		return FREQUENCY * WIDTH * all;
	case 0x003c:
		return FREQUENCY * all;
	case 0x8200:
		return FREQUENCY * WIDTH * p[MADE_FRONT_END];
	case 0x8300:
		return FREQUENCY * WIDTH * (p[MADE_CORE] + data);
	case 0x8000:
		return FREQUENCY * WIDTH * p[MADE_RETIRING];
	case 0x8100:
		return FREQUENCY * WIDTH * p[MADE_SPECULATION];
	case 0x8700:
		return FREQUENCY * WIDTH * data;
	case 0x0c000ca3:
		return FREQUENCY * (data - p[MADE_L1]);
	case 0x050005a3:
		return FREQUENCY * (p[MADE_L3] + p[MADE_DRAM]);
	case 0x060006a3:
		return FREQUENCY * p[MADE_DRAM];
	default:
		fail_msg("%x", code);
		return 0;
	}
}

static void test_levels(void **state)
{
	(void)state;
	levels_found((const uint32_t[]){ 0x0c000ca3, 0x050005a3, 0x060006a3 }, (const uint32_t[]){ 0x8700, 0, 0 });
}

static void test_nothing(void **state)
{
	(void)state;
	nothing_counted(0x0400);
}

int main(void)
{
	const struct CMUnitTest tests[] = { SCRATCH_TEST(test_levels), SCRATCH_TEST(test_nothing) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
