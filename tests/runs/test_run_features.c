/* Tests files of features: sums, means, refused files, and features as text. */
#include "runs/inside/features/run_features.h"

#include "base/mem.h"
#include "runs/inside/features/counting/format.h"
#include "tests/scratch.h"

#include <string.h>

#define BLOCKS 2

struct file {
	struct counting_header header;
	unsigned char header_rest[FEATURES_PAGE - sizeof(struct counting_header)];
	char names[FEATURES_PAGE];
	uint64_t blocks[BLOCKS][FEATURES_PAGE / 8];
};

/* Creates a file of two threads. */
static struct file *file_new(const char *names, uint64_t slots)
{
	struct file *f = mem_new(1, sizeof(*f));

	f->header = (struct counting_header){ .version = FEATURES_VERSION,
					      .header_bytes = FEATURES_PAGE,
					      .slots = slots,
					      .names_bytes = strlen(names),
					      .block_bytes = FEATURES_PAGE,
					      .blocks = BLOCKS };
	memcpy(f->header.magic, FEATURES_MAGIC, 8);
	memcpy(f->names, names, strlen(names));
	return f;
}

static double value_of(const struct run_features *f, const char *name)
{
	const struct run_feature *found = run_features_find(f, name);

	assert_non_null(found);
	return found->value;
}

static enum assay_status parse(struct file *file, size_t size, struct run_features *out, struct assay_error *err)
{
	char name[] = "x";

	return run_features_parse(&(struct run_features_file){ name, (char *)file, size }, 1, out, err);
}

static void test_sums_and_means(void **state)
{
	struct file *file =
	    file_new("c loop a.c:8 f\nv value n a.c:2 f\nc loop a.c:8 f\n= call f a.c:1\nd value x a.c:3 f\nc call g a.c:1\n", 15);
	const double real[] = { 1.5, 2.5 };
	struct run_features f;
	struct assay_error err;

	(void)state;
	file->blocks[0][0] = (UINT64_C(1) << 40) + 1;
	file->blocks[1][0] = 2;
	file->blocks[0][7] = 40;
	file->blocks[0][1] = 2; /* two values in one thread, one in the other */
	file->blocks[0][2] = (uint64_t)-10;
	file->blocks[0][3] = 7;
	file->blocks[1][1] = 1;
	file->blocks[1][2] = 30;
	for (size_t b = 0; b < BLOCKS; b++) {
		file->blocks[b][8] = 5;
		memcpy(&file->blocks[b][9], &real[b], 8);
	}
	check(parse(file, sizeof(*file), &f, &err), &err);
	assert_true(value_of(&f, "loop a.c:8 f") == 1099511627776.0 + 43);
	assert_true(value_of(&f, "call f a.c:1") == 40);
	assert_true(value_of(&f, "call g a.c:1") == 0); /* never reached, but known */
	assert_true(value_of(&f, "value n a.c:2 f 1") == 10);
	assert_true(value_of(&f, "value n a.c:2 f 2") == 7);
	assert_null(run_features_find(&f, "value n a.c:2 f 3"));
	assert_true(value_of(&f, "value x a.c:3 f 1") == 2);
	assert_true(value_of(&f, "value x a.c:3 f 5") == 0);
	assert_int_equal(run_features_find(&f, "loop a.c:8 f")->kind, FEATURE_COUNT);
	assert_int_equal(run_features_find(&f, "value n a.c:2 f 1")->kind, FEATURE_VALUE);
	assert_int_equal(f.n, 3 + 2 + 5);
	assert_false(f.incomplete);
	run_features_release(&f);
	file->header.lost = 1;
	check(parse(file, sizeof(*file), &f, &err), &err);
	assert_true(f.incomplete);
	run_features_release(&f);
	free(file);
}

static void refused(struct file *file, size_t size, enum assay_status status, const char *why)
{
	struct run_features f;
	struct assay_error err;

	check_fails(why, parse(file, size, &f, &err), status, &err, why);
	run_features_release(&f);
}

