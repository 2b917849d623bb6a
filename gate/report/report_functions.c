/* The leading functions of stored samples: errors of old and new with the threshold, counters then and now, the source around
 * them. */
#include "base/mem.h"
#include "base/text.h"
#include "gate/page/html.h"
#include "gate/page/svg.h"
#include "gate/report/report_sections.h"

#include <math.h>
#include <string.h>

#define SHOWN          3
#define COUNTERS_SHOWN 6
#define BINS           40
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

static double ratio_of(double error, double threshold)
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
		out.ratio[i] = ratio_of(errors[i], f->found->error_threshold);
	return out;
}

static struct errors errors_now(const struct detected *d, const struct detected_function *f)
{
	const struct observations *o = &d->seen.observations;
	struct errors out = { .ratio = mem_new(o->values.rows, sizeof(double)) };

	for (size_t i = 0; i < o->values.rows; i++)
		if (o->function[i] == f->found->function && !isnan(d->detection.errors[i]))
			out.ratio[out.n++] = ratio_of(d->detection.errors[i], f->found->error_threshold);
	return out;
}

/* A strip of bars, each as high as its bin's part of the fullest one. */
static void strip(const char *label, const char *class, const struct errors *errors, const struct svg_axis *axis, struct buf *out)
{
	size_t bins[BINS] = { 0 }, most = 1, above = 0;

	for (size_t i = 0; i < errors->n; i++) {
		size_t bin = (size_t)(svg_x(axis, errors->ratio[i]) / 100 * BINS);

		bin = bin < BINS ? bin : BINS - 1;
		most = ++bins[bin] > most ? bins[bin] : most;
		above += errors->ratio[i] > 1;
	}
	html_format(out,
	            "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">%s</th><td role=\"cell\" class=\"num\">%zu of "
	            "%zu</td><td role=\"cell\" class=\"plot\">"
	            "<svg width=\"100%%\" height=\"48\" aria-hidden=\"true\">",
	            label, above, errors->n);
	svg_grid(axis, out);
	for (size_t b = 0; b < BINS; b++) {
		double height = 46. * (double)bins[b] / (double)most;

		if (bins[b])
			html_format(out, "<rect class=\"%s\" x=\"%.2f%%\" y=\"%.1f\" width=\"%.2f%%\" height=\"%.1f\"/>", class,
			            100. * (double)b / BINS, 47 - height, 100. / BINS, height);
	}
	buf_text(out, "</svg></td></tr>\n");
}

static void histograms(const struct detected *d, const struct detected_function *f, struct buf *out)
{
	struct errors before = errors_before(d, f), now = errors_now(d, f);
	double low = 1, high = 1;
	struct svg_axis axis;

	for (size_t i = 0; i < before.n + now.n; i++) {
		double ratio = i < before.n ? before.ratio[i] : now.ratio[i - before.n];

		low = fmin(low, ratio);
		high = fmax(high, ratio);
	}
	axis = svg_ratio_axis(low, high);
	buf_text(out, "<div class=\"scroll\"><table class=\"moves\" role=\"table\"><thead role=\"rowgroup\"><tr role=\"row\"><th "
	              "role=\"columnheader\" scope=\"col\">Errors of samples (1: the threshold)"
	              "</th><th role=\"columnheader\" scope=\"col\" class=\"num\">Anomalous</th><th role=\"columnheader\" "
	              "scope=\"col\" class=\"plot\"><span class=\"vh\">"
	              "Chart of errors</span><svg width=\"100%\" height=\"18\" aria-hidden=\"true\">");
	svg_labels(&axis, 13, out);
	buf_text(out, "</svg></th></tr></thead><tbody role=\"rowgroup\">\n");
	if (before.n)
		strip("before", "rest", &before, &axis, out);
	strip("now", "part", &now, &axis, out);
	buf_text(out, "</tbody></table></div>\n");
	free(before.ratio);
	free(now.ratio);
}

/* ---- counters ---- */

static void value_bar(const char *class, double value, double most, int y, struct buf *out)
{
	html_format(out, "<rect class=\"%s\" x=\"0%%\" y=\"%d\" width=\"%.2f%%\" height=\"7\"/>", class, y,
	            most > 0 ? 100 * fmax(value, 0) / most : 0.);
}

static void counter_row(const struct detected *d, const struct detection_column *c, struct buf *out)
{
	struct counter_about about = counter_about(d->back_end, d->seen.columns[c->column]);
	double normal = c->normal * about.scale, now = c->now * about.scale;

	html_format(out,
	            "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">%s <span class=\"of-type\">%s</span></th><td "
	            "role=\"cell\" class=\"num\">%.4g</td>"
	            "<td role=\"cell\" class=\"num\">%.4g</td><td role=\"cell\" class=\"plot\"><svg width=\"100%%\" "
	            "height=\"20\" aria-hidden=\"true\">",
	            about.text, about.unit, normal, now);
	value_bar("rest", normal, fmax(normal, now), 2, out);
	value_bar("part", now, fmax(normal, now), 11, out);
	html_format(out, "</svg></td><td role=\"cell\" class=\"num\">%.0f&nbsp;%%</td></tr>\n", 100 * c->part);
}

