/* Shapes: their names, and filters that make one class of system calls dearer and change no result. */
#include "fleet/shape/calls.h"
#include "fleet/shape/shape.h"
#include "tests/scratch.h"
#include "tests/fleet/helper_session.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void test_names(void **state)
{
	char text[SHAPE_NAME_BYTES];
	struct shaped shaped;

	(void)state;
	for (unsigned i = 0; i < SHAPES; i++) {
		shape_write(&(struct shaped){ i, 17 }, text);
		assert_true(shape_read(text, &shaped));
		assert_int_equal(shaped.shape, i);
		assert_int_equal(shaped.level, 17);
		assert_true(*shape_needs(&shapes[i]) && *shape_touches(&shapes[i]) && *shapes[i].thing);
	}
}

static void test_what_is_none(void **state)
{
	static const char *const texts[] = { "",
					     "calls-data",
					     "calls-data=",
					     "calls-data=-1",
					     "calls-data=3801",
					     "calls-data=1x",
					     "calls-nothing=1",
					     "calls-dat=1",
					     "calls-data2=1",
					     "=1",
					     "calls-data=99999999999999999999" };
	struct shaped shaped;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		if (shape_read(texts[i], &shaped))
			fail_msg("'%s' was taken", texts[i]);
}

/* Nanoseconds of the processor's time that a call of this class takes. */
static double cost_ns(unsigned which, unsigned long n)
{
	struct timespec from, to;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	calls_exercise(which, n);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / (double)n;
}

/* Everything else goes on as before: it costs a fraction of the dose at most, and says what it said. */
static int filtered(unsigned which)
{
	double none, dose;

	if (calls_filter(which, 0))
		return 1;
	none = cost_ns(which, 2000);
	if (calls_filter(which, 3000))
		return 2;
	dose = cost_ns(which, 2000) - none;
	if (dose < 1500) /* no processor divides faster than in half a nanosecond */
		return 3;
	for (unsigned other = 0; other <= SHAPE_OTHER; other++)
		if (other != which && cost_ns(other, 2000) > .5 * dose + 1000)
			return 10 + (int)other;
	if (open("/nonesuch/file", O_RDONLY) >= 0 || errno != ENOENT || syscall(SYS_getpid) != getpid())
		return 4;
	return 0;
}

static void test_filters(void **state)
{
	(void)state;
	for (unsigned which = 0; which <= SHAPE_OTHER; which++) {
		int status;
		pid_t child = fork();

		if (!child)
			_exit(filtered(which));
		assert_int_equal(waitpid(child, &status, 0), child);
		if (status)
			fail_msg("%s: status %d", shapes[which].name, WEXITSTATUS(status));
	}
}

/* A child of the process has it, too, and a program that the child becomes. */
static void test_is_inherited(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	if (!child) {
		double none = cost_ns(SHAPE_PROCESSES, 2000);
		pid_t grandchild;

		if (calls_filter(SHAPE_PROCESSES, 3000))
			_exit(1);
		grandchild = fork();
		if (!grandchild)
			_exit(cost_ns(SHAPE_PROCESSES, 2000) > none + 1500 ? 0 : 2);
		if (waitpid(grandchild, &status, 0) != grandchild)
			_exit(3);
		_exit(WEXITSTATUS(status));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* The helper brings a command into shape: it is slower by as much as it calls, and prints the same. */
static void test_helper(void **state)
{
	int64_t cpu_us[2] = { 0, 0 };

	(void)state;
	for (unsigned dear = 0; dear < 2; dear++) {
		struct helper_request request;
		struct session s;

		shell_request(&request, "dd if=/dev/zero of=/dev/null bs=1 count=20000 2>/dev/null; echo done");
		helper_request_shape(&request, &(struct shaped){ SHAPE_DATA, dear ? 3000 : 0 });
		session_run(&s, &request);
		assert_null(s.answer.refusal);
		check_spool(&s.answer.out, "done\n", 5);
		cpu_us[dear] = s.answer.result.user_us + s.answer.result.sys_us;
		session_release(&s);
	}
	if (cpu_us[1] < cpu_us[0] + 60000) /* 40,000 calls, 1.5 us each at least */
		fail_msg("%lld us, with a dose %lld", (long long)cpu_us[0], (long long)cpu_us[1]);
}

/* The least of several runs, for others may be at work. */
static int64_t computing_us(unsigned level)
{
	int64_t least = INT64_MAX;

	for (int i = 0; i < 5; i++) {
		struct helper_request request;
		struct session s;
		int64_t us;

		helper_request_init(&request, "run");
		helper_request_text(&request, HELPER_ARGUMENT, "/proc/self/exe");
		helper_request_text(&request, HELPER_ARGUMENT, "exercise");
		helper_request_text(&request, HELPER_ARGUMENT, "processor");
		helper_request_text(&request, HELPER_ARGUMENT, "50000");
		helper_request_shape(&request, &(struct shaped){ SHAPE_PROCESSOR, level });
		session_run(&s, &request);
		us = s.answer.refusal ? -1 : s.answer.result.user_us + s.answer.result.sys_us;
		session_release(&s);
		if (us < 0)
			return -1;
		least = us < least ? us : least;
	}
	return least;
}

static void test_processor(void **state)
{
	int64_t as_it_is = computing_us(0), slower = computing_us(SHAPE_LEVEL_MAX);

	(void)state;
	assert_true(as_it_is > 0);
	if (events_refused())
		assert_true(slower < 0); /* and that was said */
	else if (slower < as_it_is + as_it_is / 50)
		fail_msg("%lld us of computing take %lld us", (long long)as_it_is, (long long)slower);
}

static void test_helper_refuses(void **state)
{
	struct helper_request request;
	struct session s;

	(void)state;
	shell_request(&request, "true");
	helper_request_text(&request, HELPER_SHAPE, "calls-data=many");
	session_refused(&s, &request, "a shape is");
}

int suite_shape(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	     cmocka_unit_test(test_what_is_none), cmocka_unit_test(test_filters),
		cmocka_unit_test(test_is_inherited), SESSION_TEST(test_helper),		  SESSION_TEST(test_helper_refuses),
		SESSION_TEST(test_processor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
