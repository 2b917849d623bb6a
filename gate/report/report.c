/* The report put together: the decision, the interval that it rests on and how sure it is first; how to read the page last. */
#include "gate/report/report.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "gate/page/document_html.h"
#include "gate/page/html.h"
#include "gate/page/svg.h"
#include "gate/report/sections.h"

#include <math.h>
#include <string.h>

/* ---- what sections share ---- */

static struct report_names names_of(const struct run_set *baseline, const struct run_set *candidate)
{
	const struct run_set *sets[] = { baseline, candidate };
	bool same_application = strcmp(baseline->application, candidate->application) == 0;
	bool same_version = strcmp(baseline->version, candidate->version) == 0;
	struct report_names names;

	for (int i = 0; i < 2; i++) {
		if (same_application && !same_version)
			names.of[i] = mem_string(sets[i]->version);
		else if (same_version && !same_application)
			names.of[i] = mem_string(sets[i]->application);
		else
			names.of[i] = mem_format("%s@%s", sets[i]->application, sets[i]->version);
	}
	if (same_application && !same_version)
		names.sentence = mem_format("%s %s", candidate->application, candidate->version);
	else
		names.sentence = mem_string(names.of[1]);
	return names;
}

static void names_release(struct report_names *names)
{
	mem_free(names->of[0], names->of[1], names->sentence);
}

int report_decimals(double ratio)
{
	int decimals = 3;

	while (decimals < 9 && ratio * pow(10, decimals) < 100)
		decimals++;
	return ratio >= 10 ? 2 : decimals;
}

struct text_number report_number(double ratio, int decimals)
{
	struct text_number out;

	if (ratio >= 1e6 || ratio < 1e-6)
		snprintf(out.text, sizeof(out.text), "%.3g", ratio);
	else
		snprintf(out.text, sizeof(out.text), "%.*f", decimals, ratio);
	return out;
}

/* ---- machines ---- */

ORDER_POINTERS_BY(compare_machines, struct fingerprint, BY_TEXT(machine) BY_UP(taken_ms) BY_TEXT(id))

/* The latest fingerprint that belongs to a run of this machine; NULL when none does. */
static const struct fingerprint *of_runs(const struct report *report, const char *machine)
{
	const struct run_set *sets[] = { report->verdict->baseline, report->verdict->candidate };
	const struct fingerprint *latest = NULL;

	for (int i = 0; i < 2; i++) {
		for (size_t k = 0; k < sets[i]->n; k++) {
			const struct fingerprint *f;

			if (!*sets[i]->items[k].fingerprint || strcmp(sets[i]->items[k].machine, machine) != 0)
				continue;
			f = fingerprint_find(&report->evidence->fingerprints, sets[i]->items[k].fingerprint);
			if (f && (!latest || f->taken_ms > latest->taken_ms))
				latest = f;
		}
	}
	return latest;
}

static bool is_used(const struct verdict *verdict, const struct fingerprint *f)
{
	for (size_t i = 0; i < verdict->pairing.n; i++) {
		if (verdict->pairing.machines[i].reason == PAIRING_USED && verdict->pairing.machines[i].fingerprint == f)
			return true;
	}
	return false;
}

static struct page_machines machines_of(const struct report *report)
{
	const struct pairing *p = &report->verdict->pairing;
	struct page_machines out = { mem_new(p->n, sizeof(*out.fingerprints)), mem_new(p->n, sizeof(bool)), 0 };

	for (size_t i = 0; i < p->n; i++) {
		const struct fingerprint *f = p->machines[i].fingerprint;
		bool known = false;

		if (!f)
			f = of_runs(report, p->machines[i].machine);
		for (size_t k = 0; k < out.n && !known; k++)
			known = out.fingerprints[k] == f;
		if (f && !known)
			out.fingerprints[out.n++] = f;
	}
	qsort(out.fingerprints, out.n, sizeof(*out.fingerprints), compare_machines);
	for (size_t i = 0; i < out.n; i++)
		out.used[i] = is_used(report->verdict, out.fingerprints[i]);
	return out;
}

