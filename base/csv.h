/* Reads and writes comma-separated values as in RFC 4180: quoted fields, doubled quotes, lines that end with LF or CRLF. The reader skips a
 * byte order mark at the start, and works in place on the caller's bytes, in O(bytes). The writer puts an apostrophe before text that a
 * spreadsheet would take for a formula. Numbers get none. The reader removes this apostrophe. */
#ifndef BASE_CSV_H
#define BASE_CSV_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define CSV_COLUMNS_MAX	    4096
#define CSV_FIELD_BYTES_MAX 65536

struct csv {
	const char *name; /* file name for messages; owned by the caller */
	char *next, *end; /* start and end of the unread bytes */
	size_t line;	  /* line where the current row starts, from 1 */
	size_t next_line;
	char **fields; /* fields of the current row; NUL-terminated texts inside the caller's bytes */
	size_t n_fields;
	size_t width; /* number of fields in the header; 0 before csv_read_header() */
	size_t capacity;
};

/* Starts to read bytes[0..n). The caller owns the bytes; the reader changes them. bytes[n] must be writable, too. csv_release() frees the
 * reader, but not the bytes. */
void csv_init(struct csv *csv, const char *name, char *bytes, size_t n);

/* Reads the next row into csv->fields. Sets *more to false if there is none. Skips empty lines. ASSAY_E_FORMAT: unterminated quote, text
 * after a closing quote, NUL byte, invalid UTF-8, or not as many fields as the header. ASSAY_E_LIMIT: too many or too long fields. Errors
 * start with "name:line: ". After an error, the next call reads the row after that line. */
enum assay_status csv_read_row(struct csv *csv, bool *more, struct assay_error *err);

/* Reads the first row as the header. Sets index[i] to the position of columns[i], or to SIZE_MAX if a missing column is optional (its name
 * in `columns` starts with '?'). If another column is missing, the error lists the existing ones. Two equal non-empty names are an error,
 * too. */
enum assay_status csv_read_header(struct csv *csv, const char *const *columns, size_t n, size_t *index, struct assay_error *err);

void csv_release(struct csv *csv);

/* Appends one field, in quotes if needed. Puts a comma before it unless it is the `first` of its row. */
struct buf;
void csv_add(struct buf *out, const char *field, bool first);

#endif
