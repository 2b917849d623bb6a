#include "gate/variance/maps.h"

#include "base/mem.h"
#include "base/order.h"
#include "gate/page/html.h"
#include "gate/variance/answer.h"
#include "gate/variance/long_waits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CLUSTERS_TOLD 30
#define RARE_TOLD     10
#define PLACES_LEAST  10 /* that people are shown, and more if they took long */
#define RECORDED      .5 /* of the time in calls of a cluster, from which it only repeats what other records tell */

/* Clusters of one place. */
struct place {
	const struct cluster *first;
	size_t kinds, n;
	double time_s, usual_s[2], work[2]; /* the least and the most */
	enum basis basis;		    /* of most of the time */
};

ORDER_POINTERS_BY(clusters_by_time, struct cluster, BY_DOWN(time_s) BY_PLACE)

ORDER_POINTERS_BY(clusters_by_place, struct cluster, BY_UP(from) BY_UP(to) BY_UP(activity) BY_DOWN(time_s) BY_PLACE)

ORDER_BY(places_by_time, struct place, BY_DOWN(time_s) BY_UP(first))

static void cluster_row(const struct variance *v, const struct cluster *c, struct document *d)
{
	char *place = variance_place(&v->fragments, c->from, c->to);

	doc_row(d);
	doc_hide(d);
	doc_set(d, "activity", activity_name(c->activity));
	doc_set(d, "place", place);
	doc_set(d, "fragments", c->n);
	doc_set(d, "stand_for", c->weight);
	doc_set(d, "time_s", c->time_s);
	doc_set(d, "usual_s", c->repeated ? doc_value_real(c->usual_s) : DOC_NOTHING);
	doc_set(d, "work", c->work);
	doc_set(d, "basis", basis_name(c->basis));
	free(place);
}

/* "0.02 ms", "0.02 ms to 12 ms", of texts that it takes. free() it. */
static char *range_text(char *least, char *most)
{
	char *text = strcmp(least, most) == 0 ? mem_string(least) : mem_format("%s to %s", least, most);

	mem_free(least, most);
	return text;
}

/* As an integer if that is short. free() it. */
static char *amount_text(double work)
{
	return mem_format(work < 1e7 ? "%.0f" : "%.4g", work);
}

static void place_row(const struct variance *v, const struct place *p, struct document *d)
{
	char *place = variance_place(&v->fragments, p->first->from, p->first->to), *time = variance_seconds(p->time_s);
	char *usual = p->first->repeated ? range_text(variance_seconds(p->usual_s[0]), variance_seconds(p->usual_s[1])) : mem_string("-");
	char *work = p->basis == BASIS_UNVERIFIED ? mem_string("-") : range_text(amount_text(p->work[0]), amount_text(p->work[1]));

	doc_row(d);
	doc_aside(d);
	doc_show(d, NULL, "call, or computation from -> to", place);
	doc_show(d, NULL, "kinds of work", p->kinds);
	doc_show(d, NULL, "fragments", p->n);
	doc_showf(d, NULL, "time", p->time_s, "%s", time);
	doc_show(d, NULL, "usual", usual);
	doc_show(d, NULL, "work", work);
	doc_show(d, NULL, "work known by", basis_name(p->basis));
	mem_free(place, time, usual, work);
}

/* clusters[n] of one place, those first that took most time. */
static struct place place_of(const struct cluster *const *clusters, size_t n)
{
	struct place p = { .first = clusters[0],
			   .kinds = n,
			   .basis = clusters[0]->basis,
			   .usual_s = { clusters[0]->usual_s, clusters[0]->usual_s },
			   .work = { clusters[0]->work, clusters[0]->work } };

	for (size_t i = 0; i < n; i++) {
		p.n += clusters[i]->n;
		p.time_s += clusters[i]->time_s;
		p.usual_s[0] = fmin(p.usual_s[0], clusters[i]->usual_s);
		p.usual_s[1] = fmax(p.usual_s[1], clusters[i]->usual_s);
		p.work[0] = fmin(p.work[0], clusters[i]->work);
		p.work[1] = fmax(p.work[1], clusters[i]->work);
	}
	return p;
}

/* The places [*n_places] of clusters[n], without clusters that mostly waited for recorded processes; recorded: for each of all clusters,
 * for how long it did. free() it. */
