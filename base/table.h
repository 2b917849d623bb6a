/* A table for people: columns as wide as their longest cell, two blanks between them. */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include "base/buf.h"

#include <stddef.h>

#define TABLE_COLUMNS_MAX 16

struct table {
	size_t columns;
	const char *align;  /* one character a column: 'l' or 'r' */
	char **cells;       /* [rows x columns], row 0 is the heading; owned */
	size_t n, capacity; /* cells */
};

/* headings[columns], columns = strlen(align) <= TABLE_COLUMNS_MAX; `align` is borrowed. */
void table_init(struct table *t, const char *align, const char *const *headings);
void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void table_print(const struct table *t, struct buf *out); /* the last row must be complete */
void table_release(struct table *t);

#endif
