/* The leading functions of stored samples: errors of old and new with the threshold, counters then and now, the source around them. */
#include "base/mem.h"
#include "base/text.h"
#include "gate/page/html.h"
#include "gate/page/svg.h"
#include "gate/report/sections.h"

#include <math.h>
#include <string.h>

#define COUNTERS_SHOWN 6
#define BINS	       40
#define ERROR_LEAST    1e-4 /* of the threshold: what is below stands at the end */
#define ERROR_MOST     1e6
#define LINES_BEFORE   2
#define LINES_AFTER    12

/* ---- errors ---- */

/* Of the threshold. */
struct errors {
	double *ratio; /* [n] */
	size_t n;
};

static double error_ratio(double error, double threshold)
{
	return fmin(fmax(threshold > 0 ? error / threshold : 1, ERROR_LEAST), ERROR_MOST);
}

static struct errors errors_before(const struct detected *d, const struct detected_function *f)
{
	struct errors out = { .ratio = NULL };
	const double *errors;

	if (!d->detector)
		return out;
	detector_normal_errors(d->detector, f->symbol, &errors, &out.n);
	out.ratio = mem_new(out.n, sizeof(double));
	for (size_t i = 0; i < out.n; i++)
		out.ratio[i] = error_ratio(errors[i], f->found->error_threshold);
	return out;
}

static struct errors errors_now(const struct detected *d, const struct detected_function *f)
{
	const struct observations *o = &d->seen.observations;
	struct errors out = { .ratio = mem_new(o->values.rows, sizeof(double)) };

	for (size_t i = 0; i < o->values.rows; i++)
		if (o->function[i] == f->found->function && !isnan(d->detection.errors[i]))
			out.ratio[out.n++] = error_ratio(d->detection.errors[i], f->found->error_threshold);
	return out;
}

/* Bars, each as high as its bin's part of the fullest one. */
static void error_row(const char *label, const char *class, const struct errors *errors, const struct svg_axis *axis, struct document *d)
{
	size_t bins[BINS] = { 0 }, most = 1, above = 0;
	struct buf svg = BUF_INIT;

	for (size_t i = 0; i < errors->n; i++) {
		size_t bin = (size_t)(svg_x(axis, errors->ratio[i]) / 100 * BINS);

		bin = bin < BINS ? bin : BINS - 1;
		most = ++bins[bin] > most ? bins[bin] : most;
		above += errors->ratio[i] > 1;
	}
	svg_open(48, &svg);
	svg_grid(axis, &svg);
	for (size_t b = 0; b < BINS; b++) {
		double height = 46. * (double)bins[b] / (double)most;

		if (bins[b])
			html_format(&svg, "<rect class=\"%s\" x=\"%.2f%%\" y=\"%.1f\" width=\"%.2f%%\" height=\"%.1f\"/>", class,
				    100. * (double)b / BINS, 47 - height, 100. / BINS, height);
	}
	svg_close(&svg);
	doc_row(d);
	doc_showf(d, NULL, "Errors of samples (1: the threshold)", label, "%s", label);
	doc_showf(d, NULL, "Anomalous", above, "%zu of %zu", above, errors->n);
	doc_picture(d, "Chart of errors", &svg, NULL);
}

static void add_errors(const struct detected *detected, const struct detected_function *f, struct document *d)
{
	struct errors before = errors_before(detected, f), now = errors_now(detected, f);
	struct buf scale = BUF_INIT;
	double low = 1, high = 1;
	struct svg_axis axis;

	for (size_t i = 0; i < before.n + now.n; i++) {
		double ratio = i < before.n ? before.ratio[i] : now.ratio[i - before.n];

		low = fmin(low, ratio);
		high = fmax(high, ratio);
	}
	axis = svg_ratio_axis(low, high);
	svg_scale(&axis, &scale);
	doc_table(d, NULL);
	doc_style(d, "moves scroll");
	doc_picture(d, "Chart of errors", &scale, NULL);
	if (before.n)
		error_row("before", "rest", &before, &axis, d);
	error_row("now", "part", &now, &axis, d);
	doc_end(d);
	mem_free(before.ratio, now.ratio);
}

/* ---- counters ---- */

static void counter_row(const struct detected *detected, const struct detection_column *c, struct document *d)
{
	struct counter_about about = counter_about(detected->back_end, detected->seen.columns[c->column]);
	double normal = c->normal * about.scale, now = c->now * about.scale, most = fmax(fmax(normal, now), 1e-300);
	struct buf svg = BUF_INIT;

	doc_row(d);
	doc_showf(d, NULL, "Counter", about.text, "%s " DOC_MARK("of-type") "%s" DOC_END, about.text, about.unit);
	doc_showf(d, NULL, "Normal", normal, "%.4g", normal);
	doc_showf(d, NULL, "Now", now, "%.4g", now);
	svg_open(20, &svg);
	svg_bar("rest", NULL, 0, 100 * fmax(normal, 0) / most, 2, 7, &svg);
	svg_bar("part", NULL, 0, 100 * fmax(now, 0) / most, 11, 7, &svg);
	svg_close(&svg);
	doc_picture(d, "Chart", &svg, NULL);
	doc_showf(d, NULL, "Of the error", c->part, "%.0f\u00a0%%", 100 * c->part);
}

static void add_counters(const struct detected *detected, const struct detected_function *f, struct document *d)
{
	doc_table(d, NULL);
	doc_style(d, "moves scroll");
	for (size_t i = 0; i < f->found->n_columns && i < COUNTERS_SHOWN; i++)
		counter_row(detected, &f->found->columns[i], d);
	doc_end(d);
}

/* ---- the source ---- */

