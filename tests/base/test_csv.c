#include "base/csv.h"

#include "base/buf.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* Returns all rows as one text, or the error. Each field is in <>, and each row ends with a bar. */
static char *read_rows(const char *text, size_t n, enum assay_status *status)
{
	char *bytes = mem_bytes(text, n);
	struct buf out = BUF_INIT;
	struct assay_error err;
	struct csv csv;
	bool more = true;

	csv_init(&csv, "f.csv", bytes, n);
	while (!(*status = csv_read_row(&csv, &more, &err)) && more) {
		for (size_t i = 0; i < csv.n_fields; i++)
			buf_format(&out, "<%s>", csv.fields[i]);
		buf_char(&out, '|');
	}
	if (*status) {
		buf_clear(&out);
		buf_text(&out, err.text);
	}
	csv_release(&csv);
	free(bytes);
	return buf_take(&out);
}

static void test_rows(void **state)
{
	static const struct {
		const char *what, *text;
		enum assay_status status;
		const char *expected; /* rows, or the start of the error */
	} rows[] = {
		{ "nothing", "", ASSAY_OK, "" },
		{ "one field", "a", ASSAY_OK, "<a>|" },
		{ "LF and CRLF", "a,b\r\nc,d\n", ASSAY_OK, "<a><b>|<c><d>|" },
		{ "no newline at the end", "a,b\nc,d", ASSAY_OK, "<a><b>|<c><d>|" },
		{ "empty fields", ",\n,,", ASSAY_OK, "<><>|<><><>|" },
		{ "empty lines are skipped", "\n\r\na\n\n\nb\n\n", ASSAY_OK, "<a>|<b>|" },
		{ "a byte order mark",
		  "\xef\xbb\xbf"
		  "a,b\n",
		  ASSAY_OK, "<a><b>|" },
		{ "only a byte order mark", "\xef\xbb\xbf", ASSAY_OK, "" },
		{ "quoted comma and newline", "\"a,b\",\"c\nd\"\ne", ASSAY_OK, "<a,b><c\nd>|<e>|" },
		{ "CRLF inside quotes stays", "\"a\r\nb\"\r\n", ASSAY_OK, "<a\r\nb>|" },
		{ "doubled quotes", "\"a\"\"b\"\"\",\"\"\"\"", ASSAY_OK, "<a\"b\"><\">|" },
		{ "an empty quoted field is a row", "\"\"\n", ASSAY_OK, "<>|" },
		{ "blanks belong to the field", " a , b", ASSAY_OK, "< a >< b>|" },
		{ "UTF-8", "\xc3\xa9,\"\xe2\x82\xac\"", ASSAY_OK, "<\xc3\xa9><\xe2\x82\xac>|" },
		{ "open quote", "a\nb,\"c\nd", ASSAY_E_FORMAT, "f.csv:2: the quote" },
		{ "quote at the very end", "a,\"", ASSAY_E_FORMAT, "f.csv:1: the quote" },
		{ "text after a quote", "x\n\"a\nb\" c,d", ASSAY_E_FORMAT, "f.csv:3: text after" },
		{ "quote inside", "a\n5\" disk", ASSAY_E_FORMAT, "f.csv:2: quote inside" },
		{ "lone carriage return", "a\rb", ASSAY_E_FORMAT, "f.csv:1: carriage" },
		{ "carriage return at the end", "a\r", ASSAY_E_FORMAT, "f.csv:1: carriage" },
		{ "not UTF-8", "a\nb,caf\xe9\n", ASSAY_E_FORMAT, "f.csv:2: not UTF-8" },
		{ "not UTF-8 deep in a field", "a\n\"b\nc\n\xe9\n\"\n", ASSAY_E_FORMAT, "f.csv:4: not UTF-8" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum assay_status status;
		char *got = read_rows(rows[i].text, strlen(rows[i].text), &status);

		if (status != rows[i].status ||
		    (status ? strncmp(got, rows[i].expected, strlen(rows[i].expected)) : strcmp(got, rows[i].expected)))
			fail_msg("%s: status %d, '%s'", rows[i].what, (int)status, got);
		free(got);
	}
}

static void test_nul(void **state)
{
	static const char text[] = "a\n\"b\n\0\"";
	enum assay_status status;
	char *got = read_rows(text, sizeof(text) - 1, &status);

	(void)state;
	assert_int_equal(status, ASSAY_E_FORMAT);
	assert_memory_equal(got, "f.csv:3: NUL", 12);
	free(got);
}

static void check_limit(const char *text, size_t n, enum assay_status expected)
{
	enum assay_status status;
	char *got = read_rows(text, n, &status);

	if (status != expected)
		fail_msg("%zu bytes: status %d", n, (int)status);
	if (status)
		assert_memory_equal(got, "f.csv:1: ", 9);
	free(got);
}

static void test_limits(void **state)
{
	char *text = mem_new(CSV_FIELD_BYTES_MAX + 2, 1);

	(void)state;
	memset(text, 'x', CSV_FIELD_BYTES_MAX + 1);
	check_limit(text, CSV_FIELD_BYTES_MAX, ASSAY_OK);
	check_limit(text, CSV_FIELD_BYTES_MAX + 1, ASSAY_E_LIMIT);
	memset(text, ',', CSV_COLUMNS_MAX);
	check_limit(text, CSV_COLUMNS_MAX - 1, ASSAY_OK);
	check_limit(text, CSV_COLUMNS_MAX, ASSAY_E_LIMIT);
	free(text);
}

static void test_lines(void **state)
{
	char bytes[] = "a\n\n\"b\nc\"\r\nd\n";
	const size_t lines[] = { 1, 3, 5 };
	struct assay_error err;
	struct csv csv;
	bool more;

	(void)state;
	csv_init(&csv, "f.csv", bytes, sizeof(bytes) - 1);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(csv_read_row(&csv, &more, &err), ASSAY_OK);
		assert_true(more);
		assert_int_equal(csv.line, lines[i]);
	}
	assert_int_equal(csv_read_row(&csv, &more, &err), ASSAY_OK);
	assert_false(more);
	csv_release(&csv);
}

