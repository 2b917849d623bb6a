/* How the cost changed: the ratio on each machine, the stressors that it follows, and the time of each group. */
#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "gate/page/html.h"
#include "gate/page/svg.h"
#include "gate/report/sections.h"

#include <math.h>
#include <string.h>

#define GROUPS_SHOWN 10 /* of where the time went */

/* ---- the ratio on each machine, by hardware type: types count once each ---- */

/* A machine that was compared, with the interval that its own repetitions give. */
struct ratio_row {
	const struct pairing_machine *machine;
	const char *type;
	double ratio, low, high; /* low and high NaN where the noise is not known */
	double type_mean;	 /* of log ratios, over the machines of its type */
	size_t type_machines;
};

static struct ratio_row ratio_row_of(const struct pairing *p, const struct pairing_machine *m)
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
static int compare_ratios(const void *a, const void *b)
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

static struct svg_axis ratio_axis(const struct verdict *v, const struct ratio_row *rows, size_t n)
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

/* A row of the table: the interval on the axis, in front of that of all machines. */
struct ratio_table {
	const struct verdict *verdict;
	struct svg_axis axis;
	int decimals; /* the same in the whole column */
	struct document *d;
};

static void ratio_plot(const struct ratio_table *t, double ratio, double low, double high, enum svg_mark mark)
{
	const struct effect *e = &t->verdict->effect;
	struct buf svg = BUF_INIT;

	svg_open(0, &svg);
	if (isfinite(e->low) && isfinite(e->high)) {
		double x = svg_x(&t->axis, e->low);

		html_format(&svg, "<rect class=\"band\" x=\"%.2f%%\" y=\"0\" width=\"%.2f%%\" height=\"100%%\"/>", x,
			    svg_x(&t->axis, e->high) - x);
	}
	svg_grid(&t->axis, &svg);
	svg_interval(&t->axis, ratio, low, high, mark, &svg);
	svg_close(&svg);
	doc_picture(t->d, "Chart", &svg, NULL);
}

/* Ratio, interval and chart. */
static void ratio_cells(const struct ratio_table *t, double ratio, double low, double high, const char *no_interval, enum svg_mark mark)
{
	doc_showf(t->d, NULL, "Ratio", ratio, "%s", report_number(ratio, t->decimals).text);
	doc_style(t->d, "ratio");
	if (isfinite(low))
		doc_showf(t->d, NULL, "95\u00a0% interval", "", "%s to %s", report_number(low, t->decimals).text,
			  report_number(high, t->decimals).text);
	else
		doc_showf(t->d, NULL, "95\u00a0% interval", "", "%s", no_interval);
	doc_style(t->d, "num range");
	ratio_plot(t, ratio, low, high, mark);
}

static void ratio_total(const struct ratio_table *t)
{
	const struct effect *e = &t->verdict->effect;

	doc_row(t->d);
	doc_style(t->d, "total");
	doc_showf(t->d, NULL, "Machine", "", "All hardware types");
	doc_showf(t->d, NULL, "Results", "", DOC_MARK("vh") "of " DOC_END "%zu type%s", e->types, text_plural(e->types));
	doc_style(t->d, "num runs");
	ratio_cells(t, e->ratio, e->low, e->high, "not known", SVG_DIAMOND);
}

static void ratio_type(const struct ratio_table *t, const struct ratio_row *row)
{
	doc_row(t->d);
	doc_style(t->d, "type first");
	doc_show(t->d, NULL, "Machine", row->type);
	doc_showf(t->d, NULL, "Results", "", "%zu machines", row->type_machines);
	doc_style(t->d, "num runs");
	ratio_cells(t, exp(row->type_mean), (double)NAN, (double)NAN, "mean", SVG_RING);
}

static void ratio_machine(const struct ratio_table *t, const struct ratio_row *row)
{
	const struct pairing_machine *m = row->machine;
	bool alone = row->type_machines == 1, tag = alone && strcmp(row->type, m->machine) != 0;

	doc_row(t->d);
	doc_style(t->d, alone ? "first" : "member");
	doc_showf(t->d, NULL, "Machine", "", tag ? DOC_NAME "%s" DOC_END " " DOC_MARK("of-type") "%s" DOC_END : DOC_NAME "%s" DOC_END,
		  m->machine, row->type);
	doc_showf(t->d, NULL, "Results", "", "%zu, %zu", m->baseline_runs, m->candidate_runs);
	doc_style(t->d, "num runs");
	ratio_cells(t, row->ratio, row->low, row->high, "not known", SVG_DOT);
}

static void ratio_table(const struct verdict *v, const struct ratio_row *rows, size_t n, struct document *d)
{
	struct ratio_table t = { v, ratio_axis(v, rows, n), report_decimals(v->effect.ratio), d };
	struct buf scale = BUF_INIT;

	doc_table(d, NULL);
	doc_style(d, "ratios");
	doc_caption(d, "Ratio of costs on each machine");
	svg_scale(&t.axis, &scale);
	doc_picture(d, "Chart", &scale, NULL);
	ratio_total(&t);
	for (size_t i = 0; i < n; i++) {
		bool first = i == 0 || rows[i].machine->type != rows[i - 1].machine->type;

		if (first && rows[i].type_machines > 1)
			ratio_type(&t, &rows[i]);
		ratio_machine(&t, &rows[i]);
	}
	doc_end(d);
}

#define RATIOS_LEAD                                                                                                                        \
	"Each machine is compared with itself: the candidate's cost as a multiple of the baseline's, above 1 is worse. A machine's "       \
	"interval is that of its own repetitions; machines of one hardware type repeat the same finding, so their mean counts once. The "  \
	"band is the interval of all"

static void add_ratios(const struct verdict *v, struct document *d)
{
	struct ratio_row *rows = mem_new(v->pairing.n, sizeof(*rows));
	size_t n = 0;

	for (size_t i = 0; i < v->pairing.n; i++) {
		if (v->pairing.machines[i].reason == PAIRING_USED)
			rows[n++] = ratio_row_of(&v->pairing, &v->pairing.machines[i]);
	}
	qsort(rows, n, sizeof(*rows), compare_ratios);
	doc_section(d, "ratios", "Machines", "The ratio on each machine",
		    !n			      ? NULL
		    : verdict_by_processor(v) ? RATIOS_LEAD "; the decision rests on processor time."
					      : RATIOS_LEAD ", on which the decision rests.");
	if (n) {
		ratio_table(v, rows, n, d);
	} else
		doc_styled(d, "empty",
			   "No machine has results of both versions that can be compared; what there is stands under " DOC_MARK(
			       "#left-out") "Left out" DOC_END ".");
	free(rows);
}

void report_change(struct document *d, const struct comparison *comparison)
{
	const struct verdict *v = &comparison->verdict;
	bool guesses = !comparison->measured.machines;

	add_ratios(v, d);
	verdict_answer_resources(v, guesses, d);
	contributions_answer(&comparison->contributions, guesses || comparison->contributions.n_leading ? GROUPS_SHOWN : 0, d);
	if (v->effect.types)
		verdict_answer_cause(v, guesses, d);
}
