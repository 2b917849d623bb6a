/* Tests numbers of call sites, which all threads share, and the kernel's data about a thread, also on throttling of its cgroups. */
#include "runs/inside/interpose/interpose_look.c"

#include "tests/scratch.h"

/* Checks that two threads can reach a new site at once. The second one gets INTERPOSE_SITE_PENDING, which differs from a full table. */
static void numbered(void **state)
{
	static const struct {
		uint32_t number_and_2, expected;
	} rows[] = { { 0, INTERPOSE_SITE_PENDING }, { 1, INTERPOSE_NO_SITE }, { 9, 7 } };
	const uint64_t key = 0x1234;
	struct shared_site *s = &shared_sites[(uint32_t)((key * 0x9e3779b97f4a7c15u) >> (64 - SITES_LOG2))];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		*s = (struct shared_site){ key, rows[i].number_and_2 };
		assert_int_equal(interpose_site_number(NULL, key, "write", NULL), rows[i].expected);
	}
	*s = (struct shared_site){ 0, 0 };
}

static void numbers(void **state)
{
	static const struct {
		const char *line;
		uint64_t words;
		uint64_t expected;
	} rows[] = { { NULL, 1u << 1, 7 },
		     { "cpu1", 1u << 8, 1259 },
		     { "cpu10", 1u << 8, 42 },
		     { "cpu11", 1u << 8, UINT64_MAX },
		     { "cp", 1u << 1, UINT64_MAX },
		     { "cpu1", 1u << 11, UINT64_MAX },
		     { "intr", 1u << 1, 88 },
		     { "last", 1u << 1, 18446744073709551614u },
		     { "open", 1u << 1, UINT64_MAX },
		     { "cpu", 1u << 1 | 1u << 3, 18 },
		     { "cpu1", 1u << 7 | 1u << 8, 5886 },
		     { "Seccomp_filters:", 1u << 1, 12 } };

	(void)state;
	scratch_put("numbers", "cpu  7 9 11\ncpu1 933044 742520 400030 540550 5998 0 4627 1259 0 0\ncpu10 1 2 3 4 5 6 7 42 0 0\nintr "
			       "88\nSeccomp:\t2\nSeccomp_filters:\t12\n"
			       "last 18446744073709551614\nopen 5");
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(read_status_number("numbers", rows[i].line, rows[i].words), rows[i].expected);
	assert_int_equal(read_status_number("nowhere", NULL, 1), UINT64_MAX);
}

/* Checks that rows of one file are found in order. */
static void rows_in_order(void **state)
{
	struct text t;

	(void)state;
	scratch_put("numbers", "cpu  7 9 11\ncpu0 1 2 3\ncpu1 4 5 6\n");
	t = text_open("numbers");
	assert_int_equal(number_next(&t, "cpu", 1u << 1), 7);
	assert_int_equal(number_next(&t, "cpu1", 1u << 2), 5);
	assert_int_equal(number_next(&t, "cpu0", 1u << 1), UINT64_MAX);
	text_close(&t);
}

/* Checks that the run-queue delay of a thread is read again only after a context switch. */
static void turns(void **state)
{
	struct interpose_usage a;
	uint64_t n = UINT64_MAX, left;

	(void)state;
	memset(&a, 0xff, sizeof(a));
	assert_true(usage_read(&a, &n, RECORD_LEVEL_RESOURCES));
	assert_int_equal(n, a.voluntary + a.involuntary);
	for (size_t i = 0; i < 100; i++) {
		uint64_t delay = a.run_delay_ns;

		left = n;
		if (i % 10 == 9)
			usleep(1000);
		if (usage_read(&a, &n, RECORD_LEVEL_TIMES))
			assert_true(n > left);
		else
			assert_true(n == left && a.run_delay_ns == delay);
		assert_int_equal(a.voluntary, UINT64_MAX);
	}
	assert_true(a.run_delay_ns != UINT64_MAX);
}

