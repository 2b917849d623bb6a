#include "base/csv.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdint.h>

#define BYTE_ORDER_MARK "\xef\xbb\xbf"
#define COLUMNS_NAMED	20 /* maximum number of existing columns that an error lists */

void csv_init(struct csv *csv, const char *name, char *bytes, size_t n)
{
	*csv = (struct csv){ .name = name, .next = bytes, .line = 1, .next_line = 1 };
	if (n >= 3 && !memcmp(bytes, BYTE_ORDER_MARK, 3))
		csv->next += 3;
	csv->end = bytes + n;
}

void csv_release(struct csv *csv)
{
	free(csv->fields);
	*csv = (struct csv){ .name = NULL };
}

static void skip_empty_lines(struct csv *csv)
{
	while (csv->next < csv->end) {
		size_t n = csv->next[0] == '\r' && csv->next + 1 < csv->end ? 1 : 0;

		if (csv->next[n] != '\n')
			return;
		csv->next += n + 1;
		csv->next_line++;
	}
}

/* Returns the line of the first invalid byte in a field. The field starts on line `line`. */
static size_t find_bad_line_number(const char *field, size_t n, size_t line)
{
	const char *newline;

	while ((newline = memchr(field, '\n', n))) {
		size_t length = (size_t)(newline - field);

		if (!text_is_utf8(field, length) || memchr(field, '\0', length))
			break;
		field = newline + 1;
		n -= length + 1;
		line++;
	}
	return line;
}

static enum assay_status check_field(const struct csv *csv, const char *field, size_t n, size_t line, struct assay_error *err)
{
	if (n > CSV_FIELD_BYTES_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "%s:%zu: a field of %zu bytes; at most %d are read", csv->name, line, n,
				  CSV_FIELD_BYTES_MAX);
	if (memchr(field, '\0', n))
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: NUL byte: this is not a text file", csv->name,
				  find_bad_line_number(field, n, line));
	if (!text_is_utf8(field, n))
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: not UTF-8 (convert the file, as with iconv)", csv->name,
				  find_bad_line_number(field, n, line));
	return ASSAY_OK;
}

/* Returns the closing quote of the quoted field at csv->next; NULL if there is none. */
static const char *find_closing_quote(const struct csv *csv)
{
	const char *at = csv->next + 1;

	while ((at = memchr(at, '"', (size_t)(csv->end - at))) && at + 1 < csv->end && at[1] == '"')
		at += 2;
	return at;
}

/* Reads a quoted field in place: moves its content one byte down, over the opening quote, and merges doubled quotes. Sets *n to the size of
 * the content, and csv->next to the byte after the closing quote. */
static enum assay_status read_quoted(struct csv *csv, size_t *n, struct assay_error *err)
{
	char *start = csv->next, *to = start, *from = start + 1;
	const char *end = find_closing_quote(csv);

	if (!end)
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: the quote that opens here is not closed", csv->name, csv->next_line);
	for (; from < end; from++) {
		csv->next_line += *from == '\n';
		from += *from == '"';
		*to++ = *from;
	}
	csv->next = from + 1;
	*n = (size_t)(to - start);
	return ASSAY_OK;
}

static void read_plain(struct csv *csv, size_t *n)
{
	char *p = csv->next;

	while (p < csv->end && *p != ',' && *p != '\n' && *p != '\r' && *p != '"')
		p++;
	*n = (size_t)(p - csv->next);
	csv->next = p;
}

/* Reads the separator after a field: a comma, the end of the line, or the end of the file. Sets *last if the row ends here. */
static enum assay_status read_separator(struct csv *csv, bool quoted, bool *last, struct assay_error *err)
{
	char *p = csv->next;

	*last = p == csv->end;
	if (*last)
		return ASSAY_OK;
	if (*p == '\r' && p + 1 < csv->end && p[1] == '\n')
		p++;
	if (*p == ',' || *p == '\n') {
		*last = *p == '\n';
		csv->next_line += *last;
		csv->next = p + 1;
		return ASSAY_OK;
	}
	if (quoted)
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: text after a closing quote (a quote inside a field is doubled)", csv->name,
				  csv->next_line);
	if (*p == '"')
		return assay_fail(err, ASSAY_E_FORMAT,
				  "%s:%zu: quote inside a field (put the whole field in quotes and double the inner one)", csv->name,
				  csv->next_line);
	return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: carriage return without a line feed (lines end with LF or CRLF)", csv->name,
			  csv->next_line);
}

/* Reports whether a spreadsheet would run the field as a formula, so that csv_add() puts an apostrophe before it. Ignores leading
 * apostrophes: csv_add() puts one more before such a field, and the reader removes one. */
static bool is_formula(const char *field)
{
	char first = field[strspn(field, "'")];

	return first && strchr("=+-@\t\r", first);
}

