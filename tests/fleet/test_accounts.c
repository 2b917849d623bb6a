/* Tests the counts of a command: PMU counts, with the kernel's task clock in place of hardware events, and CPU frequency and temperature,
 * read from simulated /sys trees. The helper is a separate program, so this test includes its source file. */
#include "tests/scratch.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static struct {
	int refused; /* errno of perf_event_open(); 0: the call succeeds */
	size_t n;
	struct perf_event_attr asked[2];
} played;

static long open_clock(struct perf_event_attr event)
{
	event.type = PERF_TYPE_SOFTWARE;
	event.config = PERF_COUNT_SW_TASK_CLOCK;
	return syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static long played_open(long number, const struct perf_event_attr *event, int process, int processor, int leader, unsigned long flags)
{
	(void)number, (void)process, (void)processor, (void)leader, (void)flags;
	played.asked[played.n++] = *event;
	errno = played.refused;
	return played.refused ? -1 : open_clock(*event);
}

#define syscall played_open
#include "fleet/helper/accounts.c"
#undef syscall

/* Checks that without counters pmu_open() makes only one system call and the report stays empty. */
static void test_none(void **state)
{
	struct pmu pmu = { .open = false };
	char text[PMU_BYTES] = "";

	(void)state;
	pmu_end(&pmu);
	assert_int_equal(pmu_write(&pmu, text, sizeof(text)), 0);
	memset(&played, 0, sizeof(played));
	played.refused = ENOENT;
	pmu_open(&pmu);
	assert_int_equal(played.n, 1);
	pmu_end(&pmu);
	assert_int_equal(pmu_write(&pmu, text, sizeof(text)), 0);
	assert_string_equal(text, "");
}

/* Spins in a forked child, then again in the shell that the child executes, and in a child of that shell. */
static void run_both(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		for (volatile int i = 0; i < 200000000; i++) /* before exec(): at least 50 ms */
			;
		execl("/bin/sh", "sh", "-c",
		      "i=0; while [ $i -lt 10000 ]; do i=$((i+1)); done; sh -c 'i=0; while [ $i -lt 10000 ]; do i=$((i+1)); done' & wait",
		      (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static int64_t ns_of(struct timeval time)
{
	return INT64_C(1000000000) * time.tv_sec + INT64_C(1000) * time.tv_usec;
}

static int64_t children_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return ns_of(usage.ru_utime) + ns_of(usage.ru_stime);
}

/* Checks that counting starts at exec() and includes the command's children. */
static void test_counted(void **state)
{
	struct pmu pmu;
	char text[PMU_BYTES] = "";
	int64_t cpu_ns;

	(void)state;
	memset(&played, 0, sizeof(played));
	pmu_open(&pmu);
	assert_int_equal(played.n, 2);
	assert_int_equal(played.asked[0].config, PERF_COUNT_HW_INSTRUCTIONS);
	assert_int_equal(played.asked[1].config, PERF_COUNT_HW_CPU_CYCLES);
	assert_true(played.asked[0].exclude_kernel && played.asked[0].inherit);
	if (pmu.fds[0] < 0)
		skip(); /* the kernel refuses even the task clock */
	cpu_ns = -children_ns();
	run_both();
	pmu_end(&pmu);
	cpu_ns += children_ns();
	if (pmu.counts[0] < 1000000 || pmu.counts[0] > cpu_ns - 20000000)
		fail_msg("%lld of %lld ns", (long long)pmu.counts[0], (long long)cpu_ns);
	assert_true(pmu_write(&pmu, text, sizeof(text)) > 0);
	assert_true(strncmp(text, "instructions ", 13) == 0 && strstr(text, "\ncycles "));
}

/* ---- frequency and temperature ---- */

#define ZONE  "tree/sys/class/thermal/thermal_zone"
#define CHIP  "tree/sys/class/hwmon/hwmon"
#define SPEED "tree/sys/devices/system/cpu/cpu"

struct played_file {
	const char *path, *text;
};

/* Writes the files, up to one without a path, into a new tree. */
static void play(const struct played_file *files)
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
		struct played_file files[6];
		int64_t expected;
	} rows[] = {
		{ "a host that says nothing", { { NULL, NULL } }, SENSOR_UNKNOWN },
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
		  SENSOR_UNKNOWN },
		{ "processors, not disks",
		  { { CHIP "0/name", "nvme\n" },
		    { CHIP "0/temp1_input", "70000\n" },
		    { CHIP "3/name", "k10temp\n" },
		    { CHIP "3/temp1_input", "48125\n" },
		    { CHIP "3/temp3_input", "51000\n" } },
		  51000 },
		{ "disks alone", { { CHIP "0/name", "nvme\n" }, { CHIP "0/temp1_input", "70000\n" } }, SENSOR_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		int64_t is;

		play(rows[i].files);
		is = sensor_temperature_mc("tree");
		if (is != rows[i].expected)
			fail_msg("%s: %lld", rows[i].what, (long long)is);
	}
}

static void test_frequency(void **state)
{
	static const struct played_file none[] = { { NULL, NULL } },
					two[] = { { SPEED "0/cpufreq/scaling_cur_freq", "2400000\n" },
						  { SPEED "1/cpufreq/scaling_cur_freq", "3600000\n" },
						  { SPEED "3/cpufreq/scaling_cur_freq", "9\n" },
						  { NULL, NULL } },
					silent[] = { { SPEED "0/cpufreq/scaling_cur_freq", "<unknown>\n" }, { NULL, NULL } };

	(void)state;
	play(none);
	assert_true(climate_frequency_khz("tree") == SENSOR_UNKNOWN);
	play(two);
	assert_int_equal(climate_frequency_khz("tree"), 3000000);
	play(silent);
	assert_true(climate_frequency_khz("tree") == SENSOR_UNKNOWN);
}

int suite_accounts(void)
{
	const struct CMUnitTest tests[] = { SCRATCH_TEST(test_none), SCRATCH_TEST(test_counted), SCRATCH_TEST(test_temperature),
					    SCRATCH_TEST(test_frequency) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
