/* In how many things the machines differ: principal components, and the machines in the plane of the first two, a mark for each machine in
 * the colour and shape of its hardware type and the number of the type beside it. */
#include "base/mem.h"
#include "base/text.h"
#include "gate/explore/explore.h"
#include "gate/page/html.h"
#include "gate/page/svg.h"

#include <float.h>
#include <math.h>

#define SHOWN	  10  /* components at most */
#define ENOUGH	  .95 /* of the variance: what comes after is not shown */
#define STRONGEST 4   /* stressors that are named */

#define COLOURS	 12
#define HEIGHT	 420.0 /* pixels */
#define WIDTH	 900.0 /* for which numbers are placed; narrower charts may have some that touch */
#define FLATTEST .1    /* the second axis reaches so far up and down, of the first: what is next to nothing is not blown up */
#define NEAR	 20.0  /* a number this near to one of its own type says nothing new */

static const char *const marks[] = { "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0", "M-4.5-4.5h9v9h-9z", "M0-6.5L6.5 0L0 6.5L-6.5 0z",
				     "M0-6L5.6 4.6H-5.6z" };
#define SHAPES (sizeof(marks) / sizeof(marks[0]))

/* Where a number may stand beside its mark, in pixels; the baseline of its middle. */
static const struct {
	double dx, dy;
} places[] = { { 13, 4 }, { -13, 4 }, { 0, -9 }, { 0, 18 }, { 12, -7 }, { -12, -7 }, { 12, 15 }, { -12, 15 } };
#define PLACES (sizeof(places) / sizeof(places[0]))

struct point {
	double score[2];
	double x, y;  /* per cent of the chart */
	size_t place; /* of its number; PLACES: it has none */
};

struct plane {
	const struct explore *e;
	struct svg_axis axes[2];
	struct point *points; /* [e->n] */
	size_t *number;	      /* [types] by the first component, from 1 */
	size_t *order;	      /* [types] the other way round */
	double *mean;	      /* [types x 2] */
};

static void plane_points(struct plane *plane)
{
	const struct explore *e = plane->e;
	double low[2] = { DBL_MAX, DBL_MAX }, high[2] = { -DBL_MAX, -DBL_MAX };

	for (size_t i = 0; i < e->n; i++) {
		for (size_t c = 0; c < 2; c++) {
			double score = c < e->pca.n ? pca_score(&e->pca, c, &e->features.logs.at[i * e->features.n]) : 0;

			plane->points[i].score[c] = score;
			low[c] = fmin(low[c], score);
			high[c] = fmax(high[c], score);
		}
	}
	low[1] = fmin(low[1], -FLATTEST * (high[0] - low[0]));
	high[1] = fmax(high[1], FLATTEST * (high[0] - low[0]));
	for (int c = 0; c < 2; c++)
		plane->axes[c] = svg_linear_axis(low[c], high[c]);
	for (size_t i = 0; i < e->n; i++) {
		plane->points[i].x = svg_x(&plane->axes[0], plane->points[i].score[0]);
		plane->points[i].y = 100 - svg_x(&plane->axes[1], plane->points[i].score[1]);
	}
}

static void plane_number_types(struct plane *plane)
{
	const struct explore *e = plane->e;

	for (size_t t = 0; t < e->n_types; t++) {
		size_t n = 0, at = t;

		for (size_t i = 0; i < e->n; i++) {
			if (e->type[i] != t)
				continue;
			n++;
			for (size_t c = 0; c < 2; c++)
				plane->mean[2 * t + c] += plane->points[i].score[c];
		}
		for (size_t c = 0; c < 2; c++)
			plane->mean[2 * t + c] /= (double)n;
		for (; at > 0 && plane->mean[2 * plane->order[at - 1]] > plane->mean[2 * t]; at--)
			plane->order[at] = plane->order[at - 1];
		plane->order[at] = t;
	}
	for (size_t k = 0; k < e->n_types; k++)
		plane->number[plane->order[k]] = k + 1;
}

/* ---- numbers ---- */

static double label_x(const struct point *p, size_t place)
{
	return p->x / 100 * WIDTH + places[place].dx;
}

static double label_y(const struct point *p, size_t place)
{
	return p->y / 100 * HEIGHT + places[place].dy - 4;
}

static bool has_number_near(const struct plane *plane, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		const struct point *a = &plane->points[i], *b = &plane->points[k];

		if (plane->e->type[k] == plane->e->type[i] && b->place < PLACES &&
		    hypot((a->x - b->x) / 100 * WIDTH, (a->y - b->y) / 100 * HEIGHT) < NEAR)
			return true;
	}
	return false;
}

static bool label_is_free(const struct plane *plane, size_t i, size_t place)
{
	double x = label_x(&plane->points[i], place), y = label_y(&plane->points[i], place);

	for (size_t k = 0; k < plane->e->n; k++) {
		const struct point *p = &plane->points[k];

		if (k != i && fabs(p->x / 100 * WIDTH - x) < 13 && fabs(p->y / 100 * HEIGHT - y) < 11)
			return false;
		if (k < i && p->place < PLACES && fabs(label_x(p, p->place) - x) < 17 && fabs(label_y(p, p->place) - y) < 13)
			return false;
	}
	return true;
}

