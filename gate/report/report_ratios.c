/* The ratio on each machine, grouped by hardware type: types count once each. */
#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "gate/page/html.h"
#include "gate/report/report_sections.h"
#include "gate/page/svg.h"

#include <math.h>

/* A machine that was compared, with the interval that its own repetitions give. */
struct ratio_row {
	const struct pairing_machine *machine;
	const char *type;
	double ratio, low, high; /* low and high NaN where the noise is not known */
	double type_mean;	 /* of log ratios, over the machines of its type */
	size_t type_machines;
};

static struct ratio_row row_of(const struct pairing *p, const struct pairing_machine *m)
{
	struct ratio_row row = { m, p->types[m->type], exp(m->log_ratio), (double)NAN, (double)NAN, 0, 0 };

	if (m->noise > 0 && m->noise_df > 0) {
		double half = stats_t_quantile((1 + EFFECT_LEVEL) / 2, m->noise_df) * m->noise;

		row.low = exp(m->log_ratio - half);
		row.high = exp(m->log_ratio + half);
	}
	for (size_t i = 0; i < p->n; i++) {
		if (p->machines[i].reason == PAIRING_USED && p->machines[i].type == m->type) {
			row.type_mean += p->machines[i].log_ratio;
			row.type_machines++;
		}
	}
	row.type_mean /= (double)row.type_machines;
	return row;
}

/* Worst type first, and in it the worst machine. */
static int compare_rows(const void *a, const void *b)
{
	const struct ratio_row *x = a, *y = b;

	if (x->type_mean != y->type_mean)
		return x->type_mean > y->type_mean ? -1 : 1;
	if (x->machine->type != y->machine->type)
		return strcmp(x->type, y->type);
	if (x->ratio != y->ratio)
		return x->ratio > y->ratio ? -1 : 1;
	return strcmp(x->machine->machine, y->machine->machine);
}

static struct svg_axis axis_of(const struct verdict *v, const struct ratio_row *rows, size_t n)
{
	double low = v->effect.ratio, high = v->effect.ratio;

	for (size_t i = 0; i < n; i++) {
		low = fmin(low, isnan(rows[i].low) ? rows[i].ratio : rows[i].low);
		high = fmax(high, isnan(rows[i].high) ? rows[i].ratio : rows[i].high);
	}
	if (isfinite(v->effect.low) && isfinite(v->effect.high)) {
		low = fmin(low, v->effect.low);
		high = fmax(high, v->effect.high);
	}
	return svg_ratio_axis(low, high);
}

/* ---- cells ---- */

static void cell_ratio(double ratio, int decimals, struct buf *out)
{
	char *text = report_number(ratio, decimals);

	html_format(out, "<td role=\"cell\" class=\"num ratio\">%s</td>", text);
	free(text);
}

static void cell_interval(double low, double high, int decimals, struct buf *out)
{
	char *texts[2] = { report_number(low, decimals), report_number(high, decimals) };

	if (isfinite(low))
		html_format(out, "<td role=\"cell\" class=\"num range\">%s to %s</td>", texts[0], texts[1]);
	else
		buf_text(out, "<td role=\"cell\" class=\"num range\">not known</td>");
	free(texts[0]);
	free(texts[1]);
}

struct plot {
	double ratio, low, high;
	enum svg_mark mark;
};

/* The overall interval is a band behind all rows. */
static void cell_plot(const struct verdict *v, const struct svg_axis *axis, const struct plot *plot, struct buf *out)
{
	buf_text(out, "<td role=\"cell\" class=\"plot\"><svg width=\"100%\" height=\"100%\" aria-hidden=\"true\">");
	if (isfinite(v->effect.low) && isfinite(v->effect.high)) {
		double x = svg_x(axis, v->effect.low);

		html_format(out, "<rect class=\"band\" x=\"%.2f%%\" y=\"0\" width=\"%.2f%%\" height=\"100%%\"/>", x,
			    svg_x(axis, v->effect.high) - x);
	}
	svg_grid(axis, out);
	svg_interval(axis, plot->ratio, plot->low, plot->high, plot->mark, out);
	buf_text(out, "</svg></td>");
}

static void axis_cell(const struct svg_axis *axis, struct buf *out)
{
	buf_text(out, "<svg width=\"100%\" height=\"18\" aria-hidden=\"true\">");
	svg_labels(axis, 13, out);
	buf_text(out, "</svg>");
}

/* ---- rows ---- */

