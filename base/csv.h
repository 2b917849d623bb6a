/* Comma-separated values as in RFC 4180: quoted fields, doubled quotes, lines that end with LF or CRLF. The reader skips a leading byte
 * order mark. The reader works in place on the caller's bytes, in O(bytes). The writer puts an apostrophe before text, except numbers, that
 * a spreadsheet would take for a formula; the reader removes the apostrophe. */
#ifndef BASE_CSV_H
#define BASE_CSV_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define CSV_COLUMNS_MAX	    4096
#define CSV_FIELD_BYTES_MAX 65536

struct csv {
	const char *name; /* file name for messages, borrowed */
	char *next, *end; /* unread bytes: from `next` up to `end` */
	size_t line;	  /* line where the current row starts, from 1 */
	size_t next_line;
	char **fields; /* fields of the current row, NUL-terminated, in the caller's bytes */
	size_t n_fields;
	size_t width; /* number of fields in the header; 0 before csv_header() */
	size_t capacity;
};

/* Starts reading bytes[0..n). The caller owns the bytes; the reader changes them. bytes[n] must be writable, too. Reading a NUL byte is an
 * error. csv_release() frees the reader's memory. */
void csv_init(struct csv *csv, const char *name, char *bytes, size_t n);

/* Reads the next row into csv->fields; *more is false if there is none. Skips empty lines. ASSAY_E_FORMAT: unterminated quote, text after a
 * closing quote, NUL byte, invalid UTF-8, or another number of fields than in the header. ASSAY_E_LIMIT: too many or too long fields. The
 * error starts with "name:line: ". The next call reads the row after that line. */
enum assay_status csv_next(struct csv *csv, bool *more, struct assay_error *err);

/* Reads the first row as header and sets index[i] to the position of columns[i]. A name that starts with '?' is optional: its index is
 * SIZE_MAX if it is missing. Another missing column is an error that lists the existing ones. Equal names are an error, unless empty. */
enum assay_status csv_header(struct csv *csv, const char *const *columns, size_t n, size_t *index, struct assay_error *err);

void csv_release(struct csv *csv);

/* Appends one field, quoted if needed; puts a comma before the field unless it is the `first` of its row. */
struct buf;
void csv_add(struct buf *out, const char *field, bool first);

#endif
