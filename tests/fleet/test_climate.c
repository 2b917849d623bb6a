/* What a host says of its processors' frequency and temperature, on played trees of /sys. The helper is a program of its own, so its file
 * comes in here. */
#include "tests/scratch.h"

#include "fleet/helper/climate.c"

#define ZONE  "tree/sys/class/thermal/thermal_zone"
#define CHIP  "tree/sys/class/hwmon/hwmon"
#define SPEED "tree/sys/devices/system/cpu/cpu"

struct played {
	const char *path, *text;
};

/* The files up to one without a path, in a new tree. */
static void play(const struct played *files)
{
	struct assay_error err;

	if (access("tree", F_OK) == 0)
		assert_int_equal(nftw("tree", scratch_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
	for (; files->path; files++) {
		for (const char *end = strchr(files->path, '/'); end; end = strchr(end + 1, '/')) {
			char *directory = mem_bytes(files->path, (size_t)(end - files->path));

			check(file_make_directory(directory, 0755, &err), &err);
			free(directory);
		}
		scratch_put(files->path, files->text);
	}
}

static void test_temperature(void **state)
{
	static const struct {
		const char *what;
		struct played files[6];
		int64_t expected;
	} rows[] = {
		{ "a host that says nothing", { { NULL, NULL } }, CLIMATE_UNKNOWN },
		{ "the warmest zone, of which one is missing",
		  { { ZONE "0/temp", "41000\n" },
		    { ZONE "2/temp", "57500\n" },
		    { ZONE "3/temp", "-5000\n" },
		    { CHIP "0/name", "coretemp\n" },
		    { CHIP "0/temp1_input", "99000\n" } },
		  57500 },
		{ "below zero", { { ZONE "0/temp", "-5000\n" } }, -5000 },
		{ "sensors at fault",
		  { { ZONE "0/temp", "-273000\n" }, { ZONE "1/temp", "none\n" }, { ZONE "2/temp", "" }, { ZONE "3/temp", "1000000\n" } },
		  CLIMATE_UNKNOWN },
		{ "processors, not disks",
		  { { CHIP "0/name", "nvme\n" },
		    { CHIP "0/temp1_input", "70000\n" },
		    { CHIP "3/name", "k10temp\n" },
		    { CHIP "3/temp1_input", "48125\n" },
		    { CHIP "3/temp3_input", "51000\n" } },
		  51000 },
		{ "disks alone", { { CHIP "0/name", "nvme\n" }, { CHIP "0/temp1_input", "70000\n" } }, CLIMATE_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		int64_t is;

		play(rows[i].files);
		is = climate_temperature_mc("tree");
		if (is != rows[i].expected)
			fail_msg("%s: %lld", rows[i].what, (long long)is);
	}
}

static void test_frequency(void **state)
{
	static const struct played none[] = { { NULL, NULL } },
				   two[] = { { SPEED "0/cpufreq/scaling_cur_freq", "2400000\n" },
					     { SPEED "1/cpufreq/scaling_cur_freq", "3600000\n" },
					     { SPEED "3/cpufreq/scaling_cur_freq", "9\n" },
					     { NULL, NULL } },
				   silent[] = { { SPEED "0/cpufreq/scaling_cur_freq", "<unknown>\n" }, { NULL, NULL } };

	(void)state;
	play(none);
	assert_true(climate_frequency_khz("tree") == CLIMATE_UNKNOWN);
	play(two);
	assert_int_equal(climate_frequency_khz("tree"), 3000000);
	play(silent);
	assert_true(climate_frequency_khz("tree") == CLIMATE_UNKNOWN);
}

int suite_climate(void)
{
	const struct CMUnitTest tests[] = { SCRATCH_TEST(test_temperature), SCRATCH_TEST(test_frequency) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