static void groups(void **state)
{
	static const struct {
		const char *groups, *controller, *expected;
	} rows[] = {
		{ "4:memory:/m\n2:cpu,cpuacct:/a/b\n0::/c\n", "cpu", "/a/b" },
		{ "4:memory:/m\n2:cpuacct,cpu:/a/b\n0::/c\n", "cpu", "/a/b" },
		{ "3:cpuset:/s\n2:cpuacct:/a\n0::/c:d", "cpu", NULL },
		{ "3:cpuset:/s\n0::/c:d\n", "", "/c:d" },
		{ "broken\n1:cpu\n\n:", "cpu", NULL },
		{ "", "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t bytes = 0;
		const char *group = find_group(rows[i].groups, rows[i].controller, &bytes);

		assert_int_equal(!group, !rows[i].expected);
		if (group) {
			assert_int_equal(bytes, strlen(rows[i].expected));
			assert_memory_equal(group, rows[i].expected, bytes);
		}
	}
}

/* Checks the throttled time of a group and all its existing parents. */
static void quotas(void **state)
{
	static const struct {
		const char *group;
		uint64_t expected;
	} rows[] = { { "/a/b", 35000 }, { "/a", 30000 }, { "/", 10000 }, { "/elsewhere/deep", 10000 }, { "/a/b/", 35000 } };

	(void)state;
	assert_int_equal(throttled_ns_with_ancestors("root", "/a", 2, "throttled_usec", 1000), UINT64_MAX);
	assert_int_equal(mkdir("root", 0755) | mkdir("root/a", 0755) | mkdir("root/a/b", 0755), 0);
	scratch_put("root/cpu.stat", "nr_throttled 3\nthrottled_usec 10\n");
	scratch_put("root/a/cpu.stat", "throttled_usec 20\n");
	scratch_put("root/a/b/cpu.stat", "usage_usec 77\nthrottled_usec 5\n");
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(throttled_ns_with_ancestors("root", rows[i].group, strlen(rows[i].group), "throttled_usec", 1000),
				 rows[i].expected);
}

/* Checks a process that moves to another cgroup: the earlier throttling of the new group does not count, that in the old group does. */
static void moved(void **state)
{
	static const struct {
		uint64_t reported_value;
		bool same_group;
		uint64_t expected;
	} rows[] = { { 700, false, 0 },	       { 750, true, 50 },    { 600000, false, 50 }, { 600000, true, 50 },
		     { UINT64_MAX, true, 50 }, { 600020, true, 70 }, { 755, false, 70 },    { 756, true, 71 } };
	struct growing_counter g = { .ns = UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		add_growth(&g, rows[i].reported_value, rows[i].same_group);
		assert_int_equal(g.ns, rows[i].expected);
	}
}

static uint64_t ns_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Works for about three quarters of each interval between two kernel ticks, and sleeps at the ticks. */
static void work_between_ticks(size_t ticks)
{
	struct timespec period, until;
	uint64_t coarse = ns_now(CLOCK_MONOTONIC_COARSE), tick_ns, at;

	clock_getres(CLOCK_MONOTONIC_COARSE, &period);
	tick_ns = (uint64_t)period.tv_nsec;
	while (ns_now(CLOCK_MONOTONIC_COARSE) == coarse)
		;
	at = ns_now(CLOCK_MONOTONIC);
	for (size_t i = 0; i < ticks; i++) {
		at += tick_ns;
		until.tv_sec = (time_t)((at + tick_ns / 8) / 1000000000u);
		until.tv_nsec = (long)((at + tick_ns / 8) % 1000000000u);
		while (ns_now(CLOCK_MONOTONIC) < at - tick_ns / 8)
			;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
}

/* Checks that the CPU time of a thread counts as busy time even if the kernel's tick never meets the thread. */
static void busy_between_ticks(void **state)
{
	struct interpose_usage a;
	struct interpose_withheld_time w = { .processor = 0 };
	uint64_t busy, used;

	(void)state;
	processors = get_nprocs();
	memset(&a, 0xff, sizeof(a));
	for (size_t i = 0; i < 1000 && a.busy_ns == UINT64_MAX; i++)
		stat_read(&a, &w);
	busy = a.busy_ns;
	used = ns_now(CLOCK_THREAD_CPUTIME_ID);
	work_between_ticks(250);
	used = ns_now(CLOCK_THREAD_CPUTIME_ID) - used;
	stat_read(&a, &w);
	for (size_t i = 0; i < 1000 && a.busy_ns == busy; i++)
		stat_read(&a, &w);
	assert_true((double)(a.busy_ns - busy) > .9 * (double)used);
}

int suite_interpose_look(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(numbered),	 SCRATCH_TEST(numbers),
					    SCRATCH_TEST(rows_in_order), cmocka_unit_test(turns),
					    cmocka_unit_test(groups),	 SCRATCH_TEST(quotas),
					    cmocka_unit_test(moved),	 cmocka_unit_test(busy_between_ticks) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
