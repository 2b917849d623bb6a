/* Tests signals that end a long command: the first is reported, a second ends the program, and one that nohup ignores has no effect. */
#include "base/cancel.h"
#include "base/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static volatile sig_atomic_t cancelled;

/* Returns the status of a child that raises a signal `times` times; it exits with the signal that was reported to it, or is killed. */
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

/* Simulates a command that receives SIGINT before it waits for a signal, as if the user pressed Ctrl-C while the laboratory is opened. */
static enum assay_status run_interrupted(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	(void)lab;
	(void)arguments;
	(void)d;
	if (fork() == 0)
		raise(SIGTERM); /* prints nothing: this is a child, not the program itself */
	wait(NULL);
	raise(SIGINT);
	return assay_fail(err, ASSAY_E_IO, "not interrupted");
}

static void test_early(void **state)
{
	static const struct command command = { .name = "wait", .summary = "wait", .run = run_interrupted };
	static const struct command *const commands[] = { &command };
	static const char *const formats[] = { "human", NULL };
	static doc_renderer *const renderers[] = { document_human };
	static const struct renamed renamed[] = { { NULL, NULL } };
	static const struct program program = {
		.commands = commands, .n = 1, .renamed = renamed, .formats = formats, .renderers = renderers
	};
	char *words[] = { (char[]){ "assay" }, (char[]){ "wait" }, NULL }, said[200] = "";
	int status, ends[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDERR_FILENO);
		_exit(dispatch_main(&program, 2, words));
	}
	close(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
	assert_true(read(ends[0], said, sizeof(said) - 1) > 0);
	assert_string_equal(said, "assay: interrupted; stored results are kept\n");
	close(ends[0]);
}

int suite_cancel(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_signals), cmocka_unit_test(test_early) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
