/* Tests the split of a build command into arguments, and which function is named first. */
#include "gate/commands/cmd_diff.c" /* the static split */
#include "tests/scratch.h"

#include <string.h>

static const struct {
	const char *text, *words; /* separated by '|'; NULL: refused */
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
		struct manifest_arguments split;
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
		manifest_arguments_release(&split);
	}
}

/* Checks that a function whose growth is known within a tenth is named before a larger, uncertain one. */
static void test_first(void **state)
{
	struct measured_part parts[] = {
		{ .name = "unsure", .change = "none", .difference = .30, .low = .01, .high = .59 },
		{ .name = "slowed", .change = "modified", .difference = .25, .low = .22, .high = .28 },
		{ .name = "elsewhere", .difference = .90, .low = .80, .high = 1 }, /* in no build */
		{ .name = "less", .change = "modified", .difference = -.20, .low = -.24, .high = -.16 },
		{ .name = "perhaps_less", .change = "none", .difference = -.26, .low = -.50, .high = -.02 },
		{ .name = "renamed", .change = "renamed", .difference = .70, .low = .60, .high = .80, .renamed = -.69 },
	};
	const struct measured measured = { .parts = parts, .n = sizeof(parts) / sizeof(parts[0]) };

	(void)state;
	assert_string_equal(changed_find_largest(&measured, .01, true)->name, "slowed");
	assert_string_equal(changed_find_largest(&measured, .26, true)->name, "unsure");
	assert_string_equal(changed_find_largest(&measured, .01, false)->name, "less");
	assert_null(changed_find_largest(&measured, .5, false));
}

int suite_trees(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_split), cmocka_unit_test(test_first) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