static void test_damaged(void **state)
{
	struct file *file = file_new("c loop a.c:8 f\n", 1);

	(void)state;
	refused(file, 40, ASSAY_E_FORMAT, "not a feature file");
	refused(file, sizeof(*file) - 1, ASSAY_E_FORMAT, "the file is truncated");
	file->header.slots = 0;
	refused(file, sizeof(*file), ASSAY_E_FORMAT, "more names than counters");
	file->header.slots = 513;
	refused(file, sizeof(*file), ASSAY_E_FORMAT, "the header is damaged");
	file->header.slots = 1;
	file->names[14] = ' ';
	refused(file, sizeof(*file), ASSAY_E_FORMAT, "line 1 of its names is damaged");
	file->names[14] = '\n';
	file->names[5] = '\t';
	refused(file, sizeof(*file), ASSAY_E_FORMAT, "line 1 of its names is damaged");
	file->names[5] = 'o';
	file->names[0] = '=';
	refused(file, sizeof(*file), ASSAY_E_FORMAT, "line 1 of its names is damaged");
	file->header.version = 9;
	refused(file, sizeof(*file), ASSAY_E_VERSION, "feature file of version 9; this program reads version 1");
	memcpy(file->header.magic, FEATURES_MAGIC_PRE_RELEASE, 8);
	refused(file, sizeof(*file), ASSAY_E_VERSION, "made by a pre-release of assay");
	refused(file, 8, ASSAY_E_VERSION, "made by a pre-release of assay");
	free(file);
}

static void test_directory(void **state)
{
	struct file *file = file_new("c loop a.c:8 f\n", 1);
	struct run_features f;
	struct assay_error err;

	(void)state;
	assert_int_equal(run_features_read(".", &f, &err), ASSAY_E_NODATA);
	run_features_release(&f);
	file->blocks[0][0] = 20;
	check(file_replace("1-0.features", (const char *)file, sizeof(*file), 0600, &err), &err);
	file->blocks[0][0] = 1;
	check(file_replace("2-0.features", (const char *)file, sizeof(*file), 0600, &err), &err);
	check(run_features_read(".", &f, &err), &err);
	assert_int_equal(f.files, 2);
	assert_true(value_of(&f, "loop a.c:8 f") == 21);
	run_features_release(&f);
	free(file);
}

static void test_text(void **state)
{
	static const struct {
		const char *text, *error; /* NULL: the text is valid, */
		const char *again;	  /* and this is the written text */
	} rows[] = {
		{ "1.5 blocks\n3 loop a.c:1 f\r\n\n4 loop a.c:1 f", NULL, "1.5 blocks\n7 loop a.c:1 f\n" },
		{ "-1e300 b\n0 a b  c\n", NULL, "0 a b  c\n-1e300 b\n" },
		{ "", NULL, "" },
		{ "1 a\n2 a\n", "'a' occurs twice", NULL },
		{ "1 a\nnan b\n", "line 2: 'nan' is not a number", NULL },
		{ "1\n", "line 1: the name after the number", NULL },
		{ "1 \n", "line 1: the name after the number", NULL },
		{ "1 a\tb\n", "line 1: the name after the number", NULL },
		{ "x\n", "line 1: 'x' is not a number", NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct buf text = BUF_INIT;
		struct run_features f;
		struct assay_error err;
		enum assay_status st = run_features_text_parse(rows[i].text, strlen(rows[i].text), &f, &err);

		if (rows[i].error) {
			check_fails(rows[i].text, st, ASSAY_E_FORMAT, &err, rows[i].error);
		} else {
			check(st, &err);
			run_features_print(&f, &text);
			assert_string_equal(text.bytes ? text.bytes : "", rows[i].again);
		}
		buf_release(&text);
		run_features_release(&f);
	}
}

int suite_run_features(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums_and_means),
		cmocka_unit_test(test_damaged),
		SCRATCH_TEST(test_directory),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
