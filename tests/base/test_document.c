/* Tests documents and their renderings: JSON for programs, text for users. */
#include "base/document.h"
#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct doc_style plain = { .columns = 100 };

static void expect(struct document *d, doc_renderer *render, const char *expected)
{
	struct buf out = BUF_INIT;

	render(d, &plain, &out);
	assert_string_equal(out.bytes ? out.bytes : "", expected);
	buf_release(&out);
	document_release(d);
}

/* Fills a document with values of every type. Numbers that are not finite, and text that is NULL, are rendered as null. */
static void fill_values(struct document *d)
{
	document_init(d);
	doc_set(d, "text", "a \"b\"");
	doc_set(d, "none", (const char *)NULL);
	doc_set_empty(d, "empty", "");
	doc_set(d, "real", .1);
	doc_set(d, "nan", (double)NAN);
	doc_set(d, "size", (size_t)7);
	doc_set(d, "integer", -3);
	doc_set_bool(d, "truth", 2 > 1);
	doc_set_json(d, "json", cJSON_Parse("[1,{\"a\":2}]"));
}

static void test_values(void **state)
{
	struct document d;

	(void)state;
	fill_values(&d);
	expect(
	    &d, document_json,
	    "{\n  \"text\": \"a \\\"b\\\"\",\n  \"none\": null,\n  \"empty\": null,\n  \"real\": 0.1,\n  \"nan\": null,\n  \"size\": 7,\n"
	    "  \"integer\": -3,\n  \"truth\": true,\n  \"json\": [\n    1,\n    {\n      \"a\": 2\n    }\n  ]\n}\n");
	fill_values(&d);
	expect(&d, document_human, ""); /* no value has a label */
}

static void fill_table(struct document *d)
{
	document_init(d);
	doc_answer(d, DOC_GOOD, "pass", "%s is not slower", "b");
	doc_show(d, "runs", "runs", 12);
	doc_showf(d, "ratio", "ratio of costs", 1.5, "%.2f", 1.5);
	doc_showf(d, NULL, "people only", (double)NAN, "%f", 0.0);
	doc_table(d, "machines");
	for (int i = 0; i < 2; i++) {
		doc_row(d);
		doc_show(d, "name", "machine", i ? "node02" : "n1");
		doc_show(d, "rate", "rate", i ? 10.5 : 2.0);
		doc_show(d, NULL, "note", (const char *)NULL);
		doc_list(d, "parts");
		doc_set(d, NULL, i);
		doc_end(d);
	}
	doc_row(d);
	doc_show(d, "name", "machine", "hidden");
	doc_hide(d);
	doc_end(d);
	doc_list(d, "reasons");
	doc_reason(d, "slow", "it is slow");
	doc_end(d);
	doc_heading(d, "More");
	doc_line(d, "%d excluded", 3);
}

static void test_table(void **state)
{
	struct document d;

	(void)state;
	fill_table(&d);
	/* Numbers are aligned right. Text is aligned left, and so is a column that contains neither. */
	expect(&d, document_human,
	       "pass  b is not slower\nruns            12\nratio of costs  1.50\npeople only     -\n"
	       "machine  rate  note\nn1          2  -\nnode02   10.5  -\n  - it is slow\n\nMore\n3 excluded\n");
	fill_table(&d);
	expect(&d, document_json,
	       "{\n  \"runs\": 12,\n  \"ratio\": 1.5,\n  \"machines\": [\n    {\n      \"name\": \"n1\",\n      \"rate\": 2,\n      "
	       "\"parts\": [0]\n"
	       "    },\n    {\n      \"name\": \"node02\",\n      \"rate\": 10.5,\n      \"parts\": [1]\n    },\n    {\n      \"name\": "
	       "\"hidden\"\n    }\n"
	       "  ],\n  \"reasons\": [\n    {\n      \"code\": \"slow\",\n      \"text\": \"it is slow\"\n    }\n  ]\n}\n");
}

/* Checks that one very long text does not widen the columns of the other rows. */
static void test_long_cell(void **state)
{
	struct document d;
	char *long_name = mem_new(100001, 1), *expected;

	(void)state;
	memset(long_name, 'x', 100000);
	document_init(&d);
	doc_table(&d, "functions");
	for (int i = 0; i < 3; i++) {
		doc_row(&d);
		doc_show(&d, "name", "function", i == 1 ? long_name : i ? "twelve_bytes" : "f");
		doc_show(&d, "calls", "calls", 7);
	}
	doc_end(&d);
	expected = mem_format("function      calls\nf                 7\n%s      7\ntwelve_bytes      7\n", long_name);
	expect(&d, document_human, expected);
	free(expected);
	free(long_name);
}

/* Checks that a table without a key is only in the human-readable text, with all its contents. */
static void test_for_people_alone(void **state)
{
	struct document d;

	(void)state;
	document_init(&d);
	doc_table(&d, NULL);
	doc_row(&d);
	doc_show(&d, "key", "label", 1);
	doc_end(&d);
	expect(&d, document_json, "{}\n");
}

/* Checks that control characters in names and commands do not reach the terminal. Line ends, tabs and assay's own colours do. */
static void test_control_characters(void **state)
{
	struct document d;

	(void)state;
	document_init(&d);
	doc_line(&d, "a\033[8mb\302\233 ä\r\a\n\tc");
	doc_show(&d, "key", "label", "\033]0;x\007");
	expect(&d, document_human, "a?[8mb? ä??\n\tc\nlabel  ?]0;x?\n");
}

/* Checks that only pages contain images, and headings that are followed only by images. */
static void test_headings_of_pictures(void **state)
{
	struct document d;

	(void)state;
	document_init(&d);
	for (int i = 0; i < 2; i++) {
		struct buf svg = BUF_INIT;

		buf_text(&svg, "<svg/>");
		doc_subheading(&d, i ? "words" : "pictures");
		doc_picture(&d, NULL, &svg, "seen");
		buf_release(&svg);
		doc_set(&d, "for_programs", "a value");
		doc_table(&d, "no rows");
		doc_end(&d);
	}
	doc_line(&d, "and a line");
	doc_heading(&d, "the end");
	expect(&d, document_human, "words\nand a line\n\nthe end\n");
}

int suite_document(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_long_cell),
		cmocka_unit_test(test_for_people_alone),
		cmocka_unit_test(test_control_characters),
		cmocka_unit_test(test_headings_of_pictures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
