#include "gate/variance/answer.h"

#include "base/mem.h"
#include "base/order.h"
#include "gate/page/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CLUSTERS_REPORTED 30

ORDER_POINTERS_BY(clusters_by_time, struct cluster, BY_DESC(time_s) BY_ADDRESS)

static void cluster_row(const struct variance *v, const struct cluster *c, struct document *d)
{
	char *place = variance_format_place(&v->fragments, c->from, c->to), *time = variance_format_seconds(c->time_s);
	char *usual = c->repeated ? variance_format_seconds(c->usual_s) : mem_string("-");

	doc_row(d);
	doc_set(d, "activity", activity_name(c->activity));
	doc_show(d, "place", "call, or computation from -> to", place);
	doc_set(d, "fragments", c->n);
	doc_set(d, "stand_for", c->weight);
	doc_showf(d, "time_s", "time", c->time_s, "%s", time);
	doc_set(d, "usual_s", c->repeated ? doc_value_real(c->usual_s) : DOC_NULL_VALUE);
	doc_show(d, NULL, "usual", usual);
	if (c->basis == BASIS_UNVERIFIED)
		doc_show(d, "work", "work", DOC_NULL_VALUE);
	else
		doc_showf(d, "work", "work", c->work, c->work < 1e7 ? "%.0f" : "%.4g", c->work);
	doc_show(d, "basis", "work known by", basis_name(c->basis));
	mem_free(place, time, usual);
}

void variance_add_graph(const struct variance *v, struct document *d)
{
	const struct cluster **clusters = mem_new(v->n_clusters, sizeof(*clusters));

	doc_section(d, "graph", "Graph", "Calls and the computation between them",
		    "Calls and computation between calls that took most time. Work in one row is equal within 5 %. Only repeated work has "
		    "a usual time.");
	doc_set(d, "clusters", v->n_clusters);
	doc_table(d, "graph");
	if (!v->n_clusters)
		doc_hide(d);
	for (size_t i = 0; i < v->n_clusters; i++)
		clusters[i] = &v->clusters[i];
	order_sort(clusters, v->n_clusters, clusters_by_time);
	for (size_t i = 0; i < v->n_clusters && i < CLUSTERS_REPORTED; i++)
		cluster_row(v, clusters[i], d);
	doc_end(d);
	free(clusters);
}

#define CLASSES	     6 /* number of colours, h5 to h10 of the style sheet, from usual to slowest */
#define TEXT_COLUMNS 60
#define MAP_ROWS     20
#define TICKS	     5 /* number of times on the time axis */

/* Multiple of the usual time at which each class after the first starts. */
static const double borders[CLASSES - 1] = { 1.1, 1.1765, 1.4, 2, 4 };

/* Row of a map, for the processes [first, first + n). */
struct row {
	size_t first, n;
	char *name;
};

struct rows {
	struct row *items; /* array of n elements */
	size_t n;
};

/* Makes one row per process. Combines neighbours if there would be more than MAP_ROWS rows. */
static struct rows rows_make(const struct variance *v)
{
	size_t n = v->fragments.n_processes, each = (n + MAP_ROWS - 1) / MAP_ROWS;
	struct rows out = { .items = mem_new(n, sizeof(*out.items)) };

	for (size_t first = 0; first < n; first += each) {
		size_t joined = n - first < each ? n - first : each;
		const char *name = v->fragments.processes[first].name;

		out.items[out.n++] =
		    (struct row){ first, joined, joined > 1 ? mem_format("%s and %zu more", name, joined - 1) : mem_string(name) };
	}
	return out;
}

static void rows_release(struct rows *rows)
{
	for (size_t r = 0; r < rows->n; r++)
		free(rows->items[r].name);
	free(rows->items);
}

/* Returns the multiple of the usual time that a row's slowest process took in some columns; NaN if they have no repeated work. */
static double slowest_in_cell(const struct heat_map *map, const struct rows *rows, size_t row, size_t column, size_t columns)
{
	const struct row *r = &rows->items[row];
	double most = (double)NAN;

	for (size_t i = r->first; i < r->first + r->n; i++) {
		double time = 0, expected = 0;

		for (size_t c = column; c < column + columns && c < map->time.cols; c++) {
			time += mat_get(&map->time, i, c);
			expected += mat_get(&map->expected, i, c);
		}
		if (expected > 0 && !(time / expected <= most))
			most = time / expected;
	}
	return most;
}

static size_t colour_class(double times)
{
	size_t k = 0;

	while (k < CLASSES - 1 && times >= borders[k])
		k++;
	return k;
}

/* Appends the cells of one class as data of an SVG path. */
static void class_path(const struct heat_map *map, const struct rows *rows, size_t class, struct buf *path)
{
	for (size_t row = 0; row < rows->n; row++)
		for (size_t c = 0, n; c < map->time.cols; c += n ? n : 1) {
			for (n = 0; c + n < map->time.cols; n++) {
				double times = slowest_in_cell(map, rows, row, c + n, 1);

				if (isnan(times) || colour_class(times) != class)
					break;
			}
			if (n)
				buf_format(path, "M%zu %zuh%zuv1h-%zuz", c, row, n, n);
		}
}

