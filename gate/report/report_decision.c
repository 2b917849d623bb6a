/* The first screen: the decision, the interval that it rests on, and how sure it is. */
#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "gate/page/html.h"
#include "gate/report/report_sections.h"
#include "gate/page/svg.h"

#include <math.h>

/* What a decision looks like: a word for people and a shape, so that it is not told by colour alone. */
static const struct {
	const char *word, *path;
} looks[] = {
	[DECISION_PASS] = { "Pass", "M4 10.5l4 4 8-9" },
	[DECISION_IMPROVED] = { "Improved", "M10 4v12M4.5 10.5l5.5 5.5 5.5-5.5" },
	[DECISION_REGRESSION] = { "Regression", "M10 16V4M4.5 9.5L10 4l5.5 5.5" },
	[DECISION_INCONCLUSIVE] = { "Inconclusive", "M3 8c2.5-3 4.5-3 7 0s4.5 3 7 0M3 14c2.5-3 4.5-3 7 0s4.5 3 7 0" },
	[DECISION_ENVIRONMENT] = { "Environment", "M10 3l8 14H2zM10 8v4M10 14.2v.3" },
	[DECISION_NOTHING_MEASURED] = { "Nothing measured", "M4 10h12" },
};

static void badge(enum decision decision, struct buf *out)
{
	html_format(out,
		    "<p class=\"badge\" data-decision=\"%s\"><svg width=\"20\" height=\"20\" viewBox=\"0 0 20 20\" "
		    "aria-hidden=\"true\"><path d=\"%s\"/></svg>%s</p>",
		    decision_text(decision), looks[decision].path, looks[decision].word);
}

/* ---- the sentence ---- */

static const char costs_fmt[] = "<h1><bdi>%s</bdi> costs %s <bdi>%s</bdi></h1>";

static void headline_change(const struct effect *e, const struct report_names *names, struct buf *out)
{
	char *change;

	if (e->ratio >= 2)
		change = mem_format("%.3g times as much as", e->ratio);
	else if (e->ratio >= 1)
		change = mem_format("%.1f\u00a0%% more than", 100 * (e->ratio - 1));
	else
		change = mem_format("%.1f\u00a0%% less than", 100 * (1 - e->ratio));
	html_format(out, costs_fmt, names->sentence, change, names->of[0]);
	free(change);
}

static void headline(const struct verdict *v, const struct report_names *names, struct buf *out)
{
	const struct effect *e = &v->effect;
	const char *baseline = names->of[0], *candidate = names->sentence;

	switch (e->decision) {
	case DECISION_REGRESSION:
	case DECISION_IMPROVED:
		headline_change(e, names, out);
		break;
	case DECISION_PASS:
		html_format(out, "<h1><bdi>%s</bdi> is not slower than <bdi>%s</bdi> by %.3g&nbsp;%% or more</h1>", candidate,
			    baseline, 100 * v->min_effect);
		break;
	case DECISION_NOTHING_MEASURED:
		html_format(out, "<h1>Nothing was measured that compares <bdi>%s</bdi> with <bdi>%s</bdi></h1>", candidate, baseline);
		break;
	default:
		if (isnan(e->low))
			html_format(out, "<h1>Too little was measured to compare <bdi>%s</bdi> with <bdi>%s</bdi></h1>", candidate, baseline);
		else
			html_format(out, "<h1>It cannot be told yet whether <bdi>%s</bdi> is slower than <bdi>%s</bdi></h1>",
				    candidate, baseline);
	}
}

static void subject(const struct verdict *v, struct buf *out)
{
	html_format(out,
		    "<p class=\"subject\"><bdi>%s@%s</bdi> <span aria-label=\"against\">&rarr;</span> <bdi>%s@%s</bdi><span "
		    "class=\"muted\"> &middot; %s is better</span></p>",
		    v->baseline->application, v->baseline->version, v->candidate->application, v->candidate->version,
		    v->baseline->higher_is_better ? "higher" : "lower");
}

