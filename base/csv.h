/* Comma-separated values as in RFC 4180: quoted fields, doubled quotes, line ends LF or CRLF, a leading byte order mark is
 * skipped. Works in place on the caller's bytes; O(bytes). Text that a spreadsheet would take for a formula is written with an apostrophe
 * before it, which reading takes away; negative numbers stay as they are. */
#ifndef BASE_CSV_H
#define BASE_CSV_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define CSV_COLUMNS_MAX	    4096
#define CSV_FIELD_BYTES_MAX 65536

struct csv {
	const char *name; /* of the file, for messages; borrowed */
	char *next, *end; /* unread bytes */
	size_t line;	  /* line on which the current row starts, from 1 */
	size_t next_line;
	char **fields; /* of the current row, NUL-terminated, inside the caller's bytes */
	size_t n_fields;
	size_t width; /* fields of the header, once csv_header() has read it */
	size_t capacity;
};

/* bytes[0..n) is borrowed, changed in place, and must be writable up to and including bytes[n]. Must not contain NUL
 * (checked while reading). csv_release() frees what the reader allocated. */
void csv_init(struct csv *csv, const char *name, char *bytes, size_t n);

/* The next row into csv->fields. *more = false at the end. Empty lines are skipped. ASSAY_E_FORMAT for an unterminated quote,
 * text behind a closing quote, a NUL byte, bytes that are not UTF-8, another number of fields than the header has; ASSAY_E_LIMIT
 * for too many or too long fields: the text starts with "name:line: ". The next call reads the row after that line. */
enum assay_status csv_next(struct csv *csv, bool *more, struct assay_error *err);

/* Reads the first row as header and finds the columns: index[i] of columns[i]. A column that is missing is an error that names
 * the columns which are there; unless optional (name starts with '?'), then SIZE_MAX. Equal names that are not empty are an error. */
enum assay_status csv_header(struct csv *csv, const char *const *columns, size_t n, size_t *index, struct assay_error *err);

void csv_release(struct csv *csv);

/* Writing: appends one field, quoted where needed, and a comma before it unless it is the row's first. */
struct buf;
void csv_add(struct buf *out, const char *field, bool first);

#endif
