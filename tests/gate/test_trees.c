/* A build command as one text: its arguments. */
#include "gate/commands/cmd_diff.c" /* the split */
#include "tests/scratch.h"

#include <string.h>

static const struct {
	const char *text, *words; /* with '|' in between; NULL: it is refused */
} rows[] = {
	{ "make", "make" },
	{ "  make \t-j2  all ", "make|-j2|all" },
	{ "make CFLAGS=\"-O3 -g\" lz4", "make|CFLAGS=-O3 -g|lz4" },
	{ "sh -c 'a && b'", "sh|-c|a && b" },
	{ "a '' \"\"", "a||" },
	{ "a\\ b \\\"c", "a b|\"c" },
	{ "'a\\' \"b\\\"\\\\\\n\"", "a\\|b\"\\\\n" },
	{ "a'b'\"c\"d", "abcd" },
	{ "$HOME `x` *", "$HOME|`x`|*" },
	{ "a\\", "a\\" },
	{ "", NULL },
	{ " \t ", NULL },
	{ "a 'b", NULL },
	{ "a \"b\\\"", NULL },
};

static void test_split(void **state)
{
	(void)state;
	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		struct manifest_words split;
		struct assay_error err;
		struct buf joined = BUF_INIT;
		enum assay_status st = command_split(rows[row].text, &split, &err);

		if (!rows[row].words) {
			assert_int_equal(st, ASSAY_E_USAGE);
			continue;
		}
		check(st, &err);
		for (size_t i = 0; i < split.n; i++)
			buf_format(&joined, "%s%s", i ? "|" : "", split.items[i]);
		assert_string_equal(joined.bytes, rows[row].words);
		buf_release(&joined);
		manifest_words_release(&split);
	}
}

int suite_trees(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_split) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