static void machines_release(struct page_machines *machines)
{
	mem_free(machines->fingerprints, machines->used);
	*machines = (struct page_machines){ 0 };
}

/* ---- the answer ---- */

static char *headline_change(const struct verdict *v)
{
	double ratio = verdict_effect(v)->ratio;
	const char *verb = verdict_by_processor(v) ? "takes" : "costs", *of = verdict_by_processor(v) ? " processor time" : "";

	if (ratio >= 2)
		return mem_format("%s %.3g times as much%s as", verb, ratio, of);
	if (ratio >= 1)
		return mem_format("%s %.1f\u00a0%% more%s than", verb, 100 * (ratio - 1), of);
	return mem_format("%s %.1f\u00a0%% less%s than", verb, 100 * (1 - ratio), of);
}

/* One sentence, with marks. free() it. */
static char *headline_of(const struct verdict *v, const struct report_names *names)
{
	const struct effect *e = &v->effect;
	const char *baseline = names->of[0], *candidate = names->sentence;
	char *change, *out;

	if (verdict_always_fails(v))
		return mem_format("Every run of " DOC_NAME "%s" DOC_END " failed, %zu of " DOC_NAME "%s" DOC_END, candidate,
				  v->baseline->failed, baseline);
	if (verdict_around(v))
		return mem_format(DOC_NAME "%s" DOC_END " is slower than " DOC_NAME "%s" DOC_END ", by about %.3g\u00a0%%", candidate,
				  baseline, 100 * v->min_effect);
	switch (e->decision) {
	case DECISION_REGRESSION:
	case DECISION_IMPROVED:
		change = headline_change(v);
		out = mem_format(DOC_NAME "%s" DOC_END " %s " DOC_NAME "%s" DOC_END, candidate, change, baseline);
		free(change);
		return out;
	case DECISION_PASS:
		return mem_format(DOC_NAME "%s" DOC_END " is not slower than " DOC_NAME "%s" DOC_END " by %.3g\u00a0%% or more", candidate,
				  baseline, 100 * v->min_effect);
	case DECISION_NOTHING_MEASURED:
		return mem_format("Nothing was measured that compares " DOC_NAME "%s" DOC_END " with " DOC_NAME "%s" DOC_END, candidate,
				  baseline);
	default:
		return mem_format(isnan(e->low) ? "Too little was measured to compare " DOC_NAME "%s" DOC_END " with " DOC_NAME "%s" DOC_END
						: "It cannot be told yet whether " DOC_NAME "%s" DOC_END " is slower than " DOC_NAME
						  "%s" DOC_END,
				  candidate, baseline);
	}
}

static void add_answer(const struct verdict *v, const struct report_names *names, struct document *d)
{
	static const struct {
		const char *word;
		enum doc_tone tone;
	} looks[] = {
		[DECISION_PASS] = { "Pass", DOC_GOOD },
		[DECISION_IMPROVED] = { "Improved", DOC_GOOD },
		[DECISION_REGRESSION] = { "Regression", DOC_BAD },
		[DECISION_INCONCLUSIVE] = { "Inconclusive", DOC_DOUBTFUL },
		[DECISION_ENVIRONMENT] = { "Environment", DOC_DOUBTFUL },
		[DECISION_NOTHING_MEASURED] = { "Nothing measured", DOC_PLAIN },
	};
	enum decision decision = v->effect.decision;
	char *headline = headline_of(v, names);

	doc_answer(d, looks[decision].tone, looks[decision].word, "%s", headline);
	doc_style(d, "%s", decision_text(decision));
	doc_styled(d, "subject", DOC_NAME "%s@%s" DOC_END " \u2192 " DOC_NAME "%s@%s" DOC_END DOC_ASIDE " \u00b7 %s is better" DOC_END,
		   v->baseline->application, v->baseline->version, v->candidate->application, v->candidate->version,
		   v->baseline->higher_is_better ? "higher" : "lower");
	free(headline);
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
		html_format(out, "<rect class=\"%s\" x=\"%.2f%%\" y=\"%u\" width=\"%.2f%%\" height=\"%u\"/>", class, x, CHART_TOP, width,
			    CHART_FLOOR - CHART_TOP);
}

