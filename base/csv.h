/* Comma-separated values as in RFC 4180: quoted fields, doubled quotes, line ends LF or CRLF; skips a leading byte order mark. Works in
 * place on the caller's bytes; O(bytes). Writing puts an apostrophe before text that a spreadsheet would take for a formula, and reading
 * removes it. Negative numbers stay as they are. */
#ifndef BASE_CSV_H
#define BASE_CSV_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define CSV_COLUMNS_MAX	    4096
#define CSV_FIELD_BYTES_MAX 65536

struct csv {
	const char *name; /* file name for messages; borrowed */
	char *next, *end; /* unread bytes */
	size_t line;	  /* line on which the current row starts, from 1 */
	size_t next_line;
	char **fields; /* fields of the current row, NUL-terminated, inside the caller's bytes */
	size_t n_fields;
	size_t width; /* number of fields in the header, once csv_header() has read it */
	size_t capacity;
};

/* Starts reading. bytes[0..n) is borrowed and changed in place; bytes[n] must be writable, too. A NUL in it is an error while reading.
 * csv_release() frees the reader's memory. */
void csv_init(struct csv *csv, const char *name, char *bytes, size_t n);

/* Reads the next row into csv->fields; *more = false: there is none. Skips empty lines. ASSAY_E_FORMAT: an unterminated quote, text after a
 * closing quote, a NUL byte, invalid UTF-8, or another number of fields than the header has. ASSAY_E_LIMIT: too many or too long fields.
 * The error starts with "name:line: "; the next call reads the row after that line. */
enum assay_status csv_next(struct csv *csv, bool *more, struct assay_error *err);

/* Reads the first row as header and finds the columns: index[i] of columns[i]. A missing column is an error that lists the existing ones,
 * or SIZE_MAX if optional (its name starts with '?'). Equal names are an error unless empty. */
enum assay_status csv_header(struct csv *csv, const char *const *columns, size_t n, size_t *index, struct assay_error *err);

void csv_release(struct csv *csv);

/* Appends one field, quoted if needed, after a comma unless it is the first of its row. */
struct buf;
void csv_add(struct buf *out, const char *field, bool first);

#endif