/* One after the other, at the first place where nothing stands; where there is none, the machine's mark has no number, unless it
 * is the first of its type. */
static void plane_place_numbers(struct plane *plane)
{
	const struct explore *e = plane->e;
	bool *has = mem_new(e->n_types, sizeof(*has));

	for (size_t i = 0; i < e->n; i++) {
		size_t place = 0;

		while (place < PLACES && !label_is_free(plane, i, place))
			place++;
		if (has_number_near(plane, i))
			place = PLACES;
		else if (place == PLACES && !has[e->type[i]])
			place = 0;
		plane->points[i].place = place;
		has[e->type[i]] = has[e->type[i]] || place < PLACES;
	}
	free(has);
}

/* ---- the chart ---- */

static void plane_mark(const struct plane *plane, size_t i, struct buf *out)
{
	const struct explore *e = plane->e;
	const struct point *p = &plane->points[i];
	size_t k = plane->number[e->type[i]] - 1;

	html_format(out, "<svg class=\"t%zu\" x=\"%.2f%%\" y=\"%.2f%%\"><path class=\"bar\" d=\"%s\"><title>%s: %s</title></path></svg>",
		    k % COLOURS, p->x, p->y, marks[k / COLOURS % SHAPES], e->fingerprints[i]->machine, e->types[e->type[i]]);
}

static void plane_number(const struct plane *plane, size_t i, struct buf *out)
{
	const struct point *p = &plane->points[i];

	if (p->place < PLACES)
		html_format(out, "<text class=\"tick of\" x=\"%.2f%%\" y=\"%.2f%%\" dx=\"%.0f\" dy=\"%.0f\">%zu</text>", p->x, p->y,
			    places[p->place].dx, places[p->place].dy, plane->number[plane->e->type[i]]);
}

static void plane_grid(const struct svg_axis *axis, struct buf *out)
{
	for (size_t i = 0; i < axis->n_ticks; i++) {
		double y = 100 - svg_x(axis, axis->ticks[i]);

		html_format(out,
			    "<line class=\"%s\" x1=\"0\" x2=\"100%%\" y1=\"%.2f%%\" y2=\"%.2f%%\"/><text class=\"tick left\" x=\"1\" "
			    "y=\"%.2f%%\" dy=\"-3\">%s%.6g</text>",
			    axis->ticks[i] == 0 ? "one" : "grid", y, y, y, axis->ticks[i] < 0 ? "\u2212" : "", fabs(axis->ticks[i]));
	}
}

static double total_variance(const struct explore *e)
{
	double total = 0;

	for (size_t k = 0; k < e->pca.n; k++)
		total += e->pca.eigenvalue[k];
	return total;
}

static void plane_chart(const struct plane *plane, struct document *d)
{
	const struct explore *e = plane->e;
	double total = total_variance(e);
	struct buf svg = BUF_INIT, caption = BUF_INIT;

	html_format(&svg,
		    "<svg class=\"plane\" width=\"100%%\" height=\"%.0f\" role=\"img\" aria-label=\"%zu machine%s by their first two "
		    "components; the table below has the numbers\">",
		    HEIGHT, e->n, text_plural(e->n));
	svg_grid(&plane->axes[0], &svg);
	plane_grid(&plane->axes[1], &svg);
	for (size_t i = 0; i < e->n; i++)
		plane_mark(plane, i, &svg);
	for (size_t i = 0; i < e->n; i++)
		plane_number(plane, i, &svg);
	svg_close(&svg);
	svg_scale(&plane->axes[0], &svg);
	buf_format(&caption, "To the right: component 1, %.0f\u00a0%% of the variance. ", 100 * e->pca.eigenvalue[0] / total);
	if (e->pca.n > 1)
		buf_format(&caption, "Upwards: component 2, %.0f\u00a0%%. ", 100 * e->pca.eigenvalue[1] / total);
	else
		buf_text(&caption, "There is no second one. ");
	doc_picture(d, NULL, &svg, "%sNumbers are hardware types.", caption.bytes);
	buf_release(&caption);
}