static void zone_label(const struct svg_axis *axis, double from, double to, const char *text, struct buf *out)
{
	double x = svg_x(axis, from), width = svg_x(axis, to) - x;

	if (width > 14)
		html_format(out, "<text class=\"zone\" x=\"%.2f%%\" y=\"12\">%s</text>", x + width / 2, text);
}

static void add_interval(const struct verdict *v, struct document *d)
{
	const struct effect *e = verdict_effect(v);
	struct buf svg = BUF_INIT;
	bool known = isfinite(e->low) && isfinite(e->high);
	double slower = 1 + v->min_effect, faster = 1 / slower;
	struct svg_axis axis =
	    svg_ratio_axis(fmin(known ? e->low : e->ratio, faster / 1.01), fmax(known ? e->high : e->ratio, slower * 1.01));

	html_format(&svg,
		    "<svg width=\"100%%\" height=\"%u\" role=\"img\" "
		    "aria-labelledby=\"interval-t\"><title id=\"interval-t\">Ratio of costs %.4g",
		    CHART_HEIGHT, e->ratio);
	if (known)
		html_format(&svg, ", %s interval %.4g to %.4g", effect_level(e->level).text, e->low, e->high);
	html_format(&svg, "; a slowdown matters from %.4g on</title>", slower);
	zone(&axis, "zone-faster", axis.low, faster, &svg);
	zone(&axis, "zone-slower", slower, axis.high, &svg);
	zone_label(&axis, axis.low, faster, "better", &svg);
	zone_label(&axis, faster, slower, "no difference that matters", &svg);
	zone_label(&axis, slower, axis.high, "worse", &svg);
	html_format(&svg, "<svg y=\"%u\" height=\"%u\">", CHART_TOP, CHART_FLOOR - CHART_TOP);
	svg_grid(&axis, &svg);
	svg_interval(&axis, e->ratio, e->low, e->high, SVG_DIAMOND, &svg);
	buf_text(&svg, "</svg>");
	svg_labels(&axis, CHART_FLOOR + 18, &svg);
	svg_close(&svg);
	doc_picture(d, NULL, &svg, "%s of the candidate as a multiple of the baseline\u2019s%s%s%s",
		    verdict_by_processor(v) ? "Processor time" : "Cost", known ? ", with its " : "",
		    known ? effect_level(e->level).text : "",
		    !known	? ""
		    : e->within ? " interval on these machines"
				: " interval");
	doc_style(d, "interval");
}

/* ---- numbers ---- */

static void add_ratio(const struct verdict *v, struct document *d)
{
	const struct effect *e = verdict_effect(v);
	int digits = report_decimals(e->ratio);
	char *more = isfinite(e->low) ? mem_format("%s interval %s to %s", effect_level(e->level).text, report_number(e->low, digits).text,
						   report_number(e->high, digits).text)
				      : mem_string("no interval: too little was measured");

	page_fact(d, verdict_by_processor(v) ? "Ratio of processor times" : "Ratio of costs", report_number(e->ratio, digits).text, more);
	free(more);
}

static void add_types(const struct verdict *v, struct document *d)
{
	size_t machines = 0, runs = 0;
	char *value, *more;

	for (size_t i = 0; i < v->pairing.n; i++) {
		machines += v->pairing.machines[i].reason == PAIRING_USED;
		runs += v->pairing.machines[i].baseline_runs + v->pairing.machines[i].candidate_runs;
	}
	value = mem_format("%zu", v->effect.types);
	more = mem_format("%zu machine%s, %zu results", machines, text_plural(machines), runs);
	page_fact(d, "Hardware types", value, more);
	mem_free(value, more);
}