static void add_source(const struct place *place, struct document *d)
{
	unsigned first = place->line > LINES_BEFORE ? place->line - LINES_BEFORE : 1, last = place->line + LINES_AFTER, line = 1;
	static const char blanks[] = "                                "; /* of eight tabs */
	struct buf text = BUF_INIT, shown = BUF_INIT;
	char *rest, *one;

	if (place->line && place_text(place, &text)) {
		last = place->last_line >= place->line && place->last_line < last ? place->last_line + 1 : last;
		rest = text.bytes;
		for (; rest && line <= last && (one = strsep(&rest, "\n")); line++) {
			size_t tabs = strspn(one, "\t");

			if (line >= first)
				buf_format(&shown, DOC_MARK("line") "%*u" DOC_END "  %s%s\n", snprintf(NULL, 0, "%u", last), line,
					   blanks + strlen(blanks) - 4 * (tabs < 8 ? tabs : 8), one + tabs);
		}
		doc_raw(d, shown.size ? shown.bytes : "");
		doc_style(d, "source");
	}
	buf_release(&text);
	buf_release(&shown);
}

/* ---- the functions ---- */

static void add_function(const struct detected *detected, const struct detected_function *f, size_t i, struct document *d)
{
	struct buf kind = BUF_INIT;

	kind_text(&f->kind, "; also ", &kind);
	doc_subheading(d, DOC_NAME "%s" DOC_END, f->name);
	doc_id(d, REPORT_FUNCTION_ID, i + 1);
	doc_data(d, "function", "%s", f->name);
	doc_data(d, "kind", "%s", trouble_code(f->kind.trouble));
	doc_line(d, "Kind of trouble: %s%s. In %zu of %zu run%s; it does %.3g\u00a0%% of what the measured functions do.",
		 f->kind.improved ? "improved, " : "", kind.bytes, f->found->runs_anomalous, f->found->runs, text_plural(f->found->runs),
		 100 * f->share);
	buf_release(&kind);
	add_counters(detected, f, d);
	add_errors(detected, f, d);
	if (!f->place || !f->place->file)
		return;
	doc_styled(d, "muted", "%s:%u", f->place->file, f->place->line);
	add_source(f->place, d);
}

/* Each leads to what is said of it. */
static void add_links(const struct detected *detected, size_t n, struct document *d)
{
	doc_list(d, NULL);
	doc_style(d, "names");
	for (size_t i = 0; i < n && i < REPORT_FUNCTIONS; i++)
		doc_item(d, "\1#" REPORT_FUNCTION_ID "\2%s\3", i + 1, detected->functions[i].name);
	doc_end(d);
}

static void add_side_effects(const struct detected *detected, struct document *d)
{
	size_t first = detected->n_worse + detected->n_improved;

	if (!detected->n_side_effects)
		return;
	doc_line(d, "Side effects, where what is more is another function's doing:");
	for (size_t i = first; i < first + detected->n_side_effects; i++) {
		const struct detected_function *f = &detected->functions[i];

		doc_item(d, DOC_NAME "%s" DOC_END ", by " DOC_NAME "%s" DOC_END, f->name, f->side_effect_of);
		doc_data(d, "side-effect", "%s", f->name);
	}
}

static void add_finding(const struct function_evidence *e, enum decision decision, struct document *d)
{
	const struct detected *detected = &e->detected;
	size_t anomalous = detected->n_worse + detected->n_improved;
	bool explains = function_evidence_explains(e, decision);

	if (!detected->n) {
		doc_styled(d, "empty", "None of the functions could be judged.");
	} else if (!anomalous) {
		doc_styled(d, "finding", "None of %zu function%s changed its behaviour.", detected->n, text_plural(detected->n));
	} else {
		doc_styled(d, "finding", "%zu of %zu function%s changed %s behaviour%s.", anomalous, detected->n, text_plural(detected->n),
			   anomalous == 1 ? "its" : "their",
			   explains ? ", which explains the change" : ": the decision does not rest on it");
		doc_data(d, "explains", "%s", explains ? "true" : "false");
	}
	for (size_t i = 0; i < detected->n_reasons; i++) {
		if (strcmp(detected->reasons[i].code, "too_few_runs") != 0)
			continue;
		doc_styled(d, "note", "%s.", detected->reasons[i].text);
		doc_data(d, "code", "%s", detected->reasons[i].code);
	}
}

static void add_functions(const struct function_evidence *e, enum decision decision, struct document *d)
{
	size_t anomalous = e->detected.n_worse + e->detected.n_improved;

	if (!e->there && !e->missing)
		return;
	doc_section(d, "functions", "Functions", "Functions",
		    "Samples of the functions that changed: what was normal was learned from the baseline's runs. An error says how far a "
		    "sample is from that, as a multiple of what separates normal samples from anomalous ones.");
	if (e->missing)
		doc_styled(d, "empty", "Nothing can be said of them: %s.", e->missing);
	if (e->there)
		add_finding(e, decision, d);
	if (e->there && anomalous > 1)
		add_links(&e->detected, anomalous, d);
	for (size_t i = 0; e->there && i < anomalous && i < REPORT_FUNCTIONS; i++)
		add_function(&e->detected, &e->detected.functions[i], i, d);
	if (e->there)
		add_side_effects(&e->detected, d);
	if (anomalous > REPORT_FUNCTIONS)
		doc_styled(d, "muted", "And %zu more: 'assay detect' lists them.", anomalous - REPORT_FUNCTIONS);
}

void report_functions(struct document *d, const struct comparison *comparison)
{
	add_functions(&comparison->functions, verdict_of_cost(&comparison->verdict), d);
	likeness_add(&comparison->likeness, d);
}