/* ---- the interval ---- */

#define CHART_HEIGHT 92u
#define CHART_TOP    18u /* below the names of the zones */
#define CHART_FLOOR  66u /* where the axis is */

/* From one ratio to another, coloured by what it would mean. */
static void zone(const struct svg_axis *axis, const char *class, double from, double to, struct buf *out)
{
	double x = svg_x(axis, from), width = svg_x(axis, to) - x;

	if (width > 0)
		html_format(out, "<rect class=\"%s\" x=\"%.2f%%\" y=\"%u\" width=\"%.2f%%\" height=\"%u\"/>", class, x, CHART_TOP,
			    width, CHART_FLOOR - CHART_TOP);
}

static void zone_label(const struct svg_axis *axis, double from, double to, const char *text, struct buf *out)
{
	double x = svg_x(axis, from), width = svg_x(axis, to) - x;

	if (width > 14)
		html_format(out, "<text class=\"zone\" x=\"%.2f%%\" y=\"12\">%s</text>", x + width / 2, text);
}

static void interval_chart(const struct verdict *v, struct buf *out)
{
	const struct effect *e = &v->effect;
	bool known = isfinite(e->low) && isfinite(e->high);
	double slower = 1 + v->min_effect, faster = 1 / slower;
	struct svg_axis axis =
	    svg_ratio_axis(fmin(known ? e->low : e->ratio, faster / 1.01), fmax(known ? e->high : e->ratio, slower * 1.01));

	html_format(out,
		    "<figure class=\"interval\"><svg width=\"100%%\" height=\"%u\" role=\"img\" "
		    "aria-labelledby=\"interval-t\"><title id=\"interval-t\">Ratio of costs %.4g",
		    CHART_HEIGHT, e->ratio);
	if (known)
		html_format(out, ", 95 %% interval %.4g to %.4g", e->low, e->high);
	html_format(out, "; a slowdown matters from %.4g on</title>", slower);
	zone(&axis, "zone-faster", axis.low, faster, out);
	zone(&axis, "zone-slower", slower, axis.high, out);
	zone_label(&axis, axis.low, faster, "better", out);
	zone_label(&axis, faster, slower, "no difference that matters", out);
	zone_label(&axis, slower, axis.high, "worse", out);
	html_format(out, "<svg y=\"%u\" height=\"%u\">", CHART_TOP, CHART_FLOOR - CHART_TOP);
	svg_grid(&axis, out);
	svg_interval(&axis, e->ratio, e->low, e->high, SVG_DIAMOND, out);
	buf_text(out, "</svg>");
	svg_labels(&axis, CHART_FLOOR + 18, out);
	html_format(out, "</svg><figcaption>Cost of the candidate as a multiple of the baseline&rsquo;s%s</figcaption></figure>",
		    !known ? "" : (e->within ? ", with its 95 % interval on these machines" : ", with its 95 % interval"));
}

/* ---- numbers ---- */

static void fact(struct buf *out, const char *what, const char *value, const char *more)
{
	html_format(out, "<div><dt>%s</dt><dd><b>%s</b><span>%s</span></dd></div>", what, value, more);
}

static void fact_ratio(const struct effect *e, struct buf *out)
{
	int digits = report_decimals(e->ratio);
	char *value = report_number(e->ratio, digits), *low = report_number(e->low, digits), *high = report_number(e->high, digits);
	char *more = isfinite(e->low) ? mem_format("95\u00a0%% interval %s to %s", low, high)
				      : mem_string("no interval: too little was measured");

	fact(out, "Ratio of costs", value, more);
	free(value);
	free(low);
	free(high);
	free(more);
}

static void fact_types(const struct verdict *v, struct buf *out)
{
	size_t machines = report_used(v), runs = 0;
	char *value, *more;

	for (size_t i = 0; i < v->pairing.n; i++)
		runs += v->pairing.machines[i].baseline_runs + v->pairing.machines[i].candidate_runs;
	value = mem_format("%zu", v->effect.types);
	more = mem_format("%zu machine%s, %zu results", machines, text_plural(machines), runs);
	fact(out, "Hardware types", value, more);
	free(value);
	free(more);
}

