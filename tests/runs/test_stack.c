/* Tests the loaded files of a version as a host reports them, with the real script and this machine's shell. */
#include "tests/scratch.h"
#include "runs/running/stack.h"

#include <sys/wait.h>

/* Runs the script on ./program and returns its exit status. Its output is in the files "said" and "why". */
static int look_up(const char *path)
{
	pid_t child = fork();
	int status;

	if (!child) {
		char *words[STACK_COMMAND_ARGUMENTS + 2] = { NULL };

		for (size_t i = 0; i < STACK_COMMAND_ARGUMENTS; i++)
			words[i] = mem_string(stack_command[i]);
		words[STACK_COMMAND_ARGUMENTS] = mem_string("./program");
		if (!freopen("said", "w", stdout) || !freopen("why", "w", stderr) || setenv("PATH", path, 1))
			_exit(99);
		execv("/bin/sh", words);
		_exit(98);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char *text_of(const char *path)
{
	struct buf text = BUF_INIT;
	struct assay_error err;

	check(file_read(path, 1 << 20, &text, &err), &err);
	return buf_take(&text);
}

static void put_script(const char *path, const char *text)
{
	scratch_put(path, text);
	assert_int_equal(chmod(path, 0755), 0);
}

/* Checks a program, its interpreter, and the interpreter's libraries. */
static void test_whole(void **state)
{
	char *said, *text = NULL, *path = mem_format("%s/bin:%s", (char *)*state, getenv("PATH"));
	struct assay_error err;

	put_script("program", "#!/usr/bin/env sh\n");
	assert_int_equal(mkdir("bin", 0755), 0);
	assert_int_equal(look_up(path), 0);
	said = text_of("said");
	check(stack_parse(said, strlen(said), *state, &text, &err), &err);
	assert_non_null(strstr(text, "./program\n"));
	assert_non_null(strstr(text, "env\n"));
	assert_non_null(strstr(text, "/libc.so"));
	free(text);
	free(said);
	free(path);
}

/* Checks a program that disappears while its files are read, in any tool of the script. The script must report no stack. */
static void test_vanishing(void **state)
{
	static const char *const tools[] = { "sha256sum", "ldd", "head", "tr" };
	const char *before = getenv("PATH");
	char *path = mem_format("%s/bin:%s", (char *)*state, before);

	assert_int_equal(mkdir("bin", 0755), 0);
	for (size_t i = 0; i < COUNT(tools); i++) {
		char *tool = mem_format("bin/%s", tools[i]), *script, *why;

		/* After the tool has done its work, and before. */
		for (int late = 0; late < 2; late++) {
			script = mem_format("#!/bin/sh\nPATH=%s\n%s\n%s \"$@\"\n%s\n", before, late ? "" : "rm -f program", tools[i],
					    late ? "rm -f program" : "");
			put_script("program", "#!/usr/bin/env sh\n");
			put_script(tool, script);
			if (look_up(path) == 0)
				fail_msg("%s, %s: half of it is told", tools[i], late ? "late" : "early");
			why = text_of("why");
			assert_non_null(strstr(why, "program"));
			free(why);
			free(script);
		}
		assert_int_equal(unlink(tool), 0);
		free(tool);
	}
	free(path);
}

int suite_stack(void)
{
	const struct CMUnitTest tests[] = {
		SCRATCH_TEST(test_whole),
		SCRATCH_TEST(test_vanishing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
