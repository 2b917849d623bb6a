/* Tests injected slowdowns: their names, and that a command costs more as requested but keeps its exit status, signal and output. */
#include "fleet/emulate/plant.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static void test_names(void **state)
{
	static const struct {
		const char *text;
		bool good;
		struct injection is;
	} rows[] = {
		{ "cpu5", true, { INJECTION_CPU, 5 } },	    { "memory100", true, { INJECTION_MEMORY, 100 } },
		{ "calls1", true, { INJECTION_CALLS, 1 } }, { "cpu", false, { INJECTION_CPU, 0 } },
		{ "cpu0", false, { INJECTION_CPU, 0 } },    { "cpu05", false, { INJECTION_CPU, 0 } },
		{ "cpu101", false, { INJECTION_CPU, 0 } },  { "cpu5%", false, { INJECTION_CPU, 0 } },
		{ "", false, { INJECTION_CPU, 0 } },	    { "again", false, { INJECTION_CPU, 0 } },
		{ "cpu9999", false, { INJECTION_CPU, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct injection read = { INJECTION_CPU, 0 };
		char text[INJECTION_TEXT_BYTES];

		assert_true(injection_parse(rows[i].text, &read) == rows[i].good);
		assert_true(read.kind == rows[i].is.kind && read.percent == rows[i].is.percent);
		if (rows[i].good) {
			injection_format(&read, text);
			assert_string_equal(text, rows[i].text);
		}
	}
}

static double cpu_s(const struct rusage *u)
{
	return (double)u->ru_utime.tv_sec + (double)u->ru_stime.tv_sec + (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e6;
}

/* Runs a command that uses `seconds` of CPU time and then exits or kills itself by a signal. Returns the wait status. */
static int run(const struct injection *plant, double seconds, int exit_status, int by_signal, double *cost_s)
{
	uint64_t *delay_ns = mmap(NULL, sizeof(*delay_ns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct rusage usage;
	int status = 0;
	pid_t id = fork();

	if (id == 0) {
		struct timespec now = { 0, 0 };

		if (plant->percent && injection_fork(plant, open("/dev/null", O_RDONLY), delay_ns))
			_exit(99);
		while ((double)now.tv_sec + (double)now.tv_nsec / 1e9 < seconds)
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
		if (by_signal)
			kill(getpid(), by_signal);
		_exit(exit_status);
	}
	assert_true(id > 0 && wait4(id, &status, 0, &usage) == id);
	*cost_s = cpu_s(&usage);
	munmap(delay_ns, sizeof(*delay_ns));
	return status;
}

static void test_cost(void **state)
{
	(void)state;
	for (int kind = 0; kind < INJECTION_KINDS; kind++) {
		const struct injection plant = { (enum injection_kind)kind, 100 };
		double cost_s;
		int status = run(&plant, .1, 7, 0, &cost_s);

		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
		assert_true(cost_s >= .19); /* CPU time, not wall time */
	}
}

static void test_signal(void **state)
{
	const struct injection plant = { INJECTION_CPU, 50 };
	double cost_s;
	int status = run(&plant, 0, 0, SIGUSR1, &cost_s);

	(void)state;
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
}

int suite_plant(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_cost),
		cmocka_unit_test(test_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