static struct place *places_of(const struct variance *v, const struct cluster *const *clusters, size_t n, const double *recorded,
			       size_t *n_places)
{
	struct place *places = mem_new(n, sizeof(*places));
	const struct cluster **sorted = mem_new(n, sizeof(*sorted));
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (recorded[clusters[i] - v->clusters] < RECORDED * clusters[i]->time_s)
			sorted[kept++] = clusters[i];
	order_sort(sorted, kept, clusters_by_place);
	*n_places = 0;
	for (size_t i = 0, k; i < kept; i += k) {
		for (k = 1; i + k < kept && sorted[i + k]->from == sorted[i]->from && sorted[i + k]->to == sorted[i]->to &&
			    sorted[i + k]->activity == sorted[i]->activity;)
			k++;
		places[(*n_places)++] = place_of(sorted + i, k);
	}
	order_sort(places, *n_places, places_by_time);
	free(sorted);
	return places;
}

/* key: of the table; heading: its own, or NULL if it follows that of the section. */
static void graph_table(const struct variance *v, const char *key, const char *heading, const struct cluster **clusters, size_t n,
			size_t told, const double *recorded, struct document *d)
{
	size_t n_places;
	struct place *places = places_of(v, clusters, n, recorded, &n_places);

	if (n_places && heading)
		doc_subheading(d, "%s", heading);
	doc_table(d, key);
	if (!n_places)
		doc_hide(d);
	order_sort(clusters, n, clusters_by_time);
	for (size_t i = 0; i < n && i < told; i++)
		cluster_row(v, clusters[i], d);
	for (size_t i = 0; i < n_places && i < told && (i < PLACES_LEAST || places[i].time_s >= VARIANCE_RARE * v->total_s); i++)
		place_row(v, &places[i], d);
	doc_end(d);
	free(places);
}

/* Clusters that are repeated, or long ones that are not. Returns their number. */
static size_t clusters_choose(const struct variance *v, bool repeated, const struct cluster **out)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n_clusters; i++) {
		const struct cluster *c = &v->clusters[i];

		if (repeated ? c->repeated : !c->repeated && c->time_s >= VARIANCE_RARE * v->fragments.span_s)
			out[n++] = c;
	}
	return n;
}

void variance_graph(const struct variance *v, struct document *d)
{
	const struct cluster **chosen = mem_new(v->n_clusters, sizeof(*chosen));
	double *recorded = mem_new(v->n_clusters, sizeof(*recorded));
	size_t n;

	for (size_t i = 0; i < v->fragments.n; i++) {
		const struct fragment *f = &v->fragments.items[i];

		if (wait_of_recorded(v, f))
			recorded[f->cluster] += f->weight * f->time_s;
	}
	doc_section(
	    d, "graph", "Graph", "What repeats: calls, and the computation between them",
	    "Call sites are the vertices of a graph, and the computation from one call to the next its edges. Fragments of one edge "
	    "or vertex that did the same work, within 5 %, are one kind of work.");
	doc_set(d, "clusters", v->n_clusters);
	n = clusters_choose(v, true, chosen);
	graph_table(v, "graph", NULL, chosen, n, CLUSTERS_TOLD, recorded, d);
	n = clusters_choose(v, false, chosen);
	if (n)
		graph_table(v, "rare", "Long work that does not repeat", chosen, n, RARE_TOLD, recorded, d);
	mem_free(chosen, recorded);
}

#define CLASSES	     6 /* colours, h5 to h10 of the style sheet, from usual to slowest */
#define TEXT_COLUMNS 60
#define TEXT_ROWS    16
#define PICTURE_ROWS 128
#define NAMED_ROWS   20	 /* rows of a picture that have room for names beside them */
#define BRIEF	     .25 /* of the run, below which a process shares a row if there are many */

/* Times as long as usual at which each class after the first begins. */
static const double borders[CLASSES - 1] = { 1.1, 1.1765, 1.4, 2, 4 };

/* ---- rows ---- */

struct row {
	size_t first, n; /* processes: of[first], ... */
	double time_s;
	char *name;
};

struct rows {
	struct row *items; /* [n] */
	size_t n, capacity;
	size_t *of, n_of; /* process */
};

static void row_add(const struct variance *v, struct rows *rows, size_t n)
{
	const struct fragment_process *first = &v->fragments.processes[rows->of[rows->n_of]];
	struct row row = { .first = rows->n_of, .n = n };

	for (size_t i = row.first; i < row.first + n; i++)
		row.time_s += v->fragments.processes[rows->of[i]].thread_s;
	rows->n_of += n;
	row.name = n == 1 ? mem_string(first->name) : mem_format("%zu of %s", n, first->program);
	mem_append(rows->items, rows->n, &rows->capacity, row);
}

