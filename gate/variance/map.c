/* Maps of processes and time, as a picture and as text. */
#include "gate/variance/answer.h"

#include "base/mem.h"
#include "gate/page/html.h"

#include <math.h>
#include <stdlib.h>

#define CLASSES	     6 /* of colours, h5 to h10 of the style sheet: as usual to more than so many times as long */
#define TEXT_COLUMNS 60
#define TEXT_ROWS    16
#define NAMED_ROWS   20 /* of a picture: with more there is no room for names beside them */

/* Times as long as usual, from where the classes after the first begin. */
static const double borders[CLASSES - 1] = { 1.1, 1.1765, 1.4, 2, 4 };

/* Rows that one row of the picture stands for. */
static size_t rows_each(const struct variance *v, size_t most)
{
	return (v->fragments.n_processes + most - 1) / most;
}

/* Times as long as usual in the slowest of some processes, over some columns; NaN: none did such work then. */
static double slowest(const struct map *map, size_t row, size_t rows, size_t column, size_t columns)
{
	double most = (double)NAN;

	for (size_t p = row; p < row + rows && p < map->time.rows; p++) {
		double time = 0, expected = 0;

		for (size_t c = column; c < column + columns && c < map->time.cols; c++) {
			time += mat_get(&map->time, p, c);
			expected += mat_get(&map->expected, p, c);
		}
		if (expected > 0 && !(time / expected <= most))
			most = time / expected;
	}
	return most;
}

static size_t class_of(double times)
{
	size_t k = 0;

	while (k < CLASSES - 1 && times >= borders[k])
		k++;
	return k;
}

/* All cells of one class, as what a path draws. */
static void class_path(const struct map *map, size_t rows, size_t each, size_t class, struct buf *path)
{
	for (size_t row = 0; row < rows; row++)
		for (size_t c = 0, n; c < map->time.cols; c += n ? n : 1) {
			for (n = 0; c + n < map->time.cols; n++) {
				double times = slowest(map, row * each, each, c + n, 1);

				if (isnan(times) || class_of(times) != class)
					break;
			}
			if (n)
				buf_format(path, "M%zu %zuh%zuv1h-%zuz", c, row, n, n);
		}
}

bool variance_map_svg(const struct variance *v, enum activity activity, struct buf *svg, size_t *rows, size_t *processes)
{
	const struct map *map = &v->maps[activity];
	unsigned height;

	*processes = rows_each(v, VARIANCE_MAP_ROWS);
	*rows = (v->fragments.n_processes + *processes - 1) / *processes;
	if (!(map->repeated_s > 0))
		return false;
	height = (unsigned)fmin(fmax(24.0 * (double)*rows, 48), 480);
	buf_text(svg, "<div class=\"map\">");
	if (*processes == 1 && *rows <= NAMED_ROWS) {
		buf_text(svg, "<ol aria-hidden=\"true\">");
		for (size_t p = 0; p < *rows; p++)
			html_format(svg, "<li>%s</li>", v->fragments.processes[p].name);
		buf_text(svg, "</ol>");
	}
	buf_format(svg,
		   "<svg class=\"zoom\" tabindex=\"0\" role=\"img\" aria-label=\"Map of processes and time\" width=\"100%%\" height=\"%u\" "
		   "viewBox=\"0 0 %zu %zu\" preserveAspectRatio=\"none\" data-column=\"%.9g\" data-each=\"%zu\">",
		   height, v->columns, *rows, v->column_s, *processes);
	for (size_t k = 0; k < CLASSES; k++) {
		struct buf path = BUF_INIT;

		class_path(map, *rows, *processes, k, &path);
		if (path.size)
			buf_format(svg, "<path class=\"m%zu\" d=\"%s\"/>", k, path.bytes);
		buf_release(&path);
	}
	buf_text(svg, "</svg></div>");
	return true;
}

char *variance_map_text(const struct variance *v, enum activity activity)
{
	static const char shades[CLASSES] = { '.', '-', '+', '*', '#', '@' };
	const struct map *map = &v->maps[activity];
	size_t each = rows_each(v, TEXT_ROWS), columns = (v->columns + TEXT_COLUMNS - 1) / TEXT_COLUMNS;
	struct buf text = BUF_INIT;

	for (size_t row = 0; row < v->fragments.n_processes; row += each) {
		buf_text(&text, row ? "\n  " : "");
		for (size_t c = 0; c < v->columns; c += columns) {
			double times = slowest(map, row, each, c, columns);

			buf_char(&text, isnan(times) ? ' ' : shades[class_of(times)]);
		}
		buf_format(&text, "  %s", v->fragments.processes[row].name);
	}
	return buf_take(&text);
}
