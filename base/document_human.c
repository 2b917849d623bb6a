/* Renders a document as text for users: values with labels in two columns, and tables with aligned columns. */
#include "base/document.h"

#include "base/mem.h"
#include "base/text.h"

#include <string.h>

/* ---- widths and tables ---- */

/* Returns the width of the text in code points, without marks. Wide and combining characters do not occur in these texts. */
static size_t text_width(const char *text)
{
	size_t n = 0;

	for (; *text; text++) {
		size_t mark = doc_mark_bytes(text);

		if (mark)
			text += mark - 1;
		else
			n += ((unsigned char)*text & 0xc0) != 0x80;
	}
	return n;
}

/* Appends text without its marks. '?' replaces control characters, because names from outside could contain colour sequences. */
static void print_text(const char *text, struct buf *out)
{
	for (size_t mark, control; *text; text += mark ? mark : control ? control : 1) {
		mark = doc_mark_bytes(text);
		control = *text == '\n' || *text == '\t' ? 0 : text_control_char_bytes(text);
		if (!mark)
			buf_char(out, control ? '?' : *text);
	}
}

static void add_spaces(size_t n, struct buf *out)
{
	while (n--)
		buf_char(out, ' ');
}

static void end_line(struct buf *out)
{
	while (out->size && out->bytes[out->size - 1] == ' ')
		out->bytes[--out->size] = '\0'; /* removes the spaces of empty cells at the end of a row */
	buf_char(out, '\n');
}

#define COLUMN_WIDTH_MAX 200 /* a longer text widens only its own row */

struct column {
	const char *label;
	size_t width;	     /* width of the widest text among those of at most COLUMN_WIDTH_MAX */
	bool texts, numbers; /* whether some cell is a text, and whether some cell is a number; a column of only numbers is right-aligned */
};

struct grid {
	struct column *columns;
	size_t n_columns, capacity;
	size_t n_rows;
	char **cells; /* [n_rows x n_columns]; NULL where a row lacks a cell */
};

static size_t find_column(const struct grid *grid, const char *label)
{
	size_t i = 0;

	while (i < grid->n_columns && strcmp(grid->columns[i].label, label) != 0)
		i++;
	return i;
}

static bool is_cell(const struct doc_node *node)
{
	return node->kind == DOC_VALUE && node->label && (node->value.type != DOC_PICTURE || node->human_text);
}

static bool is_row(const struct doc_node *node)
{
	return node->kind == DOC_ROW && !node->hidden;
}

/* Counts the rows of `table`, and adds a column for each label in the order of appearance. */
static void add_grid_columns(const struct doc_node *table, struct grid *grid)
{
	for (const struct doc_node *row = table->first; row; row = row->next) {
		grid->n_rows += is_row(row);
		for (const struct doc_node *cell = is_row(row) ? row->first : NULL; cell; cell = cell->next) {
			if (!is_cell(cell) || find_column(grid, cell->label) < grid->n_columns)
				continue;
			mem_append(grid->columns, grid->n_columns, &grid->capacity,
				   (struct column){ .label = cell->label, .width = text_width(cell->label) });
		}
	}
}

static void add_grid_cells(const struct doc_node *table, const struct doc_style *style, struct grid *grid)
{
	size_t i = 0;

	grid->cells = mem_new(grid->n_rows * grid->n_columns, sizeof(*grid->cells));
	for (const struct doc_node *row = table->first; row; row = row->next) {
		if (!is_row(row))
			continue;
		for (const struct doc_node *cell = row->first; cell; cell = cell->next) {
			size_t j = is_cell(cell) ? find_column(grid, cell->label) : 0, width;

			if (!is_cell(cell))
				continue;
			free(grid->cells[i * grid->n_columns + j]);
			grid->cells[i * grid->n_columns + j] = doc_format_value(cell, style);
			width = text_width(grid->cells[i * grid->n_columns + j]);
			if (width > grid->columns[j].width && width <= COLUMN_WIDTH_MAX)
				grid->columns[j].width = width;
			grid->columns[j].texts |= cell->value.type == DOC_TEXT || cell->value.type >= DOC_BAR;
			grid->columns[j].numbers |= cell->value.type == DOC_REAL || cell->value.type == DOC_INTEGER;
		}
		i++;
	}
}

static void print_cells(const struct grid *grid, char *const *cells, struct buf *out)
{
	for (size_t j = 0; j < grid->n_columns; j++) {
		const struct column *column = &grid->columns[j];
		const char *text = cells ? (cells[j] ? cells[j] : "") : column->label;
		size_t width = text_width(text), blank = width < column->width ? column->width - width : 0;
		bool left = column->texts || !column->numbers;

		add_spaces(left ? 0 : blank, out);
		print_text(text, out);
		add_spaces((left ? blank : 0) + 2, out);
	}
	end_line(out);
}

