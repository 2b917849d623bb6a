/* Signals that end a long command: the first one is told, a second one ends the program, and the one that nohup ignores is none. */
#include "base/cancel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static volatile sig_atomic_t cancelled;

/* Status of a child that catches signals and sends itself some; it exits with what it was told. */
static int child(bool ignores, int signal_number, int times)
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		signal(signal_number, ignores ? SIG_IGN : SIG_DFL);
		cancel_on_signals(&cancelled);
		for (int i = 0; i < times; i++)
			raise(signal_number);
		_exit(cancelled);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void test_signals(void **state)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		int once = child(false, numbers[i], 1), twice = child(false, numbers[i], 2), ignored = child(true, numbers[i], 2);

		assert_true(WIFEXITED(once) && WEXITSTATUS(once) == numbers[i]);
		assert_true(WIFSIGNALED(twice) && WTERMSIG(twice) == numbers[i]);
		if (numbers[i] == SIGHUP)
			assert_true(WIFEXITED(ignored) && WEXITSTATUS(ignored) == 0);
		else
			assert_true(WIFSIGNALED(ignored) && WTERMSIG(ignored) == numbers[i]);
	}
}

int suite_cancel(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_signals) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