/* What the numbers mean. */
static void plane_key(const struct plane *plane, size_t type, struct document *d)
{
	const struct explore *e = plane->e;
	size_t k = plane->number[type] - 1;
	const double *mean = &plane->mean[2 * type];
	struct buf names = BUF_INIT, svg = BUF_INIT;

	for (size_t i = 0; i < e->n; i++) {
		if (e->type[i] == type)
			buf_format(&names, "%s" DOC_NAME "%s" DOC_END, names.size ? ", " : "", e->fingerprints[i]->machine);
	}
	html_format(&svg,
		    "<svg class=\"key\" width=\"14\" height=\"14\" viewBox=\"-7 -7 14 14\" aria-hidden=\"true\"><path class=\"bar\" "
		    "d=\"%s\"/></svg>",
		    marks[k / COLOURS % SHAPES]);
	doc_row(d);
	doc_show(d, NULL, "No.", k + 1);
	doc_picture(d, "Hardware type", &svg, DOC_NAME "%s" DOC_END, e->types[type]);
	doc_style(d, "t%zu", k % COLOURS);
	doc_showf(d, NULL, "Comp. 1", mean[0], "%s", page_signed(mean[0], 2).text);
	doc_showf(d, NULL, "Comp. 2", mean[1], "%s", page_signed(mean[1], 2).text);
	doc_showf(d, NULL, "Machines", "", "%s", names.bytes);
	doc_style(d, "names-of");
	buf_release(&names);
}

static void add_plane(const struct explore *e, struct document *d)
{
	struct plane plane = { .e = e,
			       .points = mem_new(e->n, sizeof(*plane.points)),
			       .number = mem_new(e->n_types, sizeof(size_t)),
			       .order = mem_new(e->n_types, sizeof(size_t)),
			       .mean = mem_new(2 * e->n_types, sizeof(double)) };

	plane_points(&plane);
	plane_number_types(&plane);
	plane_place_numbers(&plane);
	doc_subheading(d, "The machines in the plane of the first two");
	plane_chart(&plane, d);
	doc_table(d, NULL);
	doc_style(d, "sortable key-table");
	doc_column(d, "Hardware type", "");
	for (size_t k = 0; k < e->n_types; k++)
		plane_key(&plane, plane.order[k], d);
	doc_end(d);
	mem_free(plane.points, plane.number, plane.order, plane.mean);
}

/* ---- the components ---- */

/* The stressors with the largest loadings, with their signs. free() it. */
static char *loadings_text(const struct explore *e, size_t component)
{
	const double *loading = &e->pca.loading.at[component * e->pca.loading.cols];
	bool *named = mem_new(e->features.n, sizeof(*named));
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < STRONGEST && i < e->features.n; i++) {
		size_t best = SIZE_MAX;

		for (size_t k = 0; k < e->features.n; k++) {
			if (!named[k] && (best == SIZE_MAX || fabs(loading[k]) > fabs(loading[best]) + 1e-9))
				best = k;
		}
		named[best] = true;
		buf_format(&out, "%s" DOC_MARK("nb") "%s%s" DOC_END, i ? " " : "", loading[best] < 0 ? "\u2212" : "+",
			   e->stressors[e->features.first[best]].name);
	}
	free(named);
	return buf_take(&out);
}

static void component_row(const struct explore *e, size_t component, double share, double sum, struct document *d)
{
	char *loadings = loadings_text(e, component);
	struct buf svg = BUF_INIT;

	doc_row(d);
	doc_showf(d, NULL, "No.", "", "%zu", component + 1);
	doc_showf(d, NULL, "Variance", share, "%.1f\u00a0%%", 100 * share);
	svg_open(20, &svg);
	svg_bar("rest", NULL, 0, 100 * (sum - share), 3, 14, &svg);
	svg_bar("part", NULL, 100 * (sum - share), 100 * sum, 3, 14, &svg);
	svg_close(&svg);
	doc_picture(d, "Chart", &svg, NULL);
	doc_showf(d, NULL, "Sum", sum, "%.1f\u00a0%%", 100 * sum);
	doc_showf(d, NULL, "Loads most on", loadings, "%s", loadings);
	doc_style(d, "loads");
	free(loadings);
}

static void add_components(const struct explore *e, struct document *d)
{
	double total = total_variance(e), sum = 0;
	size_t shown = 0;

	doc_table(d, NULL);
	doc_style(d, "comps");
	for (; shown < e->pca.n && shown < SHOWN && (shown < 2 || sum < ENOUGH); shown++) {
		double share = e->pca.eigenvalue[shown] / total;

		sum += share;
		component_row(e, shown, share, sum, d);
	}
	doc_end(d);
	if (shown < e->pca.n)
		doc_styled(d, "muted", "The other %zu of %zu hold %.1f\u00a0%% together.", e->pca.n - shown, e->pca.n, 100 * (1 - sum));
}

void explore_components(struct document *d, const struct explore *e)
{
	doc_section(d, "components", "Components", "In how many things the machines differ",
		    "Principal components of the logarithms of the rates, standardised over the hardware types: directions in which the "
		    "machines differ, each independent of the others. The effective rank is how many there would be if all held the same "
		    "variance; a profile can hardly tell more resources apart than that.");
	if (e->pca.n) {
		doc_styled(d, "finding", "Effective rank " DOC_STRONG "%.1f" DOC_END ", from %zu stressors over %zu hardware types.",
			   e->features.effective_rank, e->features.n, e->n_types);
		add_components(e, d);
		add_plane(e, d);
	} else
		doc_styled(d, "empty", "This needs at least two hardware types that differ in a stressor measured on every machine.");
}