static void row_add_one(const struct variance *v, struct rows *rows, size_t process)
{
	rows->of[rows->n_of] = process;
	row_add(v, rows, 1);
}

ORDER_POINTERS_BY(briefs_order, struct fragment_process, BY_UP(run) BY_TEXT(program) BY_PLACE)

ORDER_BY(rows_order, struct row, BY_DOWN(time_s) BY_UP(first))

static bool is_brief(const struct variance *v, const struct fragment_process *p)
{
	return p->rank < 0 && *p->program && p->end_s - p->start_s < BRIEF * v->fragments.span_s;
}

static bool same_program(const struct fragment_process *a, const struct fragment_process *b)
{
	return a->run == b->run && strcmp(a->program, b->program) == 0;
}

/* Long-lived processes first, then the others by program, those first that took most time. */
static void rows_group(const struct variance *v, struct rows *rows)
{
	const struct fragment_process *processes = v->fragments.processes;
	const struct fragment_process **briefs = mem_new(v->fragments.n_processes, sizeof(*briefs));
	size_t n = 0, first;

	for (size_t p = 0; p < v->fragments.n_processes; p++)
		if (is_brief(v, &processes[p]))
			briefs[n++] = &processes[p];
		else
			row_add_one(v, rows, p);
	first = rows->n;
	order_sort(briefs, n, briefs_order);
	for (size_t i = 0, k; i < n; i += k) {
		for (k = 0; i + k < n && same_program(briefs[i], briefs[i + k]); k++)
			rows->of[rows->n_of + k] = (size_t)(briefs[i + k] - processes);
		row_add(v, rows, k);
	}
	order_sort(rows->items + first, rows->n - first, rows_order);
	free(briefs);
}

/* Joins rows[n]. */
static void row_join(struct row *to, const struct row *rows, size_t n)
{
	size_t processes = rows[0].n;
	char *name = rows[0].name;

	for (size_t i = 1; i < n; i++) {
		processes += rows[i].n;
		free(rows[i].name);
	}
	*to = (struct row){ rows[0].first, processes, 0, n > 1 ? mem_format("%s and %zu more", name, processes - rows[0].n) : name };
	if (n > 1)
		free(name);
}

/* Joins neighbouring ranks; of other processes, those that took least time. */
static void rows_limit(const struct variance *v, struct rows *rows, size_t most)
{
	size_t each = (rows->n + most - 1) / most, n = 0, *of = mem_new(rows->n_of, sizeof(*of)), n_of = 0;
	bool ranks = v->fragments.processes[0].rank >= 0 || v->fragments.processes[v->fragments.n_processes - 1].rank >= 0;

	if (!ranks)
		order_sort(rows->items, rows->n, rows_order);
	for (size_t r = 0; r < rows->n; r++) { /* rows that are joined must be adjacent in `of` */
		memcpy(of + n_of, rows->of + rows->items[r].first, rows->items[r].n * sizeof(*of));
		rows->items[r].first = n_of;
		n_of += rows->items[r].n;
	}
	free(rows->of);
	rows->of = of;
	for (size_t r = 0, k; r < rows->n; r += k) {
		k = ranks ? each : n + 1 < most ? 1 : rows->n - r;
		k = k < rows->n - r ? k : rows->n - r;
		row_join(&rows->items[n++], &rows->items[r], k);
	}
	rows->n = n;
}

static void rows_make(const struct variance *v, size_t most, struct rows *out)
{
	size_t n = v->fragments.n_processes;

	*out = (struct rows){ .of = mem_new(n, sizeof(*out->of)) };
	if (n > TEXT_ROWS)
		rows_group(v, out);
	else
		for (size_t p = 0; p < n; p++)
			row_add_one(v, out, p);
	if (out->n > most)
		rows_limit(v, out, most);
}

static void rows_release(struct rows *rows)
{
	for (size_t r = 0; r < rows->n; r++)
		free(rows->items[r].name);
	mem_free(rows->items, rows->of);
}

/* ---- cells ---- */