static void head_rows(const struct verdict *v, const struct svg_axis *axis, int decimals, struct buf *out)
{
	struct plot plot = { v->effect.ratio, v->effect.low, v->effect.high, SVG_DIAMOND };

	buf_text(out, "<thead role=\"rowgroup\"><tr role=\"row\"><th role=\"columnheader\" scope=\"col\">Machine</th><th "
		      "role=\"columnheader\" scope=\"col\" class=\"num\"><abbr title=\"results of the baseline, of the "
		      "candidate\">Results</abbr></th><th role=\"columnheader\" scope=\"col\" class=\"num\">Ratio</th><th "
		      "role=\"columnheader\" scope=\"col\" class=\"num range\">95&nbsp;% interval</th><th role=\"columnheader\" "
		      "scope=\"col\" class=\"plot\"><span class=\"vh\">Chart</span>");
	axis_cell(axis, out);
	html_format(out,
		    "</th></tr></thead><tbody role=\"rowgroup\" class=\"total\"><tr role=\"row\"><th role=\"rowheader\" "
		    "scope=\"row\">All hardware types</th><td role=\"cell\" class=\"num runs\"><span class=\"vh\">of </span>%zu "
		    "type%s</td>",
		    v->effect.types, text_plural(v->effect.types));
	cell_ratio(v->effect.ratio, decimals, out);
	cell_interval(v->effect.low, v->effect.high, decimals, out);
	cell_plot(v, axis, &plot, out);
	buf_text(out, "</tr></tbody>\n");
}

static void type_row(const struct verdict *v, const struct ratio_row *row, const struct svg_axis *axis, int decimals, struct buf *out)
{
	struct plot plot = { exp(row->type_mean), (double)NAN, (double)NAN, SVG_RING };

	buf_text(out, "<tr role=\"row\" class=\"type\"><th role=\"rowheader\" scope=\"row\">");
	html_name(out, row->type);
	html_format(out, "</th><td role=\"cell\" class=\"num runs\">%zu machines</td>", row->type_machines);
	cell_ratio(plot.ratio, decimals, out);
	buf_text(out, "<td role=\"cell\" class=\"num range\">mean</td>");
	cell_plot(v, axis, &plot, out);
	buf_text(out, "</tr>\n");
}

static void machine_row(const struct verdict *v, const struct ratio_row *row, const struct svg_axis *axis, int decimals,
			struct buf *out)
{
	struct plot plot = { row->ratio, row->low, row->high, SVG_DOT };
	bool alone = row->type_machines == 1;

	buf_text(out, "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">");
	html_name(out, row->machine->machine);
	if (alone && strcmp(row->type, row->machine->machine) != 0)
		html_format(out, " <span class=\"of-type\"><bdi>%s</bdi></span>", row->type);
	html_format(out, "</th><td role=\"cell\" class=\"num runs\">%zu, %zu</td>", row->machine->baseline_runs,
		    row->machine->candidate_runs);
	cell_ratio(row->ratio, decimals, out);
	cell_interval(row->low, row->high, decimals, out);
	cell_plot(v, axis, &plot, out);
	buf_text(out, "</tr>\n");
}

static void table(const struct verdict *v, const struct ratio_row *rows, size_t n, struct buf *out)
{
	struct svg_axis axis = axis_of(v, rows, n);
	int decimals = report_decimals(v->effect.ratio); /* the same in the whole column */

	buf_text(out, "<table class=\"ratios\" role=\"table\"><caption class=\"vh\">Ratio of costs on each machine</caption>");
	head_rows(v, &axis, decimals, out);
	for (size_t i = 0; i < n; i++) {
		bool first = i == 0 || rows[i].machine->type != rows[i - 1].machine->type;
		bool last = i + 1 == n || rows[i].machine->type != rows[i + 1].machine->type;

		if (first)
			buf_text(out, "<tbody role=\"rowgroup\">");
		if (first && rows[i].type_machines > 1)
			type_row(v, &rows[i], &axis, decimals, out);
		machine_row(v, &rows[i], &axis, decimals, out);
		if (last)
			buf_text(out, "</tbody>\n");
	}
	buf_text(out, "</table>");
}

void report_ratios(const struct verdict *v, struct buf *out)
{
	struct ratio_row *rows = mem_new(v->pairing.n, sizeof(*rows));
	size_t n = 0;

	for (size_t i = 0; i < v->pairing.n; i++) {
		if (v->pairing.machines[i].reason == PAIRING_USED)
			rows[n++] = row_of(&v->pairing, &v->pairing.machines[i]);
	}
	qsort(rows, n, sizeof(*rows), compare_rows);
	if (n) {
		page_section(out, "ratios", "The ratio on each machine",
			       "Each machine is compared with itself: the candidate's cost as a multiple of the baseline's, above 1 "
			       "is worse. A machine's interval is that of its own repetitions; machines of one hardware type say the "
			       "same thing several times, so their mean counts once. The band is the interval of all, on which the "
			       "decision rests.");
		table(v, rows, n, out);
	} else {
		page_section(out, "ratios", "The ratio on each machine", NULL);
		buf_text(out, "<p class=\"empty\">No machine has results of both versions that can be compared; what there is stands "
			      "under <a href=\"#left-out\">Left out</a>.</p>");
	}
	buf_text(out, "</section>\n");
	free(rows);
}
