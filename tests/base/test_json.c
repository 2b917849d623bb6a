#include "base/json_reader.h"

#include "base/buf.h"
#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static enum assay_status parse_bytes(const char *text, size_t n, cJSON **root, struct assay_error *err)
{
	/* The copy has exactly this size, without a final NUL, so that the sanitizers detect reads past its end. */
	char *copy = mem_new(n, 1);
	enum assay_status st;

	memcpy(copy, text, n);
	st = json_parse("f.json", copy, n, root, err);
	free(copy);
	return st;
}

static void test_accepted(void **state)
{
	static const char *const texts[] = {
		"0",
		"-0",
		"1.5e-3",
		"\"\"",
		" null\r\n\t",
		"[]",
		"{}",
		"true",
		"false",
		"[1,2,[3]]",
		"{\"a\":{\"a\":1},\"b\":[{\"a\":1},{\"a\":2}]}",
		"\"\\u00e9\\ud83d\\ude00\\n\\\"\\\\\\/\"",
		"\"\xc3\xa9\x7f\"",
		"1e-999",
		"{\"\":1,\" \":2}",
		"{\"a\":1,\"A\":2}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct assay_error err;
		cJSON *root = NULL;

		if (parse_bytes(texts[i], strlen(texts[i]), &root, &err))
			fail_msg("%s: %s", texts[i], err.text);
		cJSON_Delete(root);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *expected; /* how the error starts */
	} rows[] = {
		{ "", "f.json:1: expected a value, found the end" },
		{ "\n\n", "f.json:3: expected a value, found the end" },
		{ "{\"a\":1}\nx", "f.json:2: expected nothing after the value, found 'x'" },
		{ "1 2", "f.json:1: expected nothing" },
		{ "{\n\"a\":1,\n}", "f.json:3: expected a key in double quotes, found '}'" },
		{ "[1,\n2,]", "f.json:2: expected a value, found ']'" },
		{ "[1 2]", "f.json:1: expected ',' or ']', found '2'" },
		{ "{\"a\" 1}", "f.json:1: expected ':', found '1'" },
		{ "{\"a\":1", "f.json:1: expected ',' or '}', found the end" },
		{ "{a:1}", "f.json:1: expected a key" },
		{ "['a']", "f.json:1: expected a value, found '''" },
		{ "nul", "f.json:1: expected a value, found 'n'" },
		{ "NaN", "f.json:1: expected a value" },
		{ "[Infinity]", "f.json:1: expected a value" },
		{ "// x\n1", "f.json:1: expected a value, found '/'" },
		{ "01", "f.json:1: expected nothing" },
		{ "+1", "f.json:1: expected a value" },
		{ ".5", "f.json:1: expected a value" },
		{ "[1.]", "f.json:1: expected a digit, found ']'" },
		{ "-", "f.json:1: expected a digit, found the end" },
		{ "1e", "f.json:1: expected a digit" },
		{ "0x10", "f.json:1: expected nothing" },
		{ "[0,\n1e999]", "f.json:2: a number too large" },
		{ "[\n-1e999]", "f.json:2: a number too large" },
		{ "1000000000000000000000000000000000000000000000000000000000000000", "f.json:1: a number of more than 63" },
		{ "{\"a\":1,\n\"b\":2,\n\"a\":3}", "f.json:3: key 'a' is repeated (first on line 1)" },
		{ "{\"x\":[{\n\"a\":1,\n\"\\u0061\":2}]}", "f.json:3: key 'a' is repeated (first on line 2)" },
		{ "{\"p\":{\"q\":1},\n\"r\":{\"q\":1},\n\"p\":1}", "f.json:3: key 'p'" },
		{ "\"a\nb\"", "f.json:1: a string does not end on its line" },
		{ "[\n\"a\tb\"]", "f.json:2: control character" },
		{ "\"a", "f.json:1: expected the end of a string" },
		{ "\"a\\", "f.json:1: unknown escape" },
		{ "\"\\x41\"", "f.json:1: unknown escape" },
		{ "\"\\u12g4\"", "f.json:1: \\u needs" },
		{ "\"\\u123\"", "f.json:1: \\u needs" },
		{ "\"\\u0000\"", "f.json:1: NUL" },
		{ "{\"a\\u0000b\":1}", "f.json:1: NUL" },
		{ "\"\\ud83d\"", "f.json:1: half" },
		{ "\"\\ud83d\\u0041\"", "f.json:1: half" },
		{ "\"\\ude00\"", "f.json:1: half" },
		{ "[\n\"caf\xe9\"]", "f.json:2: a string is not UTF-8" },
		{ "\xef\xbb\xbf{}", "f.json:1: starts with a byte order mark" },
		{ "[\xc2\xa0]", "f.json:1: expected a value, found byte 0xc2" },
		{ "\f1", "f.json:1: expected a value, found byte 0x0c" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct assay_error err = { .text = "" };
		cJSON *root = NULL;

		if (parse_bytes(rows[i].text, strlen(rows[i].text), &root, &err) != ASSAY_E_FORMAT ||
		    strncmp(err.text, rows[i].expected, strlen(rows[i].expected)) != 0)
			fail_msg("%s: '%s'", rows[i].text, err.text);
		assert_null(root);
	}
}

/* Checks the lenient reader. Some programs write numbers that RFC 8259 does not allow, such as NaN. They are read as "". */
static void test_loosely(void **state)
{
	static const struct {
		const char *text, *read; /* expected tree; NULL: refused */
	} rows[] = {
		{ "{\"a\": NaN, \"b\": 1}", "{\"a\":\"\",\"b\":1}\n" },
		{ "[nan, -nan, Infinity, -Infinity, inf, +inf, 2]", "[\"\",\"\",\"\",\"\",\"\",\"\",2]\n" },
		{ "[1e999, -1e999, 3]", "[\"\",\"\",3]\n" },
		{ "[0.00000000000000000000000000000000000000000000000000000000000000001]", "[\"\"]\n" },
		{ "{\"b\": [{\"a\": 1, \"a\": 2}]}", "{\"b\":[{\"a\":1,\"a\":2}]}\n" },
		{ "{\"a\": 1, \"a\": 2}", NULL },
		{ "\xef\xbb\xbf[1]", NULL },
		{ "\"NaN\"", "\"NaN\"\n" },
		{ "[\"caf\xe9 \xc3\xa9\", 1]", "[\"caf\x7f \x7f\x7f\",1]\n" },
		{ "[\"\xc3\xa9\"]", "[\"\xc3\xa9\"]\n" },
		{ "[\"C:\\x \\u00g\", \"\\ud800\", \"\\u0000\", \"\t\"]", "[\"C:\x7fx \x7fu00g\",\"\x7fud800\",\"\x7fu0000\",\"\x7f\"]\n" },
		{ "[\"\\\xff\\\"\"]", "[\"\x7f\x7f\\\"\"]\n" },
		{ "[\"a\nb\"]", NULL },
		{ "[\"a\\", NULL },
		{ "[Nano]", NULL },
		{ "[-]", NULL },
		{ "{NaN: 1}", NULL },
		{ "[1", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct assay_error err = { .text = "" };
		char *copy = strdup(rows[i].text), *text;
		cJSON *root = NULL;

		if (!json_parse_lenient("f.json", copy, strlen(copy), &root, &err) != (rows[i].read != NULL))
			fail_msg("%s: '%s'", rows[i].text, err.text);
		text = root ? json_line(root) : NULL;
		if (root)
			assert_string_equal(text, rows[i].read);
		cJSON_Delete(root);
		free(text);
		free(copy);
	}
}

static void test_nul(void **state)
{
	struct assay_error err;
	cJSON *root = NULL;

	(void)state;
	assert_int_equal(parse_bytes("1\0", 2, &root, &err), ASSAY_E_FORMAT);
	assert_string_equal(err.text, "f.json:1: expected nothing after the value, found byte 0x00");
	assert_int_equal(parse_bytes("\"\0\"", 3, &root, &err), ASSAY_E_FORMAT);
	assert_string_equal(err.text, "f.json:1: control character in a string");
}

static void test_nesting(void **state)
{
	struct assay_error err;
	struct buf text = BUF_INIT;
	cJSON *root = NULL;

	(void)state;
	for (int i = 0; i < 200; i++)
		buf_char(&text, '[');
	for (int i = 0; i < 200; i++)
		buf_char(&text, ']');
	assert_int_equal(json_parse("f.json", text.bytes, text.size, &root, &err), ASSAY_OK);
	cJSON_Delete(root);
	buf_clear(&text);
	for (int i = 0; i < 201; i++)
		buf_char(&text, '[');
	assert_int_equal(json_parse("f.json", text.bytes, text.size, &root, &err), ASSAY_E_LIMIT);
	buf_clear(&text);
	for (int i = 0; i < 300; i++) /* siblings, not nested */
		buf_text(&text, i ? ",[]" : "[[]");
	buf_char(&text, ']');
	assert_int_equal(json_parse("f.json", text.bytes, text.size, &root, &err), ASSAY_OK);
	cJSON_Delete(root);
	buf_clear(&text);
	for (int i = 0; i < 1000000; i++)
		buf_text(&text, i % 2 ? "[" : "{\"a\":");
	assert_int_equal(json_parse("f.json", text.bytes, text.size, &root, &err), ASSAY_E_LIMIT);
	assert_string_equal(err.text, "f.json:1: nested deeper than 200 levels");
	buf_release(&text);
}

/* Checks texts that json_text() reproduces exactly. */
static void test_layout(void **state)
{
	static const char *const texts[] = {
		"1\n",
		"\"a\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u007f/\xc3\xa9\"\n",
		"[]\n",
		"{}\n",
		"[1, 0.1, true, null, \"x\"]\n",
		"{\n  \"b\": 1,\n  \"a\": [1, 2],\n  \"c\": {\n    \"d\": []\n  }\n}\n",
		"[\n  [1, 2],\n  {}\n]\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct assay_error err;
		cJSON *root = NULL;
		char *text;

		if (json_parse("f.json", texts[i], strlen(texts[i]), &root, &err))
			fail_msg("%s: %s", texts[i], err.text);
		text = json_text(root);
		assert_string_equal(text, texts[i]);
		free(text);
		cJSON_Delete(root);
	}
}

static void test_add(void **state)
{
	struct buf out = BUF_INIT;

	(void)state;
	json_append_text(&out, cJSON_CreateArray()); /* json_append_text() deletes the node */
	json_append_text(&out, cJSON_CreateTrue());
	assert_string_equal(out.bytes, "[]\ntrue\n");
	buf_release(&out);
}

static void check_widest(size_t columns, const char *character, size_t count)
{
	struct buf string = BUF_INIT;
	cJSON *root = cJSON_CreateObject(), *array = cJSON_AddArrayToObject(root, "a");
	char *text, *line;

	for (size_t i = 0; i < count; i++)
		buf_text(&string, character);
	cJSON_AddItemToArray(array, cJSON_CreateString(string.bytes));
	text = json_text(root);
	line = strchr(text, '[');
	if ((line[1] != '\n') != (columns <= 120))
		fail_msg("%zu columns: %s", columns, text);
	cJSON_Delete(root);
	buf_release(&string);
	free(text);
}

static void test_columns(void **state)
{
	(void)state;
	/* 12 columns around the string: two spaces, "a": with a space, [""], and a comma that may follow */
	for (size_t n = 90; n < 130; n++) {
		check_widest(n + 12, "x", n);
		check_widest(n + 12, "\xe2\x82\xac", n);
	}
}

/* Checks that text from outside that is not UTF-8 is mended, so that the written file can be read. */
static void test_mended(void **state)
{
	cJSON *node = cJSON_CreateString("a\xe9\xc3\xa9\"\n\xf0\x90"), *again = NULL;
	char *text = json_text(node);
	struct assay_error err;

	(void)state;
	assert_string_equal(text, "\"a\xef\xbf\xbd\xc3\xa9\\\"\\n\xef\xbf\xbd\xef\xbf\xbd\"\n");
	assert_int_equal(json_parse("f.json", text, strlen(text), &again, &err), ASSAY_OK);
	cJSON_Delete(again);
	cJSON_Delete(node);
	free(text);
}

static void print_number(double value)
{
	cJSON *node = cJSON_CreateNumber(value);

	free(json_text(node));
	cJSON_Delete(node);
}

static bool aborts(double value)
{
	pid_t child = fork();
	int status;

	if (!child) {
		signal(SIGABRT, SIG_DFL); /* cmocka has its own handler */
		fclose(stderr);
		print_number(value);
		_exit(0);
	}
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void test_not_finite(void **state)
{
	(void)state;
	assert_false(aborts(1e300));
	assert_true(aborts((double)NAN));
	assert_true(aborts(-(double)INFINITY));
}

static void test_add_number(void **state)
{
	cJSON *node = cJSON_CreateObject();
	char *text;

	(void)state;
	json_add_number(node, "a", 1.5);
	json_add_number(node, "b", (double)NAN);
	json_add_number(node, "c", -(double)INFINITY);
	text = json_text(node);
	assert_string_equal(text, "{\n  \"a\": 1.5,\n  \"b\": null,\n  \"c\": null\n}\n");
	free(text);
	cJSON_Delete(node);
}

/* Checks that the reader failed with the error `text`. Then clears the error, so that the reader can continue. */
static void expect_fault(struct json_reader *r, const char *text)
{
	assert_int_equal(r->st, ASSAY_E_FORMAT);
	assert_string_equal(r->err->text, text);
	r->st = ASSAY_OK;
}

static void test_members(void **state)
{
	static const char text[] = "{\"name\":\"m1\",\"n\":3,\"x\":1.5,\"none\":null,\"o\":{},\"l\":[1],\"big\":9007199254740992,"
				   "\"b\":true}";
	struct assay_error err;
	struct json_reader r = { "f", &err, ASSAY_OK };
	const cJSON *list;
	cJSON *root = NULL;

	(void)state;
	assert_int_equal(json_parse("f", text, sizeof(text) - 1, &root, &err), ASSAY_OK);
	assert_false(json_reader_has(&r, root, "nothing"));
	assert_false(json_reader_has(&r, root, "none"));
	assert_true(json_reader_has(&r, root, "name"));
	assert_string_equal(json_reader_text(&r, root, "name"), "m1");
	assert_true(json_reader_number(&r, root, "x", 0, 2) == 1.5);
	assert_int_equal(json_reader_integer(&r, root, "n", 0, 3), 3);
	assert_true(cJSON_IsObject(json_reader_object(&r, root, "o")));
	list = json_reader_array(&r, root, "l", 0, SIZE_MAX);
	assert_true(cJSON_IsArray(list));
	assert_int_equal(r.st, ASSAY_OK);

	assert_string_equal(json_reader_text(&r, root, "none"), "");
	expect_fault(&r, "f: 'none' is missing");
	json_reader_text(&r, root, "Name");
	expect_fault(&r, "f: 'Name' is missing");
	json_reader_text(&r, root, "n");
	expect_fault(&r, "f: 'n' must be a string, not a number");
	json_reader_number(&r, root, "b", 0, 1);
	expect_fault(&r, "f: 'b' must be a number, not a boolean");
	assert_true(json_reader_number(&r, root, "x", 2, 3) == 2);
	expect_fault(&r, "f: 'x' is 1.5, not between 2 and 3");
	assert_int_equal(json_reader_integer(&r, root, "n", 0, 2), 0);
	expect_fault(&r, "f: 'n' must be an integer from 0 to 2, not 3");
	json_reader_integer(&r, root, "x", 0, 2);
	expect_fault(&r, "f: 'x' must be an integer from 0 to 2, not 1.5");
	json_reader_integer(&r, root, "big", INT64_MIN, INT64_MAX);
	assert_int_equal(r.st, ASSAY_E_FORMAT);
	r.st = ASSAY_OK;
	json_reader_integer(&r, root, "name", 0, 2);
	expect_fault(&r, "f: 'name' must be an integer, not a string");
	json_reader_object(&r, root, "none");
	expect_fault(&r, "f: 'none' is missing");
	json_reader_object(&r, root, "l");
	expect_fault(&r, "f: 'l' must be an object, not an array");
	json_reader_array(&r, root, "none", 0, 1);
	expect_fault(&r, "f: 'none' is missing");
	json_reader_array(&r, root, "o", 0, 1);
	expect_fault(&r, "f: 'o' must be an array, not an object");
	json_reader_array(&r, list, "o", 0, 1);
	expect_fault(&r, "f: expected an object with 'o', found an array");
	json_reader_has(&r, list, "o");
	assert_int_equal(r.st, ASSAY_E_FORMAT);

	/* The first error is kept, and later reads return nothing. */
	assert_string_equal(json_reader_text(&r, root, "name"), "");
	assert_false(json_reader_has(&r, root, "name"));
	json_reader_object(&r, root, "none");
	expect_fault(&r, "f: expected an object with 'o', found an array");
	cJSON_Delete(root);
}

static void test_keys(void **state)
{
	static const char *const keys[] = { "machine", "rates" };
	struct assay_error err;
	struct json_reader r = { "f", &err, ASSAY_OK };
	cJSON *good = cJSON_CreateObject(), *bad = cJSON_CreateObject(), *number = cJSON_CreateNumber(1);

	(void)state;
	cJSON_AddNumberToObject(good, "rates", 1);
	cJSON_AddNumberToObject(bad, "rates", 1);
	cJSON_AddNumberToObject(bad, "mahcine", 1);
	json_reader_check_keys(&r, good, "catalog", keys, 2);
	assert_int_equal(r.st, ASSAY_OK);
	json_reader_check_keys(&r, bad, "catalog", keys, 2);
	expect_fault(&r, "f: unknown key 'mahcine' in catalog (did you mean 'machine'?)");
	json_reader_check_keys(&r, number, "catalog", keys, 2);
	expect_fault(&r, "f: catalog must be an object, not a number");
	cJSON_Delete(good);
	cJSON_Delete(bad);
	cJSON_Delete(number);
}

int suite_json(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),   cmocka_unit_test(test_refused),    cmocka_unit_test(test_nul),
		cmocka_unit_test(test_loosely),	   cmocka_unit_test(test_nesting),    cmocka_unit_test(test_layout),
		cmocka_unit_test(test_columns),	   cmocka_unit_test(test_add),	      cmocka_unit_test(test_mended),
		cmocka_unit_test(test_not_finite), cmocka_unit_test(test_add_number), cmocka_unit_test(test_members),
		cmocka_unit_test(test_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