static void fact_detectable(const struct verdict *v, struct buf *out)
{
	char *matters = mem_format("%.3g\u00a0%%", 100 * v->min_effect), *value;

	fact(out, "Slowdown that matters", matters, "smaller ones are let pass");
	free(matters);
	if (isnan(v->effect.minimum_detectable))
		return;
	value = mem_format("%s\u00a0%%", text_fixed(100 * v->effect.minimum_detectable,
						     v->effect.minimum_detectable < .1 ? 2 : v->effect.minimum_detectable < 1 ? 1 : 0).text);
	fact(out, "Slowdown it can find", value, v->effect.within ? "four times in five, on these machines" : "four times in five, as the ratios spread here");
	free(value);
}

/* ---- words ---- */

static void reasons(const struct verdict *v, struct buf *out)
{
	buf_text(out, "<h2 class=\"small\" id=\"why\">Why</h2><ul class=\"reasons\">");
	for (size_t i = 0; i < v->n_reasons; i++) {
		const char *text = v->reasons[i].text;
		char first[2] = { *text, 0 };

		if (strcmp(v->reasons[i].code, VERDICT_EMULATED) == 0)
			continue; /* has a place of its own */
		if (*first >= 'a' && *first <= 'z')
			*first = (char)(*first - 'a' + 'A');
		html_format(out, "<li data-code=\"%s\">%s%s.</li>", v->reasons[i].code, first, *text ? text + 1 : "");
	}
	buf_text(out, "</ul>");
}

static void emulated_note(const struct verdict *v, struct buf *out)
{
	for (size_t i = 0; i < v->n_reasons; i++) {
		if (strcmp(v->reasons[i].code, VERDICT_EMULATED) == 0)
			html_format(out, "<p class=\"note\" id=\"emulated\"><b>Emulated hosts.</b> %s.</p>", v->reasons[i].text);
	}
}

static void dates(const struct verdict *v, struct buf *out)
{
	const struct run_set *sets[] = { v->baseline, v->candidate };
	char first_date[TEXT_DATE_BYTES], last_date[TEXT_DATE_BYTES];
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (int i = 0; i < 2; i++) {
		for (size_t k = 0; k < sets[i]->n; k++) {
			first = sets[i]->items[k].taken_ms < first ? sets[i]->items[k].taken_ms : first;
			last = sets[i]->items[k].taken_ms > last ? sets[i]->items[k].taken_ms : last;
		}
	}
	if (first > last)
		return;
	text_from_ms(first, first_date);
	text_from_ms(last, last_date);
	first_date[10] = last_date[10] = '\0'; /* the day */
	if (strcmp(first_date, last_date) == 0)
		html_format(out, "<p class=\"muted dates\">Measured on <time>%s</time> (UTC)</p>", first_date);
	else
		html_format(out, "<p class=\"muted dates\">Measured from <time>%s</time> to <time>%s</time> (UTC)</p>", first_date,
			    last_date);
}

void report_decision(const struct report *report, const struct report_names *names, struct buf *out)
{
	const struct verdict *v = report->verdict;

	buf_text(out, "<section id=\"decision\" class=\"card decision\" aria-label=\"Decision\"><div class=\"what\">");
	badge(v->effect.decision, out);
	subject(v, out);
	headline(v, names, out);
	buf_text(out, "</div>");
	if (v->effect.types) {
		interval_chart(v, out);
		buf_text(out, "<dl class=\"facts\">");
		fact_ratio(&v->effect, out);
		fact_types(v, out);
		fact_detectable(v, out);
		buf_text(out, "</dl>");
	}
	buf_text(out, "<div class=\"words\">");
	reasons(v, out);
	emulated_note(v, out);
	dates(v, out);
	buf_text(out, "</div></section>\n");
}
