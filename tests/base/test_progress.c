/* Tests progress: on a terminal, one line that is overwritten; in a log, one line per minute. */
#include "base/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Returns the output of the first `steps` of 200 steps, one per second. */
static char *printed(bool terminal, int steps)
{
	char *text = NULL;
	size_t n = 0;
	FILE *stream = open_memstream(&text, &n);
	struct progress progress = { .stream = stream, .terminal = terminal, .next_s = 1000 + PROGRESS_LOG_S };

	assert_non_null(stream);
	for (int i = 1; i <= steps; i++)
		progress_show(&progress, 1000 + i, i == 200, "%d of 200", i);
	progress_end(&progress);
	assert_false(progress.open);
	fclose(stream);
	return text;
}

static void test_terminal(void **state)
{
	char *all = printed(true, 200), *broken_off = printed(true, 2);

	(void)state;
	assert_string_equal(broken_off, "\r\033[K1 of 200\r\033[K2 of 200\n");
	assert_string_equal(all + strlen(all) - strlen("\r\033[K200 of 200\n"), "\r\033[K200 of 200\n");
	assert_ptr_equal(strchr(all, '\n'), all + strlen(all) - 1);
	free(all);
	free(broken_off);
}

static void test_log(void **state)
{
	char *all = printed(false, 200), *brief = printed(false, 59);

	(void)state;
	assert_string_equal(all, "60 of 200\n120 of 200\n180 of 200\n");
	assert_string_equal(brief, "");
	free(all);
	free(brief);
}

static void test_begin(void **state)
{
	FILE *log = tmpfile();
	struct progress progress;

	(void)state;
	assert_non_null(log);
	progress = progress_begin(log, 5);
	assert_false(progress.terminal);
	assert_false(progress.open);
	assert_true(progress.next_s == 5 + PROGRESS_LOG_S);
	fclose(log);
}

int suite_progress(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_terminal), cmocka_unit_test(test_log), cmocka_unit_test(test_begin) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
