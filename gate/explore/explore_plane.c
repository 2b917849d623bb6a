/* The machines in the plane of the first two components: a mark a machine in the colour and shape of its hardware type, and the
 * number of the type beside it. */
#include "base/mem.h"
#include "base/text.h"
#include "gate/explore/explore_sections.h"
#include "gate/page/html.h"
#include "gate/page/svg.h"

#include <float.h>
#include <math.h>

#define COLOURS	 12
#define HEIGHT	 420.0 /* pixels */
#define WIDTH	 900.0 /* for which numbers are placed; narrower charts may have some that touch */
#define FLATTEST .1    /* the second axis reaches so far up and down, of the first: what is next to nothing is not blown up */
#define NEAR	 20.0  /* a number this near to one of its own type says nothing new */

static const char *const shapes[] = { "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0", "M-4.5-4.5h9v9h-9z", "M0-6.5L6.5 0L0 6.5L-6.5 0z",
				      "M0-6L5.6 4.6H-5.6z" };
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

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

static void take_points(struct plane *plane)
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

static void number_types(struct plane *plane)
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

static bool is_free(const struct plane *plane, size_t i, size_t place)
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
static void place_numbers(struct plane *plane)
{
	const struct explore *e = plane->e;
	bool *has = mem_new(e->n_types, sizeof(*has));

	for (size_t i = 0; i < e->n; i++) {
		size_t place = 0;

		while (place < PLACES && !is_free(plane, i, place))
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

static void mark(const struct plane *plane, size_t i, struct buf *out)
{
	const struct explore *e = plane->e;
	const struct point *p = &plane->points[i];
	size_t k = plane->number[e->type[i]] - 1;

	html_format(
	    out, "<svg class=\"t%zu\" x=\"%.2f%%\" y=\"%.2f%%\"><path class=\"bar\" d=\"%s\"><title>%s: %s</title></path></svg>",
	    k % COLOURS, p->x, p->y, shapes[k / COLOURS % SHAPES], e->fingerprints[i]->machine, e->types[e->type[i]]);
}

static void number(const struct plane *plane, size_t i, struct buf *out)
{
	const struct point *p = &plane->points[i];

	if (p->place < PLACES)
		html_format(out, "<text class=\"tick of\" x=\"%.2f%%\" y=\"%.2f%%\" dx=\"%.0f\" dy=\"%.0f\">%zu</text>", p->x,
			    p->y, places[p->place].dx, places[p->place].dy, plane->number[plane->e->type[i]]);
}

static void rows_of_grid(const struct svg_axis *axis, struct buf *out)
{
	for (size_t i = 0; i < axis->n_ticks; i++) {
		double y = 100 - svg_x(axis, axis->ticks[i]);

		html_format(
		    out,
		    "<line class=\"%s\" x1=\"0\" x2=\"100%%\" y1=\"%.2f%%\" y2=\"%.2f%%\"/><text class=\"tick left\" x=\"1\" "
		    "y=\"%.2f%%\" dy=\"-3\">%s%.6g</text>",
		    axis->ticks[i] == 0 ? "one" : "grid", y, y, y, axis->ticks[i] < 0 ? "\u2212" : "", fabs(axis->ticks[i]));
	}
}

static void chart(const struct plane *plane, struct buf *out)
{
	const struct explore *e = plane->e;
	double total = 0;

	for (size_t k = 0; k < e->pca.n; k++)
		total += e->pca.eigenvalue[k];
	html_format(
	    out,
	    "<h3>The machines in the plane of the first two</h3><figure><svg class=\"plane\" width=\"100%%\" height=\"%.0f\" "
	    "role=\"img\" aria-label=\"%zu machine%s by their first two components; the table below has the numbers\">",
	    HEIGHT, e->n, text_plural(e->n));
	svg_grid(&plane->axes[0], out);
	rows_of_grid(&plane->axes[1], out);
	for (size_t i = 0; i < e->n; i++)
		mark(plane, i, out);
	for (size_t i = 0; i < e->n; i++)
		number(plane, i, out);
	buf_text(out, "</svg><svg width=\"100%\" height=\"18\" aria-hidden=\"true\">");
	svg_labels(&plane->axes[0], 13, out);
	html_format(out, "</svg><figcaption>To the right: component 1, %.0f&nbsp;%% of the variance. ",
		    100 * e->pca.eigenvalue[0] / total);
	if (e->pca.n > 1)
		html_format(out, "Upwards: component 2, %.0f&nbsp;%%. ", 100 * e->pca.eigenvalue[1] / total);
	else
		buf_text(out, "There is no second one. ");
	buf_text(out, "Numbers are hardware types.</figcaption></figure>");
}

/* ---- what the numbers mean ---- */

static void cell_machines(const struct explore *e, size_t type, struct buf *out)
{
	size_t n = 0;

	buf_text(out, "<td role=\"cell\" class=\"names-of\">");
	for (size_t i = 0; i < e->n; i++) {
		if (e->type[i] != type)
			continue;
		buf_text(out, n++ ? ", " : "");
		html_name(out, e->fingerprints[i]->machine);
	}
	buf_text(out, "</td>");
}

static void key_row(const struct plane *plane, size_t type, struct buf *out)
{
	size_t k = plane->number[type] - 1;

	html_format(out,
		    "<tr role=\"row\"><td role=\"cell\" class=\"num\">%zu</td><th role=\"rowheader\" scope=\"row\" "
		    "class=\"t%zu\"><svg class=\"key\" width=\"14\" height=\"14\" "
		    "viewBox=\"-7 -7 14 14\" aria-hidden=\"true\"><path class=\"bar\" d=\"%s\"/></svg>",
		    k + 1, k % COLOURS, shapes[k / COLOURS % SHAPES]);
	html_name(out, plane->e->types[type]);
	html_format(out, "</th><td role=\"cell\" class=\"num\">%+.2f</td><td role=\"cell\" class=\"num\">%+.2f</td>",
		    plane->mean[2 * type], plane->mean[2 * type + 1]);
	cell_machines(plane->e, type, out);
	buf_text(out, "</tr>\n");
}

static void key(const struct plane *plane, struct buf *out)
{
	buf_text(
	    out,
	    "<table class=\"sortable key-table\" role=\"table\"><thead role=\"rowgroup\"><tr role=\"row\"><th "
	    "role=\"columnheader\" scope=\"col\" class=\"num\">No.</th><th role=\"columnheader\" scope=\"col\">Hardware "
	    "type</th><th role=\"columnheader\" scope=\"col\" class=\"num\">Comp. 1</th><th role=\"columnheader\" scope=\"col\" "
	    "class=\"num\">Comp. 2</th><th role=\"columnheader\" scope=\"col\" "
	    "class=\"names-of\">Machines</th></tr></thead><tbody role=\"rowgroup\">\n");
	for (size_t k = 0; k < plane->e->n_types; k++)
		key_row(plane, plane->order[k], out);
	buf_text(out, "</tbody></table>");
}

void explore_plane(const struct explore *e, struct buf *out)
{
	struct plane plane = { .e = e,
			       .points = mem_new(e->n, sizeof(*plane.points)),
			       .number = mem_new(e->n_types, sizeof(size_t)),
			       .order = mem_new(e->n_types, sizeof(size_t)),
			       .mean = mem_new(2 * e->n_types, sizeof(double)) };

	take_points(&plane);
	number_types(&plane);
	place_numbers(&plane);
	chart(&plane, out);
	key(&plane, out);
	free(plane.points);
	free(plane.number);
	free(plane.order);
	free(plane.mean);
}