static void counters(const struct detected *d, const struct detected_function *f, struct buf *out)
{
	static const char *const headings[] = { "Normal", "Now", "Chart", "Of the error" };

	if (!f->found->n_columns)
		return;
	buf_text(out, "<div class=\"scroll\"><table class=\"moves\" role=\"table\"><thead role=\"rowgroup\"><tr role=\"row\"><th "
	              "role=\"columnheader\" scope=\"col\">Counter</th>");
	for (size_t i = 0; i < sizeof(headings) / sizeof(headings[0]); i++)
		html_format(out, "<th role=\"columnheader\" scope=\"col\" class=\"%s\">%s</th>", i == 2 ? "plot" : "num",
		            headings[i]);
	buf_text(out, "</tr></thead><tbody role=\"rowgroup\">\n");
	for (size_t i = 0; i < f->found->n_columns && i < COUNTERS_SHOWN; i++)
		counter_row(d, &f->found->columns[i], out);
	buf_text(out, "</tbody></table></div>\n");
}

/* ---- the source ---- */

static void source(const struct place *place, struct buf *out)
{
	unsigned first = place->line > LINES_BEFORE ? place->line - LINES_BEFORE : 1, last = place->line + LINES_AFTER, line = 1;
	int digits;
	static const char blanks[] = "                                "; /* of eight tabs */
	struct buf text = BUF_INIT;
	char *rest, *one;

	if (!place->line || !place_text(place, &text))
		goto out;
	last = place->last_line >= place->line && place->last_line < last ? place->last_line + 1 : last;
	digits = snprintf(NULL, 0, "%u", last);
	rest = text.bytes;
	buf_text(out, "<pre class=\"source\">");
	for (; rest && line <= last && (one = strsep(&rest, "\n")); line++) {
		size_t tabs = strspn(one, "\t");

		if (line < first)
			continue;
		buf_format(out, "<span class=\"line\">%*u</span>  ", digits, line);
		html_format(out, "%s%s\n", blanks + strlen(blanks) - 4 * (tabs < 8 ? tabs : 8), one + tabs);
	}
	buf_text(out, "</pre>\n");
out:
	buf_release(&text);
}

/* ---- the section ---- */

static void function(const struct detected *d, const struct detected_function *f, struct buf *out)
{
	struct buf kind = BUF_INIT;

	kind_text(&f->kind, "; also ", &kind);
	html_format(out, "<h3 data-function=\"%s\" data-kind=\"%s\">", f->name, trouble_code(f->kind.trouble));
	html_name(out, f->name);
	buf_text(out, "</h3>\n");
	html_format(out, "<p>Kind of trouble: %s%s. In %zu of %zu run%s; it does %.3g&nbsp;%% of what the measured functions do",
	            f->kind.improved ? "improved, " : "", kind.bytes, f->found->runs_anomalous, f->found->runs,
	            text_plural(f->found->runs), 100 * f->share);
	buf_release(&kind);
	if (f->because_of)
		html_format(out, ", and may be so because it calls %s", f->because_of);
	buf_text(out, ".</p>\n");
	counters(d, f, out);
	histograms(d, f, out);
	if (!f->place || !f->place->file)
		return;
	html_format(out, "<p class=\"muted\">%s:%u</p>\n", f->place->file, f->place->line);
	source(f->place, out);
}

static void side_effects(const struct detected *d, struct buf *out)
{
	size_t first = d->n_worse + d->n_improved;

	if (!d->n_side_effects)
		return;
	buf_text(out, "<p>Side effects, of functions that do what they did but find their data evicted: ");
	for (size_t i = first; i < first + d->n_side_effects; i++) {
		html_format(out, "%s<span data-side-effect=\"%s\">", i > first ? "; " : "", d->functions[i].name);
		html_name(out, d->functions[i].name);
		buf_text(out, "</span>, by ");
		html_name(out, d->functions[i].side_effect_of);
	}
	buf_text(out, ".</p>\n");
}

static void finding(const struct function_evidence *e, enum decision decision, struct buf *out)
{
	const struct detected *d = &e->detected;
	size_t anomalous = d->n_worse + d->n_improved;

	if (!d->n)
		buf_text(out, "<p class=\"empty\">None of the functions could be judged.</p>\n");
	else if (!anomalous)
		html_format(out, "<p class=\"finding\">None of %zu function%s behaves otherwise than before.</p>\n", d->n,
		            text_plural(d->n));
	else
		html_format(out, "<p class=\"finding\" data-explains=\"%s\">%zu of %zu function%s behave%s otherwise%s.</p>\n",
		            function_evidence_explains(e, decision) ? "true" : "false", anomalous, d->n, text_plural(d->n),
		            anomalous == 1 ? "s" : "",
		            function_evidence_explains(e, decision) ? ", which explains the change"
		                                                    : ": the decision does not rest on it");
	for (size_t i = 0; i < d->n_reasons; i++)
		if (strcmp(d->reasons[i].code, "too_few_runs") == 0)
			html_format(out, "<p class=\"note\" data-code=\"%s\">%s.</p>\n", d->reasons[i].code, d->reasons[i].text);
}

void report_functions(const struct function_evidence *e, enum decision decision, struct buf *out)
{
	const struct detected *d = &e->detected;
	size_t anomalous = d->n_worse + d->n_improved;

	if (!e->there && !e->missing)
		return;
	page_section(out, "functions", "Functions",
	             "Samples of the functions that changed: what was normal was learned from the baseline's runs. An error says "
	             "how far a sample is from that, as a "
	             "multiple of what separates normal samples from anomalous ones.");
	if (e->missing)
		html_format(out, "<p class=\"empty\">Nothing can be said of them: %s.</p>\n", e->missing);
	if (e->there)
		finding(e, decision, out);
	for (size_t i = 0; e->there && i < anomalous && i < SHOWN; i++)
		function(d, &d->functions[i], out);
	if (e->there)
		side_effects(d, out);
	if (anomalous > SHOWN)
		html_format(out, "<p class=\"muted\">And %zu more: 'assay detect' lists them.</p>\n", anomalous - SHOWN);
	buf_text(out, "</section>\n");
}
