/* Checks that rows that are read and written with csv_add() are read as the same rows, and so is every text that can be a field. */
#include "base/buf.h"
#include "base/csv.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROW_END '\1' /* mark in the compared texts; since a field may also contain it, the fields' lengths are there, too */

/* Appends each row to `rows` in an unambiguous form, and to `written` with csv_add(). Stops at the first error if `stop`. */
static enum assay_status read_rows(const char *text, size_t n, bool stop, struct buf *rows, struct buf *written)
{
	char *bytes = mem_bytes(text, n);
	struct assay_error err = { .text = "" };
	enum assay_status st;
	struct csv csv;
	size_t line = 0;
	bool more;

	csv_init(&csv, "fuzz", bytes, n);
	while ((st = csv_read_row(&csv, &more, &err)) || more) {
		ASSAY_BUG_IF(csv.line <= line && line); /* each call advances, also after a malformed row */
		line = csv.line;
		ASSAY_BUG_IF(st && strncmp(err.text, "fuzz:", 5) != 0);
		if (st && stop)
			break;
		if (st)
			continue;
		ASSAY_BUG_IF(csv.n_fields == 0 || csv.line > n);
		for (size_t i = 0; i < csv.n_fields; i++) {
			ASSAY_BUG_IF(!text_is_utf8(csv.fields[i], strlen(csv.fields[i])));
			buf_format(rows, "%zu:%s", strlen(csv.fields[i]), csv.fields[i]);
			csv_add(written, csv.fields[i], i == 0);
		}
		buf_char(rows, ROW_END);
		buf_char(written, '\n');
	}
	csv_release(&csv);
	free(bytes);
	return st;
}

static bool equal(const struct buf *a, const struct buf *b)
{
	return a->size == b->size && (a->size == 0 || memcmp(a->bytes, b->bytes, a->size) == 0);
}

static void check_reader(const char *text, size_t size)
{
	struct buf rows = BUF_INIT, again = BUF_INIT, written = BUF_INIT, twice = BUF_INIT;

	/* Malformed texts are checked, too: their other rows are good. */
	read_rows(text, size, false, &rows, &written);
	ASSAY_BUG_IF(read_rows(written.bytes ? written.bytes : "", written.size, true, &again, &twice));
	ASSAY_BUG_IF(!equal(&rows, &again) || !equal(&written, &twice));
	buf_release(&rows);
	buf_release(&again);
	buf_release(&written);
	buf_release(&twice);
}

/* Checks that the input's fields, which NUL bytes separate, are the same if written as a row and read again. */
static void check_writer(const char *text, size_t size)
{
	struct buf row = BUF_INIT, expected = BUF_INIT, rows = BUF_INIT, again = BUF_INIT;
	const char *end = text + size;
	bool first = true;

	for (const char *field = text; field <= end; field += strlen(field) + 1) {
		csv_add(&row, field, first);
		buf_format(&expected, "%zu:%s", strlen(field), field);
		first = false;
	}
	buf_char(&expected, ROW_END);
	ASSAY_BUG_IF(read_rows(row.bytes, row.size, true, &rows, &again));
	ASSAY_BUG_IF(!equal(&rows, &expected));
	buf_release(&row);
	buf_release(&expected);
	buf_release(&rows);
	buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size >= CSV_COLUMNS_MAX) /* the row must fit in the reader's limits */
		return 0;
	text = mem_bytes((const char *)data, size);
	check_reader(text, size);
	if (text_is_utf8(text, size))
		check_writer(text, size);
	free(text);
	return 0;
}