static enum assay_status read_header(const char *text, const char *const *columns, size_t n, size_t *index, struct assay_error *err)
{
	size_t bytes = strlen(text);
	char *copy = mem_bytes(text, bytes);
	enum assay_status st;
	struct csv csv;

	csv_init(&csv, "f.csv", copy, bytes);
	st = csv_read_header(&csv, columns, n, index, err);
	csv_release(&csv);
	free(copy);
	return st;
}

static void test_header(void **state)
{
	static const char *const columns[] = { "machine", "?type", "value" };
	struct assay_error err;
	size_t index[3];

	(void)state;
	assert_int_equal(read_header("value,x,machine\n", columns, 3, index, &err), ASSAY_OK);
	assert_int_equal(index[0], 2);
	assert_true(index[1] == SIZE_MAX);
	assert_int_equal(index[2], 0);
	assert_int_equal(read_header("type,value,machine\n", columns, 3, index, &err), ASSAY_OK);
	assert_int_equal(index[1], 0);
	assert_int_equal(read_header("\nmachin,x\n", columns, 3, index, &err), ASSAY_E_FORMAT);
	assert_string_equal(err.text, "f.csv:2: no column 'machine' (there are: machin, x)");
	assert_int_equal(read_header("machine,x,value,x\n", columns, 3, index, &err), ASSAY_E_FORMAT);
	assert_string_equal(err.text, "f.csv:1: two columns are named 'x'");
	assert_int_equal(read_header("\n\n", columns, 3, index, &err), ASSAY_E_FORMAT);
	assert_string_equal(err.text, "f.csv:3: no header row: the file is empty");
}

static void test_width(void **state)
{
	char bytes[] = "a,b\n1,2\n1\n";
	struct assay_error err;
	struct csv csv;
	bool more;

	(void)state;
	csv_init(&csv, "f.csv", bytes, sizeof(bytes) - 1);
	assert_int_equal(csv_read_header(&csv, NULL, 0, NULL, &err), ASSAY_OK);
	assert_int_equal(csv_read_row(&csv, &more, &err), ASSAY_OK);
	assert_true(more);
	assert_int_equal(csv_read_row(&csv, &more, &err), ASSAY_E_FORMAT);
	assert_false(more);
	assert_string_equal(err.text, "f.csv:3: 1 field where the header has 2");
	csv_release(&csv);
}