static void add_detectable(const struct verdict *v, struct document *d)
{
	double least = verdict_effect(v)->minimum_detectable;
	char *matters = mem_format("%.3g\u00a0%%", 100 * v->min_effect), *value;

	page_fact(d, "Slowdown that matters", matters, "smaller ones are let pass");
	free(matters);
	if (isnan(least))
		return;
	value = mem_format("%s\u00a0%%", text_fixed(100 * least, least < .1 ? 2 : least < 1 ? 1 : 0).text);
	page_fact(d, "Slowdown it can find", value,
		  v->effect.within ? "four times in five, on these machines" : "four times in five, as the ratios spread here");
	free(value);
}

/* ---- words ---- */

static void add_reasons(const struct verdict *v, struct document *d)
{
	const char *emulated = NULL;

	doc_subheading(d, "Why");
	doc_list(d, NULL);
	doc_style(d, "reasons");
	for (size_t i = 0; i < v->n_reasons; i++) {
		const char *text = v->reasons[i].text;

		if (strcmp(v->reasons[i].code, VERDICT_EMULATED) == 0) {
			emulated = text; /* has a place of its own */
			continue;
		}
		doc_item(d, "%c%s.", *text >= 'a' && *text <= 'z' ? *text - 'a' + 'A' : *text, *text ? text + 1 : "");
		doc_data(d, "code", "%s", v->reasons[i].code);
	}
	doc_end(d);
	if (emulated)
		doc_styled(d, "note", DOC_STRONG "Emulated hosts." DOC_END " %s.", emulated);
}

static void add_days(const struct verdict *v, struct document *d)
{
	const struct run_set *sets[] = { v->baseline, v->candidate };
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (int i = 0; i < 2; i++) {
		for (size_t k = 0; k < sets[i]->n; k++) {
			first = sets[i]->items[k].taken_ms < first ? sets[i]->items[k].taken_ms : first;
			last = sets[i]->items[k].taken_ms > last ? sets[i]->items[k].taken_ms : last;
		}
	}
	page_days(d, "Measured", first, last, "");
}

static void add_decision(const struct verdict *v, const struct report_names *names, struct document *d)
{
	add_answer(v, names, d);
	if (v->effect.types) {
		add_interval(v, d);
		add_ratio(v, d);
		add_types(v, d);
		add_detectable(v, d);
	}
	doc_object(d, NULL);
	doc_style(d, "words");
	add_reasons(v, d);
	add_days(v, d);
	doc_end(d);
}

/* ---- what does not count ---- */

static void omit_stressors(const struct heatmap *map, const struct fingerprint_set *set, struct omissions *list)
{
	struct omission *omission;
	size_t n = 0;

	for (size_t j = 0; j < map->n_unmeasured; j++)
		omissions_one(list, "no rate on any of these machines", "stressor", "", "%s", set->stressors[map->unmeasured[j]]);
	for (size_t i = 0; i < map->z.rows * map->z.cols; i++)
		n += isnan(map->z.at[i]) != 0;
	if (!n)
		return;
	omission =
	    omissions_add(list, "no rate on some of the machines: these cells are empty, and the stressor is not held against the change",
			  "%zu cell%s of the heat map", n, text_plural(n));
	for (size_t j = 0; j < map->z.cols; j++) {
		size_t gaps = 0;

		for (size_t i = 0; i < map->z.rows; i++)
			gaps += isnan(mat_get(&map->z, i, j)) != 0;
		if (gaps)
			omission_name(omission, "%s (%zu of %zu)", set->stressors[map->stressors[j]], gaps, map->z.rows);
	}
}