/* Returns the time of a tick (0 to TICKS - 1) on the axis. The caller frees it. */
static char *tick_text(const struct variance *v, size_t tick)
{
	return variance_format_seconds(v->fragments.from_s + (double)tick / (TICKS - 1) * (double)v->columns * v->column_s);
}

static void map_svg(const struct variance *v, const struct heat_map *map, const struct rows *rows, struct buf *svg)
{
	unsigned height = rows->n > 1 ? 24 * (unsigned)rows->n : 48;

	buf_text(svg, "<div class=\"map\">");
	buf_text(svg, "<ol aria-hidden=\"true\">");
	for (size_t r = 0; r < rows->n; r++)
		html_format(svg, "<li>%s</li>", rows->items[r].name);
	buf_text(svg, "</ol>");
	buf_format(svg,
		   "<div class=\"plot\"><svg class=\"zoom\" tabindex=\"0\" role=\"img\" aria-label=\"Map of processes and time\" "
		   "width=\"100%%\" height=\"%u\" "
		   "viewBox=\"0 0 %zu %zu\" preserveAspectRatio=\"none\" data-column=\"%.9g\">",
		   height, v->columns, rows->n, v->column_s);
	for (size_t k = 0; k < CLASSES; k++) {
		struct buf path = BUF_INIT;

		class_path(map, rows, k, &path);
		if (path.size)
			buf_format(svg, "<path class=\"m%zu\" d=\"%s\"/>", k, path.bytes);
		buf_release(&path);
	}
	buf_text(svg, "</svg><div class=\"axis\" aria-label=\"Time\">");
	for (size_t i = 0; i < TICKS; i++) {
		char *at = tick_text(v, i);

		html_format(svg, "<span>%s</span>", at);
		free(at);
	}
	buf_text(svg, "</div></div></div>");
}

static const char shades[CLASSES] = { '.', '-', '+', '*', '#', '@' };

static size_t text_columns(const struct variance *v)
{
	return (v->columns + TEXT_COLUMNS - 1) / TEXT_COLUMNS;
}

/* Appends the time axis. */
static void axis_add(const struct variance *v, struct buf *text)
{
	size_t width = (v->columns + text_columns(v) - 1) / text_columns(v), at = 0;

	buf_text(text, "\n  ");
	for (size_t i = 0; i < TICKS; i++) {
		char *tick = tick_text(v, i);
		size_t end = i * (width - 1) / (TICKS - 1), n = strlen(tick), from = end > n / 2 ? end - n / 2 : 0;

		if (!i || from > at) {
			buf_format(text, "%*s%s", (int)(from - at), "", tick);
			at = from + n;
		}
		free(tick);
	}
}

/* Appends the legend of the characters. */
static void legend_add(const struct variance *v, struct buf *text)
{
	buf_format(text, "\n  a character is %.3g s; times as long as usual: %c below %.3g", (double)text_columns(v) * v->column_s,
		   shades[0], borders[0]);
	for (size_t k = 1; k < CLASSES; k++)
		buf_format(text, ", %c %.3g", shades[k], borders[k - 1]);
	buf_text(text, " or more");
}

/* Returns the map as text, with one line per row. The caller frees it. */
static char *map_text(const struct variance *v, const struct heat_map *map, const struct rows *rows, bool legend)
{
	size_t columns = text_columns(v);
	struct buf text = BUF_INIT;

	for (size_t row = 0; row < rows->n; row++) {
		buf_text(&text, row ? "\n  " : "");
		for (size_t c = 0; c < v->columns; c += columns) {
			double times = slowest_in_cell(map, rows, row, c, columns);

			buf_char(&text, isnan(times) ? ' ' : shades[colour_class(times)]);
		}
		buf_format(&text, "  %s", rows->items[row].name);
	}
	axis_add(v, &text);
	if (legend)
		legend_add(v, &text);
	return buf_take(&text);
}

void variance_add_maps(const struct variance *v, struct document *d)
{
	struct rows rows = rows_make(v);
	bool begun = false;

	for (size_t m = 0; m < ACTIVITY_MAPS; m++) {
		const char *name = activity_text((enum activity)m);
		struct buf svg = BUF_INIT;
		char *text;

		if (!(v->maps[m].repeated_s > 0))
			continue;
		if (!begun)
			doc_section(d, "maps", "Maps", "Processes and time",
				    "Each row is a process (or the slowest of several); time runs from left to right. Pale cells took as "
				    "long as usual, dark ones longer. The wheel or + and - zoom, arrows move, 0 shows all.");
		map_svg(v, &v->maps[m], &rows, &svg);
		text = map_text(v, &v->maps[m], &rows, !begun);
		begun = true;
		doc_subheading(d, "%c%s", name[0] - 'a' + 'A', name + 1);
		doc_picture(d, "", &svg, DOC_MARK("vh") "%s" DOC_END, text);
		free(text);
	}
	rows_release(&rows);
}