/* Checks that a malformed row does not affect others: the row on the next line is read. */
static void test_after_bad(void **state)
{
	static const struct {
		const char *bad, *said;
	} rows[] = {
		{ "1\n", "f.csv:2: 1 field" },
		{ "1,2,3\n", "f.csv:2: 3 fields" },
		{ "\"open,2\n", "f.csv:2: the quote" },
		{ "\"1\"x,2\n", "f.csv:2: text after" },
		{ "1x\"y\",2\n", "f.csv:2: quote inside" },
		{ "1\rx,2\n", "f.csv:2: carriage return" },
		{ "1,\xff\n", "f.csv:2: not UTF-8" },
		{ "\xff,1\n", "f.csv:2: not UTF-8" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf bytes = BUF_INIT;
		struct assay_error err = { .text = "" };
		struct csv csv;
		bool more = false;

		buf_format(&bytes, "a,b\n%s3,4\n", rows[i].bad);
		csv_init(&csv, "f.csv", bytes.bytes, bytes.size);
		assert_int_equal(csv_read_header(&csv, NULL, 0, NULL, &err), ASSAY_OK);
		if (csv_read_row(&csv, &more, &err) != ASSAY_E_FORMAT || strncmp(err.text, rows[i].said, strlen(rows[i].said)) != 0)
			fail_msg("row %zu: '%s'", i, err.text);
		if (csv_read_row(&csv, &more, &err) || !more || csv.line != 3 || strcmp(csv.fields[1], "4") != 0)
			fail_msg("after row %zu: '%s'", i, err.text);
		assert_int_equal(csv_read_row(&csv, &more, &err), ASSAY_OK);
		assert_false(more);
		csv_release(&csv);
		buf_release(&bytes);
	}
}

static void test_add(void **state)
{
	static const struct {
		const char *field, *first, *later;
	} rows[] = {
		{ "a b", "a b", ",a b" },
		{ "", "\"\"", "," }, /* a row with one empty field differs from an empty line */
		{ "a,b", "\"a,b\"", ",\"a,b\"" },
		{ "\"", "\"\"\"\"", ",\"\"\"\"" },
		{ "a\"b\"c", "\"a\"\"b\"\"c\"", ",\"a\"\"b\"\"c\"" },
		{ "a\rb", "\"a\rb\"", ",\"a\rb\"" },
		{ "\n", "\"\n\"", ",\"\n\"" },
		{ "=1+1", "'=1+1", ",'=1+1" }, /* a spreadsheet would evaluate this as a formula */
		{ "+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0", ",'+cmd|' /C calc'!A0" },
		{ "-O3,-g", "\"'-O3,-g\"", ",\"'-O3,-g\"" },
		{ "@SUM(A1)", "'@SUM(A1)", ",'@SUM(A1)" },
		{ "\t=1", "'\t=1", ",'\t=1" },
		{ "'=1", "''=1", ",''=1" }, /* reading restores the text that was written */
		{ "'tis", "'tis", ",'tis" },
		{ "-1.5e-3", "-1.5e-3", ",-1.5e-3" }, /* a number remains a number */
		{ "-", "'-", ",'-" },
		{ "\xef\xbb\xbfz", "\"\xef\xbb\xbfz\"", ",\xef\xbb\xbfz" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf out = BUF_INIT;
		struct assay_error err;
		struct csv csv;
		bool more;

		csv_add(&out, rows[i].field, true);
		assert_string_equal(out.bytes, rows[i].first);
		buf_clear(&out);
		csv_add(&out, rows[i].field, false);
		assert_string_equal(out.bytes, rows[i].later);
		csv_init(&csv, "f.csv", out.bytes, out.size);
		assert_int_equal(csv_read_row(&csv, &more, &err), ASSAY_OK);
		assert_string_equal(csv.fields[1], rows[i].field);
		csv_release(&csv);
		buf_release(&out);
	}
}

int suite_csv(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),  cmocka_unit_test(test_nul),	cmocka_unit_test(test_limits),
		cmocka_unit_test(test_lines), cmocka_unit_test(test_header),	cmocka_unit_test(test_width),
		cmocka_unit_test(test_add),   cmocka_unit_test(test_after_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
