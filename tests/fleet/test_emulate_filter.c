/* Tests slowdowns of emulated hosts inside the kernel: events, and filters that slow one class of system calls without other effects. */
#include "tests/scratch.h"

#include "fleet/emulate/emulate_host.c"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALLS	  2000
#define DIVISIONS 3000
#define DOSE_NS	  1500 /* minimum delay of this many divisions: no CPU divides in less than 0.5 ns */

/* One system call of each class that does nothing if all its arguments are -1. */
static const long calls[EMULATE_CLASSES] = {
	[EMULATE_CALLS_DATA] = SYS_read,	  [EMULATE_CALLS_METADATA] = SYS_close,	       [EMULATE_CALLS_MAPPING] = SYS_munmap,
	[EMULATE_CALLS_PROCESSES] = SYS_getppid,  [EMULATE_CALLS_SYNCHRONISATION] = SYS_futex, [EMULATE_CALLS_NETWORK] = SYS_shutdown,
	[EMULATE_CALLS_EVENTS] = SYS_epoll_pwait, [EMULATE_CALLS_TIME] = SYS_timer_getoverrun, [EMULATE_CALLS_OTHER] = SYS_getuid,
};

static int64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Returns the CPU time per system call of this class, in ns. */
static double cost_ns(unsigned which)
{
	int64_t from = cpu_ns();

	for (int i = 0; i < CALLS; i++)
		syscall(calls[which], -1L, -1L, -1L, -1L, -1L, -1L);
	return (double)(cpu_ns() - from) / CALLS;
}

static bool filter_installed(unsigned which)
{
	struct emulate_profile profile = { .divisions = { 0 } };

	profile.divisions[which] = DIVISIONS;
	return emulate_filter_install(&profile, NULL) == ASSAY_OK;
}

/* Checks that a filter slows only its class: other calls take a fraction of the delay at most, and results do not change. */
static int filtered(unsigned which)
{
	double none, dose;

	none = cost_ns(which);
	if (!filter_installed(which))
		return 1;
	dose = cost_ns(which) - none;
	if (dose < DOSE_NS)
		return 2;
	for (unsigned other = 0; other < EMULATE_CLASSES; other++)
		if (other != which && cost_ns(other) > .5 * dose + 1000)
			return 10 + (int)other;
	if (open("/nonesuch/file", O_RDONLY) >= 0 || errno != ENOENT || syscall(SYS_getpid) != getpid())
		return 3;
	return 0;
}

static void test_filters(void **state)
{
	(void)state;
	for (unsigned which = 0; which < EMULATE_CLASSES; which++) {
		int status;
		pid_t child = fork();

		if (!child)
			_exit(filtered(which));
		assert_int_equal(waitpid(child, &status, 0), child);
		if (status)
			fail_msg("class %u: status %d", which, WEXITSTATUS(status));
	}
}

/* Checks that a child process inherits the filter. */
static void test_is_inherited(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	if (!child) {
		double none = cost_ns(EMULATE_CALLS_PROCESSES);
		pid_t grandchild;

		if (!filter_installed(EMULATE_CALLS_PROCESSES))
			_exit(1);
		grandchild = fork();
		if (!grandchild)
			_exit(cost_ns(EMULATE_CALLS_PROCESSES) > none + DOSE_NS ? 0 : 2);
		if (waitpid(grandchild, &status, 0) != grandchild)
			_exit(3);
		_exit(WEXITSTATUS(status));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Returns the CPU time of a fixed computation in ns: the shortest of five runs, because other programs may disturb some of them. */
static int64_t computing_ns(void)
{
	int64_t least = INT64_MAX;

	for (int i = 0; i < 5; i++) {
		int64_t from = cpu_ns(), took;

		for (volatile unsigned x = 0; x < 20000000; x++)
			;
		took = cpu_ns() - from;
		least = took < least ? took : least;
	}
	return least;
}

/* Checks that interrupts at the highest rate of a profile slow a computation, if the kernel permits them. */
static void test_events(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	if (!child) {
		int64_t as_it_is = computing_ns();

		if (emulate_events_start(30000, 0))
			_exit(emulate_events_refused() ? 0 : 1);
		_exit(computing_ns() > as_it_is + as_it_is / 50 ? 0 : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int suite_emulate_filter(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_is_inherited),
		cmocka_unit_test(test_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