static enum assay_status read_field(struct csv *csv, bool *last, struct assay_error *err)
{
	char *field = csv->next;
	size_t line = csv->next_line, n = 0;
	bool quoted = field < csv->end && *field == '"';
	enum assay_status st = ASSAY_OK;

	if (csv->n_fields == CSV_COLUMNS_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "%s:%zu: a row of more than %d fields", csv->name, csv->line, CSV_COLUMNS_MAX);
	if (quoted)
		st = read_quoted(csv, &n, err);
	else
		read_plain(csv, &n);
	if (!st)
		st = read_separator(csv, quoted, last, err);
	if (!st)
		st = check_field(csv, field, n, line, err);
	if (st)
		return st;
	field[n] = '\0'; /* overwrites the separator or the closing quote */
	mem_append(csv->fields, csv->n_fields, &csv->capacity, field + (*field == '\'' && is_formula(field)));
	return ASSAY_OK;
}

static void skip_line(struct csv *csv)
{
	char *newline = memchr(csv->next, '\n', (size_t)(csv->end - csv->next));

	csv->next = newline ? newline + 1 : csv->end;
	csv->next_line += newline != NULL;
}

enum assay_status csv_read_row(struct csv *csv, bool *more, struct assay_error *err)
{
	enum assay_status st;
	bool last = false;

	*more = false;
	csv->n_fields = 0;
	skip_empty_lines(csv);
	csv->line = csv->next_line;
	if (csv->next == csv->end)
		return ASSAY_OK;
	while (!last) {
		st = read_field(csv, &last, err);
		if (st && !last)
			skip_line(csv);
		if (st)
			return st;
	}
	if (csv->width && csv->n_fields != csv->width)
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: %zu field%s where the header has %zu", csv->name, csv->line, csv->n_fields,
				  text_plural(csv->n_fields), csv->width);
	*more = true;
	return ASSAY_OK;
}

static enum assay_status refuse_duplicate_column(const struct csv *csv, struct assay_error *err)
{
	const char **sorted = mem_new(csv->n_fields, sizeof(*sorted));
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < csv->n_fields; i++)
		sorted[i] = csv->fields[i];
	qsort(sorted, csv->n_fields, sizeof(*sorted), text_compare);
	for (size_t i = 1; i < csv->n_fields && !st; i++)
		if (*sorted[i] && !strcmp(sorted[i - 1], sorted[i]))
			st = assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: two columns are named '%s'", csv->name, csv->line,
					TEXT_SANITIZED(sorted[i]));
	free(sorted);
	return st;
}

static enum assay_status fail_missing(const struct csv *csv, const char *column, struct assay_error *err)
{
	struct buf there = BUF_INIT;
	enum assay_status st;

	for (size_t i = 0; i < csv->n_fields && i < COLUMNS_NAMED; i++)
		buf_format(&there, "%s%s", i ? ", " : "", TEXT_SANITIZED(csv->fields[i]));
	if (csv->n_fields > COLUMNS_NAMED)
		buf_format(&there, " and %zu more", csv->n_fields - COLUMNS_NAMED);
	st = assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: no column '%s' (there are: %s)", csv->name, csv->line, column, there.bytes);
	buf_release(&there);
	return st;
}

enum assay_status csv_read_header(struct csv *csv, const char *const *columns, size_t n, size_t *index, struct assay_error *err)
{
	enum assay_status st;
	bool more;

	st = csv_read_row(csv, &more, err);
	if (st)
		return st;
	if (!more)
		return assay_fail(err, ASSAY_E_FORMAT, "%s:%zu: no header row: the file is empty", csv->name, csv->line);
	csv->width = csv->n_fields;
	st = refuse_duplicate_column(csv, err);
	for (size_t i = 0; i < n && !st; i++) {
		bool optional = columns[i][0] == '?';

		index[i] = text_index((const char *const *)csv->fields, csv->n_fields, columns[i] + optional);
		if (index[i] == SIZE_MAX && !optional)
			st = fail_missing(csv, columns[i], err);
	}
	return st;
}

/* Reports whether a field needs quotes. An empty first field needs them, because a row with only this field would be an empty line. A first
 * field that starts with a byte order mark needs them, because readers skip this mark at the start of a file. */
static bool needs_quotes(const char *field, bool first)
{
	return strpbrk(field, ",\"\r\n") || (first && (!*field || !strncmp(field, BYTE_ORDER_MARK, 3)));
}

void csv_add(struct buf *out, const char *field, bool first)
{
	double number;
	bool as_text = is_formula(field) && !text_parse_double(field, &number);

	if (!first)
		buf_char(out, ',');
	if (!needs_quotes(field, first)) {
		buf_format(out, "%s%s", as_text ? "'" : "", field);
		return;
	}
	buf_text(out, as_text ? "\"'" : "\"");
	for (const char *quote; (quote = strchr(field, '"')); field = quote + 1) {
		buf_add(out, field, (size_t)(quote - field) + 1);
		buf_char(out, '"');
	}
	buf_text(out, field);
	buf_char(out, '"');
}