/* Times as long as usual in the slowest of a row's processes, over some columns; NaN: none did such work there. */
static double slowest(const struct heat_map *map, const struct rows *rows, size_t row, size_t column, size_t columns)
{
	const struct row *r = &rows->items[row];
	double most = (double)NAN;

	for (size_t i = r->first; i < r->first + r->n; i++) {
		double time = 0, expected = 0;

		for (size_t c = column; c < column + columns && c < map->time.cols; c++) {
			time += mat_get(&map->time, rows->of[i], c);
			expected += mat_get(&map->expected, rows->of[i], c);
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

/* All cells of one class, as the data of a path. */
static void class_path(const struct heat_map *map, const struct rows *rows, size_t class, struct buf *path)
{
	for (size_t row = 0; row < rows->n; row++)
		for (size_t c = 0, n; c < map->time.cols; c += n ? n : 1) {
			for (n = 0; c + n < map->time.cols; n++) {
				double times = slowest(map, rows, row, c + n, 1);

				if (isnan(times) || class_of(times) != class)
					break;
			}
			if (n)
				buf_format(path, "M%zu %zuh%zuv1h-%zuz", c, row, n, n);
		}
}

static void map_svg(const struct variance *v, const struct heat_map *map, const struct rows *rows, struct buf *svg)
{
	unsigned height = (unsigned)fmin(fmax(24.0 * (double)rows->n, 48), 480);

	buf_text(svg, "<div class=\"map\">");
	if (rows->n <= NAMED_ROWS) {
		buf_text(svg, "<ol aria-hidden=\"true\">");
		for (size_t r = 0; r < rows->n; r++)
			html_format(svg, "<li>%s</li>", rows->items[r].name);
		buf_text(svg, "</ol>");
	}
	buf_format(svg,
		   "<svg class=\"zoom\" tabindex=\"0\" role=\"img\" aria-label=\"Map of processes and time\" width=\"100%%\" height=\"%u\" "
		   "viewBox=\"0 0 %zu %zu\" preserveAspectRatio=\"none\" data-column=\"%.9g\">",
		   height, v->columns, rows->n, v->column_s);
	for (size_t k = 0; k < CLASSES; k++) {
		struct buf path = BUF_INIT;

		class_path(map, rows, k, &path);
		if (path.size)
			buf_format(svg, "<path class=\"m%zu\" d=\"%s\"/>", k, path.bytes);
		buf_release(&path);
	}
	buf_text(svg, "</svg></div>");
}

static const char shades[CLASSES] = { '.', '-', '+', '*', '#', '@' };

static size_t text_columns(const struct variance *v)
{
	return (v->columns + TEXT_COLUMNS - 1) / TEXT_COLUMNS;
}

/* What the characters of the text mean. */
static void legend_add(const struct variance *v, struct buf *text)
{
	buf_format(text, "\n  a character is %.3g s; times as long as usual: %c below %.3g", (double)text_columns(v) * v->column_s,
		   shades[0], borders[0]);
	for (size_t k = 1; k < CLASSES; k++)
		buf_format(text, ", %c %.3g", shades[k], borders[k - 1]);
	buf_text(text, " or more");
}

/* A line for each row; free() it. */
static char *map_text(const struct variance *v, const struct heat_map *map, const struct rows *rows, bool legend)
{
	size_t columns = text_columns(v);
	struct buf text = BUF_INIT;

	for (size_t row = 0; row < rows->n; row++) {
		buf_text(&text, row ? "\n  " : "");
		for (size_t c = 0; c < v->columns; c += columns) {
			double times = slowest(map, rows, row, c, columns);

			buf_char(&text, isnan(times) ? ' ' : shades[class_of(times)]);
		}
		buf_format(&text, "  %s", rows->items[row].name);
	}
	if (legend)
		legend_add(v, &text);
	return buf_take(&text);
}

void variance_maps(const struct variance *v, struct document *d)
{
	struct rows picture, lines;
	bool begun = false;

	rows_make(v, PICTURE_ROWS, &picture);
	rows_make(v, TEXT_ROWS, &lines);
	for (size_t m = 0; m < ACTIVITY_MAPS; m++) {
		const char *name = activity_text((enum activity)m);
		struct buf svg = BUF_INIT;
		char *text;

		if (!(v->maps[m].repeated_s > 0))
			continue;
		if (!begun)
			doc_section(d, "maps", "Maps", "Processes and time",
				    "Each row is a process (or the slowest of several), and time goes from left to right. Pale cells took "
				    "as long as usual, dark ones longer. The wheel or + and - zoom, arrows move, 0 shows all.");
		map_svg(v, &v->maps[m], &picture, &svg);
		text = map_text(v, &v->maps[m], &lines, !begun);
		begun = true;
		doc_subheading(d, "%c%s", name[0] - 'a' + 'A', name + 1);
		doc_picture(d, "", &svg, DOC_MARK("vh") "%s" DOC_END, text);
		free(text);
	}
	rows_release(&picture);
	rows_release(&lines);
}
