/* How much every stressor varies over the hardware types, and how well it repeats on one machine. */
#include "base/mem.h"
#include "base/stats.h"
#include "gate/explore/explore_sections.h"
#include "gate/page/html.h"
#include "gate/page/svg.h"

#include <math.h>

#define SHOWN 60 /* stressors; the rest is folded */

/* "12 %", "0.3 %", "-" for NaN. */
static void add_percent(double share, struct buf *out)
{
	if (isnan(share))
		buf_text(out, "&ndash;");
	else if (share < .0995)
		html_format(out, "%.1f&nbsp;%%", 100 * share);
	else
		html_format(out, "%.0f&nbsp;%%", 100 * share);
}

/* Most variable first; what has no number comes last. */
static int compare(const void *a, const void *b)
{
	const struct explore_stressor *x = *(const struct explore_stressor *const *)a,
				      *y = *(const struct explore_stressor *const *)b;
	double xv = isnan(x->cv) ? -1 : x->cv, yv = isnan(y->cv) ? -1 : y->cv;

	if (xv != yv)
		return xv > yv ? -1 : 1;
	return strcmp(x->name, y->name);
}

static struct svg_axis axis_of(const struct explore *e)
{
	double low = 1, high = 1;

	for (size_t j = 0; j < e->n_stressors; j++) {
		for (size_t t = 0; t < e->n_types; t++) {
			double ratio = e->stressors[j].type_rate[t] / e->stressors[j].middle;

			if (isnan(ratio))
				continue;
			low = fmin(low, ratio);
			high = fmax(high, ratio);
		}
	}
	return svg_ratio_axis(low, high);
}

/* A dot a type, and the middle half of them as a bar. */
static void cell_plot(const struct explore *e, const struct explore_stressor *s, const struct svg_axis *axis, struct buf *out)
{
	double *ratios = mem_new(e->n_types, sizeof(*ratios));
	size_t n = 0;

	for (size_t t = 0; t < e->n_types; t++) {
		if (!isnan(s->type_rate[t]))
			ratios[n++] = s->type_rate[t] / s->middle;
	}
	buf_text(out, "<td role=\"cell\" class=\"plot\"><svg width=\"100%\" height=\"100%\" aria-hidden=\"true\">");
	svg_grid(axis, out);
	if (n > 3)
		html_format(out, "<line class=\"box c-%s\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"50%%\" y2=\"50%%\"/>",
			    category_name(stressor_category(s->name)), svg_x(axis, stats_quantile(ratios, n, .25)),
			    svg_x(axis, stats_quantile(ratios, n, .75)));
	for (size_t i = 0; i < n; i++)
		html_format(out, "<circle class=\"dot\" cx=\"%.2f%%\" cy=\"50%%\" r=\"3\"/>", svg_x(axis, ratios[i]));
	buf_text(out, "</svg></td>");
	free(ratios);
}

static void cell_percent(double share, struct buf *out)
{
	if (isnan(share))
		buf_text(out, "<td role=\"cell\" class=\"num\">");
	else
		html_format(out, "<td role=\"cell\" class=\"num\" data-v=\"%.6g\">", share);
	add_percent(share, out);
	buf_text(out, "</td>");
}

static void row(const struct explore *e, const struct explore_stressor *s, const struct svg_axis *axis, struct buf *out)
{
	html_format(out, "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">%s</th><td role=\"cell\" class=\"cc\">", s->name);
	page_category(stressor_category(s->name), out);
	buf_text(out, "</td>");
	cell_plot(e, s, axis, out);
	cell_percent(s->cv, out);
	cell_percent(s->within, out);
	buf_text(out, "</tr>\n");
}

static void table(const struct explore *e, const struct explore_stressor *const *sorted, size_t n, const struct svg_axis *axis,
		  struct buf *out)
{
	buf_text(
	    out,
	    "<table class=\"sortable vary\" role=\"table\"><thead role=\"rowgroup\"><tr role=\"row\"><th role=\"columnheader\" "
	    "scope=\"col\">Stressor</th><th role=\"columnheader\" scope=\"col\" class=\"cc\">Category</th><th "
	    "role=\"columnheader\" scope=\"col\" class=\"plot\"><span class=\"vh\">Rate over its median</span><svg "
	    "width=\"100%\" height=\"18\" aria-hidden=\"true\">");
	svg_labels(axis, 13, out);
	buf_text(out, "</svg></th><th role=\"columnheader\" scope=\"col\" class=\"num\">Over types</th><th role=\"columnheader\" "
		      "scope=\"col\" class=\"num\">Repeated</th></tr></thead><tbody role=\"rowgroup\">\n");
	for (size_t i = 0; i < n; i++)
		row(e, sorted[i], axis, out);
	buf_text(out, "</tbody></table>");
}

static void tables(const struct explore *e, struct buf *out)
{
	const struct explore_stressor **sorted = mem_new(e->n_stressors, sizeof(*sorted));
	size_t shown = e->n_stressors < SHOWN ? e->n_stressors : SHOWN;
	struct svg_axis axis = axis_of(e);

	for (size_t j = 0; j < e->n_stressors; j++)
		sorted[j] = &e->stressors[j];
	qsort(sorted, e->n_stressors, sizeof(*sorted), compare);
	table(e, sorted, shown, &axis, out);
	if (e->n_stressors > shown) {
		html_format(out, "<details><summary>%zu more</summary>", e->n_stressors - shown);
		table(e, sorted + shown, e->n_stressors - shown, &axis, out);
		buf_text(out, "</details>");
	}
	free(sorted);
}

void explore_variability(const struct explore *e, struct buf *out)
{
	page_section(
	    out, "variability", "How much every stressor varies",
	    "Each dot is a hardware type: its rate as a multiple of the stressor's median, on a logarithmic scale; the bar holds "
	    "the middle half of them. The numbers are coefficients of variation: over the types, and over the repetitions on one "
	    "machine. Where the first is not far above the second, the stressor tells machines apart by noise.");
	if (e->n_types == 1)
		buf_text(out, "<p class=\"note\">There is one hardware type: nothing can vary over one.</p>");
	if (e->n_stressors)
		tables(e, out);
	else
		buf_text(
		    out,
		    "<p class=\"empty\">No machine of this catalog has a fingerprint with a rate in it. <code>assay fingerprint "
		    "run</code> takes them.</p>");
	buf_text(out, "</section>\n");
}