static void print_table(const struct doc_node *table, const struct doc_style *style, struct buf *out)
{
	struct grid grid = { 0 };

	add_grid_columns(table, &grid);
	if (grid.n_columns) {
		add_grid_cells(table, style, &grid);
		print_cells(&grid, NULL, out);
		for (size_t i = 0; i < grid.n_rows; i++)
			print_cells(&grid, grid.cells + i * grid.n_columns, out);
		for (size_t i = 0; i < grid.n_rows * grid.n_columns; i++)
			free(grid.cells[i]);
	}
	mem_free(grid.cells, grid.columns);
}

/* ---- values and lines ---- */

/* Returns the width of the widest label among `node` and the values that directly follow it. */
static size_t label_width(const struct doc_node *node)
{
	size_t width = 0;

	for (; node && node->kind == DOC_VALUE; node = node->next) {
		size_t n = is_cell(node) ? text_width(node->label) : 0;

		width = n > width ? n : width;
	}
	return width;
}

static void print_value(const struct doc_node *node, size_t width, const struct doc_style *style, struct buf *out)
{
	char *human_text = doc_format_value(node, style);

	buf_text(out, node->label);
	add_spaces(width - text_width(node->label) + 2, out);
	print_text(human_text, out);
	end_line(out);
	free(human_text);
}

static void print_answer(const struct doc_node *node, const struct doc_style *style, struct buf *out)
{
	static const char *const colours[] = { [DOC_PLAIN] = "1", [DOC_GOOD] = "1;32", [DOC_DOUBTFUL] = "1;33", [DOC_BAD] = "1;31" };
	const char *word = *node->label ? node->label : node->human_text; /* if there is no word, the sentence is coloured */
	bool coloured = style->colours && (*node->label || node->tone != DOC_PLAIN);

	if (coloured)
		buf_format(out, "\033[%sm", colours[node->tone]);
	print_text(word, out);
	buf_text(out, coloured ? "\033[0m" : "");
	if (*node->label && *node->human_text) {
		buf_text(out, "  ");
		print_text(node->human_text, out);
	}
	end_line(out);
}

static void print_line(const char *before, const char *text, struct buf *out)
{
	buf_text(out, before);
	print_text(text, out);
	buf_char(out, '\n');
}

/* Reports whether the rendered text shows nothing of the node, such as a value without a label or a table without rows. */
static bool is_hidden_from_users(const struct doc_node *node)
{
	if (node->hidden || node->kind == DOC_COLUMN || node->kind == DOC_ATTRIBUTE)
		return true;
	if (node->kind == DOC_VALUE)
		return !is_cell(node);
	for (const struct doc_node *child = node->first; child; child = child->next)
		if (!is_hidden_from_users(child))
			return false;
	return node->kind < DOC_VALUE;
}

/* Reports whether only images follow this heading. A terminal cannot show images. */
static bool has_only_images(const struct doc_node *heading)
{
	bool any = false;

	for (const struct doc_node *node = heading->next; node && node->kind != DOC_HEADING && node->kind != DOC_SUBHEADING;
	     node = node->next) {
		if (!is_hidden_from_users(node))
			return false;
		any = any || (!node->hidden && node->kind == DOC_VALUE && node->value.type == DOC_PICTURE);
	}
	return any;
}

static void print_children(const struct doc_node *node, const struct doc_style *style, struct buf *out)
{
	size_t width = 0;

	for (const struct doc_node *child = node->first, *previous = NULL; child; previous = child, child = child->next) {
		if (child->hidden)
			continue;
		switch (child->kind) {
		case DOC_VALUE:
			if (!previous || previous->kind != DOC_VALUE)
				width = label_width(child);
			if (is_cell(child))
				print_value(child, width, style, out);
			break;
		case DOC_TABLE:
			print_table(child, style, out);
			break;
		case DOC_ANSWER:
			print_answer(child, style, out);
			break;
		case DOC_HEADING:
		case DOC_SUBHEADING:
			if (!has_only_images(child))
				print_line(out->size ? "\n" : "", child->human_text, out);
			break;
		case DOC_LINE:
			if (!child->style || strcmp(child->style, "lead") != 0)
				print_line("", child->human_text, out);
			break;
		case DOC_ITEM:
			print_line("  - ", child->human_text, out);
			break;
		case DOC_RAW:
			buf_text(out, child->human_text);
			break;
		case DOC_ENTRY:
			print_line("", child->label, out);
			print_children(child, style, out);
			break;
		default:
			print_children(child, style, out);
		}
	}
}

void document_human(const struct document *d, const struct doc_style *style, struct buf *out)
{
	print_children(&d->root, style, out);
}
