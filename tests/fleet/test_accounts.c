/* Counts of a command: the PMU's, with the kernel's task clock in place of its events, and what a host says of its processors' frequency
 * and temperature, on played trees of /sys. The helper is a program of its own, so its file comes in here. */
#include "tests/scratch.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static struct {
	int refused;	/* errno; 0: none is */
	uint64_t still; /* but this event of the processor's own */
	size_t n;
	struct perf_event_attr asked[16];
	int leaders[16];
} played;

static long open_clock(struct perf_event_attr event, int leader)
{
	event.type = PERF_TYPE_SOFTWARE;
	event.config = PERF_COUNT_SW_TASK_CLOCK;
	return syscall(SYS_perf_event_open, &event, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

static long played_open(long number, const struct perf_event_attr *event, int process, int processor, int leader, unsigned long flags)
{
	(void)number, (void)process, (void)processor, (void)flags;
	played.asked[played.n] = *event;
	played.leaders[played.n++] = leader;
	if (played.refused || (event->type != PERF_TYPE_HARDWARE && event->config == played.still)) {
		errno = played.refused ? played.refused : EINVAL;
		return -1;
	}
	return open_clock(*event, leader);
}

#define syscall played_open
#include "fleet/helper/accounts.c"
#undef syscall

#define CPU "tree/sys/bus/event_source/devices/cpu"

static void play_processor(void)
{
	scratch_put(CPU "/type", "4\n");
	scratch_put(CPU "/events/slots", "event=0x00,umask=0x4\n");
	scratch_put(CPU "/events/topdown-retiring", "event=0x00,umask=0x80\n");
	scratch_put(CPU "/events/topdown-bad-spec", "event=0x00,umask=0x81\n");
	scratch_put(CPU "/events/topdown-fe-bound", "event=0x00,umask=0x82,edge\n");
	scratch_put(CPU "/events/topdown-be-bound", "event=0x00,umask=0x83\n");
}

static void make_directories(void)
{
	static const char *const all[] = {
		"tree", "tree/sys", "tree/sys/bus", "tree/sys/bus/event_source", "tree/sys/bus/event_source/devices", CPU, CPU "/events"
	};

	for (size_t i = 0; i < COUNT(all); i++)
		assert_int_equal(mkdir(all[i], 0755), 0);
}

/* Where none can be had, one question is all that it costs, and nothing is said. */
static void test_none(void **state)
{
	struct pmu pmu = { .open = false };
	char text[PMU_BYTES] = "";

	(void)state;
	pmu_end(&pmu);
	assert_int_equal(pmu_say(&pmu, text, sizeof(text)), 0);
	make_directories();
	play_processor();
	memset(&played, 0, sizeof(played));
	played.refused = ENOENT;
	pmu_open(&pmu, "tree");
	assert_int_equal(played.n, 1);
	pmu_end(&pmu);
	assert_int_equal(pmu_say(&pmu, text, sizeof(text)), 0);
	assert_string_equal(text, "");
}

/* Spins for a while, and again as another program that a child of it becomes. */
static void run_both(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		for (volatile int i = 0; i < 200000000; i++) /* before it is a program: 50 ms and more */
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

/* From its exec() on, with what it starts. */
static void test_counted(void **state)
{
	struct pmu pmu;
	char text[PMU_BYTES] = "";
	int64_t cpu_ns;

	(void)state;
	memset(&played, 0, sizeof(played));
	pmu_open(&pmu, "nowhere");
	assert_int_equal(played.n, 2);
	assert_int_equal(played.asked[0].config, PERF_COUNT_HW_INSTRUCTIONS);
	assert_int_equal(played.asked[1].config, PERF_COUNT_HW_CPU_CYCLES);
	assert_true(played.asked[0].exclude_kernel && played.asked[0].inherit && played.leaders[0] == -1);
	if (pmu.fds[0] < 0)
		skip(); /* not even the clock is allowed here */
	cpu_ns = -children_ns();
	run_both();
	pmu_end(&pmu);
	cpu_ns += children_ns();
	if (pmu.counts[0] < 1000000 || pmu.counts[0] > cpu_ns - 20000000)
		fail_msg("%lld of %lld ns", (long long)pmu.counts[0], (long long)cpu_ns);
	assert_true(pmu.counts[2] == -1);
	assert_true(pmu_say(&pmu, text, sizeof(text)) > 0);
	assert_true(strncmp(text, "instructions ", 13) == 0 && strstr(text, "\ncycles ") && !strstr(text, "topdown"));
}

/* The parts of the slots are counted in one group with them, and not without them. What is described by more than an event and its mask is
 * left out. */
static void test_topdown(void **state)
{
	struct pmu pmu;
	char text[PMU_BYTES] = "";

	(void)state;
	make_directories();
	play_processor();
	memset(&played, 0, sizeof(played));
	played.still = 1;
	pmu_open(&pmu, "tree");
	if (pmu.fds[0] < 0)
		skip();
	assert_int_equal(played.n, 6);
	for (size_t i = 2; i < 6; i++) {
		assert_int_equal(played.asked[i].type, 4);
		assert_int_equal(played.leaders[i], i == 2 ? -1 : pmu.fds[2]);
		assert_true(played.asked[i].disabled == (i == 2));
	}
	assert_int_equal(played.asked[2].config, 0x400);
	assert_int_equal(played.asked[5].config, 0x8300);
	run_both();
	pmu_end(&pmu);
	assert_true(pmu.counts[2] > 1000000 && pmu.counts[6] > 1000000);
	assert_true(pmu.counts[5] == -1);
	pmu_say(&pmu, text, sizeof(text));
	assert_true(strstr(text, "\ntopdown_slots ") && strstr(text, "\ntopdown_backend ") && !strstr(text, "frontend"));
	memset(&played, 0, sizeof(played));
	played.still = 0x400;
	pmu_open(&pmu, "tree");
	assert_int_equal(played.n, 3);
	pmu_end(&pmu);
}

/* ---- frequency and temperature ---- */

#define ZONE  "tree/sys/class/thermal/thermal_zone"
#define CHIP  "tree/sys/class/hwmon/hwmon"
#define SPEED "tree/sys/devices/system/cpu/cpu"

struct played_file {
	const char *path, *text;
};

/* The files up to one without a path, in a new tree. */
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
	static const struct played_file none[] = { { NULL, NULL } },
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

int suite_accounts(void)
{
	const struct CMUnitTest tests[] = { SCRATCH_TEST(test_none), SCRATCH_TEST(test_counted), SCRATCH_TEST(test_topdown),
					    SCRATCH_TEST(test_temperature), SCRATCH_TEST(test_frequency) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