static void add_left_out(const struct report *report, const struct heatmap *map, struct document *d)
{
	const struct pairing *p = &report->verdict->pairing;
	struct omissions own = { 0 };

	for (int reason = PAIRING_USED + 1; reason < PAIRING_REASONS; reason++) {
		for (size_t i = 0; i < p->n; i++) {
			if (p->machines[i].reason == (enum pairing_reason)reason)
				omissions_one(&own, pairing_text((enum pairing_reason)reason), "machine", "", "%s", p->machines[i].machine);
		}
	}
	if (map->incomparable)
		omissions_add(&own, "of another battery, version of stress-ng or architecture than most: not in the heat map",
			      "%zu fingerprint%s", map->incomparable, text_plural(map->incomparable));
	omit_stressors(map, &report->evidence->fingerprints, &own);
	omissions_section(d, &own, report->omissions);
	omissions_release(&own);
}

/* ---- how to read the page ---- */

static void add_method(const struct verdict *v, struct document *d)
{
	char *words[2] = { page_shell_word(v->baseline->application, v->baseline->version),
			   page_shell_word(v->candidate->application, v->candidate->version) };
	char *commands = mem_format("assay gate %s %s --min-effect %g --all\nassay profile %s\nassay profile %s", words[0], words[1],
				    v->min_effect, words[0], words[1]);
	double matters = 1 + v->min_effect;

	doc_section(d, "method", NULL, "How to read this page", NULL);
	page_term(
	    d, "Ratio of costs",
	    "The candidate's cost divided by the baseline's, whatever the metric's direction: above 1 is worse. The middle is the mean of "
	    "the hardware types' log ratios; the interval is Student's t over them, or, where they are fewer than %d, over the "
	    "repetitions within the machines.",
	    EFFECT_TYPES_MIN);
	page_term(
	    d, "Decision",
	    "Regression when the whole interval is above 1 and the ratio at least %.4g; improved when it is the other way round; pass when "
	    "the whole interval is below %.4g; else inconclusive.",
	    matters, matters);
	page_term(d, "Hardware type", "Machines of the same model. They count once, however many there are.");
	page_term(d, "Fingerprint",
		  "Rates of a battery of stress-ng stressors on a machine: bogo-operations per second of user and system time.");
	page_commands(d, commands);
	mem_free(commands, words[0], words[1]);
}

/* ---- the page ---- */

static void report_fill(const struct report *report, const struct report_names *names, struct document *d)
{
	const struct verdict *v = report->verdict;
	struct page_machines machines = machines_of(report);
	struct heatmap map;

	heatmap_of(&report->evidence->fingerprints, machines.fingerprints, machines.n, &map);
	add_decision(v, names, d);
	if (report->note)
		doc_line(d, "%s", report->note);
	report_change(d, v, report->contributions, names);
	if (report->weighed)
		variance_weighed_answer(report->weighed, d);
	report_functions(d, report->functions, report->likeness, verdict_of_cost(v));
	report_profiles(d, report->profiles, names);
	report_heatmap(d, &map, &report->evidence->fingerprints, &machines);
	page_conditions(d, report->evidence, &machines);
	add_left_out(report, &map, d);
	add_method(v, d);
	heatmap_release(&map);
	machines_release(&machines);
}

void report_page(const struct report *report, struct buf *out)
{
	const char *decision = decision_text(report->verdict->effect.decision);
	struct report_names names = names_of(report->verdict->baseline, report->verdict->candidate);
	char *title = mem_format("%s: %s against %s", decision, names.sentence, names.of[0]), *class = mem_format("d-%s", decision);
	struct html_page page = { .title = title,
				  .class = class,
				  .kind = "report",
				  .lab = report->config->name,
				  .first = "decision",
				  .about = "Decision",
				  .above = report->above };
	struct document d;

	document_init(&d);
	report_fill(report, &names, &d);
	html_page(&page, &d, out);
	document_release(&d);
	names_release(&names);
	mem_free(title, class);
}
