#include "base/table.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdarg.h>

/* Code points, not bytes: what is printed here has no wide or combining characters. */
static size_t width(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static void append(struct table *t, char *cell)
{
	t->cells = mem_grow(t->cells, t->n, &t->capacity, sizeof(*t->cells));
	t->cells[t->n++] = cell;
}

void table_init(struct table *t, const char *align, const char *const *headings)
{
	*t = (struct table){ .columns = strlen(align), .align = align };
	ASSAY_BUG_IF(t->columns == 0 || t->columns > TABLE_COLUMNS_MAX);
	for (size_t j = 0; j < t->columns; j++)
		append(t, mem_string(headings[j]));
}

void table_cell(struct table *t, const char *fmt, ...)
{
	va_list args;
	char *cell = NULL;

	va_start(args, fmt);
	ASSAY_BUG_IF(vasprintf(&cell, fmt, args) < 0);
	va_end(args);
	append(t, cell);
}

static void pad(struct buf *out, size_t n)
{
	while (n--)
		buf_char(out, ' ');
}

static void print_row(const struct table *t, size_t row, const size_t *widths, struct buf *out)
{
	for (size_t j = 0; j < t->columns; j++) {
		const char *cell = t->cells[row * t->columns + j];
		size_t blank = widths[j] - width(cell);

		if (t->align[j] == 'r')
			pad(out, blank);
		buf_text(out, cell);
		if (j + 1 < t->columns)
			pad(out, (t->align[j] == 'r' ? 0 : blank) + 2);
	}
	while (out->bytes[out->size - 1] == ' ')
		out->size--; /* empty cells at the end of a row */
	buf_char(out, '\n');
}

void table_print(const struct table *t, struct buf *out)
{
	size_t widths[TABLE_COLUMNS_MAX] = { 0 };

	ASSAY_BUG_IF(t->n % t->columns);
	for (size_t i = 0; i < t->n; i++) {
		size_t w = width(t->cells[i]);

		if (w > widths[i % t->columns])
			widths[i % t->columns] = w;
	}
	for (size_t row = 0; row < t->n / t->columns; row++)
		print_row(t, row, widths, out);
}

void table_release(struct table *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->cells[i]);
	free(t->cells);
	*t = (struct table){ 0 };
}
