/* Writes the report. The decision with its interval comes first, and the commands that repeat the analysis come last. */
#include "gate/report/report.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "fingerprint/stored/fingerprint.h"
#include "gate/page/html.h"
#include "gate/page/svg.h"
#include "gate/page/page_parts.h"
#include "runs/running/execution.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Short names of the two versions: only the version if the applications are equal, only the application if the versions are, else both. */
struct report_names {
	char *names[2];
};

static struct report_names names_of(const struct run_set *baseline, const struct run_set *candidate)
{
	const struct run_set *sets[] = { baseline, candidate };
	bool same_application = strcmp(baseline->application, candidate->application) == 0;
	bool same_version = strcmp(baseline->version, candidate->version) == 0;
	struct report_names names;

	for (int i = 0; i < 2; i++) {
		if (same_application && !same_version)
			names.names[i] = mem_string(sets[i]->version);
		else if (same_version && !same_application)
			names.names[i] = mem_string(sets[i]->application);
		else
			names.names[i] = mem_format("%s@%s", sets[i]->application, sets[i]->version);
	}
	return names;
}

/* Returns the number of decimals for a ratio and its interval, so that at least three digits are significant. */
static int report_decimals(double ratio)
{
	int decimals = 3;

	while (decimals < 9 && ratio * pow(10, decimals) < 100)
		decimals++;
	return ratio >= 10 ? 2 : decimals;
}

/* Returns a ratio with `decimals` decimals, or in exponential form if it is very large or small. */
static struct text_number report_number(double ratio, int decimals)
{
	struct text_number out;

	if (ratio >= 1e6 || ratio < 1e-6)
		snprintf(out.text, sizeof(out.text), "%.3g", ratio);
	else
		snprintf(out.text, sizeof(out.text), "%.*f", decimals, ratio);
	return out;
}

ORDER_POINTERS_BY(compare_machines, struct fingerprint, BY_TEXT(machine) BY_ASC(taken_ms) BY_TEXT(id))

/* Returns the latest fingerprint of the runs on `machine`; NULL if there is none. */
static const struct fingerprint *of_runs(const struct verdict *verdict, const struct evidence *evidence, const char *machine)
{
	const struct run_set *sets[] = { verdict->baseline, verdict->candidate };
	const struct fingerprint *latest = NULL;

	for (int i = 0; i < 2; i++) {
		for (size_t k = 0; k < sets[i]->n; k++) {
			const struct fingerprint *f;

			if (!*sets[i]->items[k].fingerprint || strcmp(sets[i]->items[k].machine, machine) != 0)
				continue;
			f = fingerprint_find(&evidence->fingerprints, sets[i]->items[k].fingerprint);
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

static struct page_machines machines_collect(const struct verdict *verdict, const struct evidence *evidence)
{
	const struct pairing *p = &verdict->pairing;
	struct page_machines out = { mem_new(p->n, sizeof(*out.fingerprints)), mem_new(p->n, sizeof(bool)), 0 };

	for (size_t i = 0; i < p->n; i++) {
		const struct fingerprint *f = p->machines[i].fingerprint;
		bool known = false;

		if (!f)
			f = of_runs(verdict, evidence, p->machines[i].machine);
		for (size_t k = 0; k < out.n && !known; k++)
			known = out.fingerprints[k] == f;
		if (f && !known)
			out.fingerprints[out.n++] = f;
	}
	qsort(out.fingerprints, out.n, sizeof(*out.fingerprints), compare_machines);
	for (size_t i = 0; i < out.n; i++)
		out.used[i] = is_used(verdict, out.fingerprints[i]);
	return out;
}

static void machines_release(struct page_machines *machines)
{
	mem_free(machines->fingerprints, machines->used);
	*machines = (struct page_machines){ 0 };
}

#define CHART_HEIGHT 92u
#define CHART_TOP    18u /* below the labels of the zones */
#define CHART_FLOOR  66u /* y position of the axis */

/* Draws the zone between two ratios. `class` is its CSS class and sets the colour. */
static void draw_zone(const struct svg_axis *axis, const char *class, double from, double to, struct buf *out)
{
	double x = svg_position(axis, from), width = svg_position(axis, to) - x;

	if (width > 0)
		html_format(out, "<rect class=\"%s\" x=\"%.2f%%\" y=\"%u\" width=\"%.2f%%\" height=\"%u\"/>", class, x, CHART_TOP, width,
			    CHART_FLOOR - CHART_TOP);
}

static void draw_zone_label(const struct svg_axis *axis, double from, double to, const char *text, struct buf *out)
{
	double x = svg_position(axis, from), width = svg_position(axis, to) - x;

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
		html_format(&svg, ", %s interval %.4g to %.4g", effect_format_level(e->level).text, e->low, e->high);
	html_format(&svg, "; smallest slowdown that matters: %.4g</title>", slower);
	draw_zone(&axis, "zone-faster", axis.low, faster, &svg);
	draw_zone(&axis, "zone-slower", slower, axis.high, &svg);
	draw_zone_label(&axis, axis.low, faster, "better", &svg);
	draw_zone_label(&axis, faster, slower, "no difference that matters", &svg);
	draw_zone_label(&axis, slower, axis.high, "worse", &svg);
	html_format(&svg, "<svg y=\"%u\" height=\"%u\">", CHART_TOP, CHART_FLOOR - CHART_TOP);
	svg_grid(&axis, &svg);
	svg_interval(&axis, e->ratio, e->low, e->high, SVG_DIAMOND, &svg);
	buf_text(&svg, "</svg>");
	svg_labels(&axis, CHART_FLOOR + 18, &svg);
	svg_close(&svg);
	doc_picture(d, NULL, &svg, "%s of the candidate as a multiple of the baseline\u2019s%s%s%s",
		    verdict_is_by_cpu_time(v) ? "CPU time" : "Cost", known ? ", with its " : "",
		    known ? effect_format_level(e->level).text : "",
		    !known	? ""
		    : e->within ? " interval on these machines"
				: " interval");
	doc_style(d, "interval");
}

static void add_ratio(const struct verdict *v, struct document *d)
{
	const struct effect *e = verdict_effect(v);
	int digits = report_decimals(e->ratio);
	char *more = isfinite(e->low) ? mem_format("%s interval %s to %s", effect_format_level(e->level).text,
						   report_number(e->low, digits).text, report_number(e->high, digits).text)
				      : mem_string("no interval: too few results");

	page_add_fact(d, verdict_is_by_cpu_time(v) ? "Ratio of CPU times" : "Ratio of costs", report_number(e->ratio, digits).text, more);
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
	page_add_fact(d, "Hardware types", value, more);
	mem_free(value, more);
}

static void add_detectable(const struct verdict *v, struct document *d)
{
	double least = verdict_effect(v)->minimum_detectable;
	char *matters = mem_format("%.3g\u00a0%%", 100 * v->min_effect), *value;

	page_add_fact(d, "Slowdown that matters", matters, "smaller ones are let pass");
	free(matters);
	if (isnan(least))
		return;
	value = mem_format("%s\u00a0%%", text_fixed(100 * least, least < .1 ? 2 : least < 1 ? 1 : 0).text);
	page_add_fact(d, "Smallest slowdown it can find", value,
		      v->effect.within ? "with power 0.8, on these machines" : "with power 0.8, given the spread of the ratios");
	free(value);
}

static void add_reasons(const struct verdict *v, struct document *d)
{
	const char *emulated = NULL;

	doc_subheading(d, "Why");
	doc_list(d, NULL);
	doc_style(d, "reasons");
	for (size_t i = 0; i < v->n_reasons; i++) {
		const char *text = v->reasons[i].text;

		if (strcmp(v->reasons[i].code, VERDICT_EMULATED) == 0) {
			emulated = text; /* shown after the other reasons */
			continue;
		}
		doc_item(d, "%c%s.", *text >= 'a' && *text <= 'z' ? *text - 'a' + 'A' : *text, *text ? text + 1 : "");
		doc_attribute(d, "code", "%s", v->reasons[i].code);
	}
	doc_end(d);
	if (emulated)
		doc_styled_line(d, "note", DOC_STRONG "Emulated hosts." DOC_END " %s.", emulated);
}

static void add_days(const struct verdict *v, struct document *d)
{
	const struct run_set *sets[] = { v->baseline, v->candidate };
	int64_t first = INT64_MAX, last = INT64_MIN;
	char from[TEXT_DATE_BYTES], to[TEXT_DATE_BYTES];

	for (int i = 0; i < 2; i++) {
		for (size_t k = 0; k < sets[i]->n; k++) {
			first = sets[i]->items[k].taken_ms < first ? sets[i]->items[k].taken_ms : first;
			last = sets[i]->items[k].taken_ms > last ? sets[i]->items[k].taken_ms : last;
		}
	}
	if (first > last)
		return;
	text_from_ms(first, from);
	text_from_ms(last, to);
	if (strncmp(from, to, 10) == 0)
		doc_styled_line(d, "muted dates", "Measured on %.10s (UTC)", from);
	else
		doc_styled_line(d, "muted dates", "Measured from %.10s to %.10s (UTC)", from, to);
}

static void add_decision(const struct verdict *v, const char *cause, struct document *d)
{
	verdict_describe_decision(v, "", d);
	doc_style(d, "%s", decision_text(v->effect.decision));
	doc_styled_line(d, "subject", "%s is better", v->baseline->higher_is_better ? "higher" : "lower");
	if (cause && *cause)
		doc_styled_line(d, "finding", "%s", cause);
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

#define GROUPS_SHOWN 10 /* maximum number of contributions in the table */

static void add_ratios(const struct verdict *v, struct document *d)
{
	doc_section(d, "ratios", "Machines", "The ratio on each machine",
		    "Each machine is compared with itself: the candidate's cost as a multiple of the baseline's, above 1 is worse. A "
		    "machine's interval comes from its own repetitions. Machines of one hardware type are averaged first, and each type "
		    "has the same weight. The band is the interval over all types.");
	if (verdict_is_by_cpu_time(v))
		doc_styled_line(d, "note", "These are ratios of the metric; the decision rests on CPU time.");
	verdict_describe_machines(v, false, SIZE_MAX, d);
	if (!v->pairing.used)
		doc_styled_line(d, "empty",
				"No machine has comparable results of both versions; excluded results are listed under " DOC_MARK(
				    "#left-out") "Excluded" DOC_END ".");
}

static void add_change(const struct comparison *comparison, struct document *d)
{
	const struct verdict *v = &comparison->verdict;
	bool guesses = !comparison->measured.machines;

	add_ratios(v, d);
	contributions_describe(&comparison->contributions, guesses || comparison->contributions.n_leading ? GROUPS_SHOWN : 0, d);
	if (v->effect.types)
		verdict_describe_pattern(v, guesses, d);
}

#define COUNTERS_SHOWN 6
#define LINES_BEFORE   2
#define LINES_AFTER    12

static void counter_row(const struct detected *detected, const struct detection_column *c, struct document *d)
{
	struct counter_info about = counter_info(detected->back_end, detected->seen.columns[c->column]);
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

static void add_source(const struct place *place, struct document *d)
{
	unsigned first = place->line > LINES_BEFORE ? place->line - LINES_BEFORE : 1, last = place->line + LINES_AFTER, line = 1;
	static const char blanks[] = "                                "; /* eight tabs of four columns */
	struct buf text = BUF_INIT, shown = BUF_INIT;
	char *rest, *one;

	if (place->line && place_read_source(place, &text)) {
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

static void add_function(const struct detected *detected, const struct detected_function *f, size_t i, struct document *d)
{
	doc_subheading(d, DOC_NAME "%s" DOC_END, f->name);
	doc_set_id(d, REPORT_FUNCTION_ID, i + 1);
	doc_attribute(d, "function", "%s", f->name);
	doc_attribute(d, "kind", "%s", trouble_code(f->kind.trouble));
	add_counters(detected, f, d);
	if (f->place && f->place->file)
		add_source(f->place, d);
}

static void add_functions(const struct function_evidence *e, enum decision decision, struct document *d)
{
	size_t anomalous = e->has_result ? e->detected.n_worse + e->detected.n_improved : 0;

	function_evidence_add_lines(e, decision, d);
	doc_list(d, NULL);
	doc_style(d, "names");
	for (size_t i = 0; i < anomalous && i < REPORT_FUNCTIONS; i++)
		doc_item(d, "\1#" REPORT_FUNCTION_ID "\2%s\3", i + 1, e->detected.functions[i].name);
	doc_end(d);
	for (size_t i = 0; i < anomalous && i < REPORT_FUNCTIONS; i++)
		add_function(&e->detected, &e->detected.functions[i], i, d);
}

static void omit_machines(const struct pairing *p, struct omissions *list)
{
	for (int reason = PAIRING_USED + 1; reason < PAIRING_REASONS; reason++) {
		for (size_t i = 0; i < p->n; i++) {
			if (p->machines[i].reason == (enum pairing_reason)reason)
				omissions_add_name(list, pairing_text((enum pairing_reason)reason), "machine", "", "%s",
						   p->machines[i].machine);
		}
	}
}

/* Reports whether failures of `plan` on `machine` count. They count if the results of this plan count on this machine. */
static bool run_set_counts(const struct run_set *set, const char *machine, const char *plan)
{
	for (size_t i = 0; i < set->n_executed_machines; i++) {
		if (strcmp(set->executed_on[i].machine, machine) == 0)
			return strcmp(set->executed_on[i].plan, plan) == 0;
	}
	return false;
}

/* Lists the failed runs of the current build, which the decision takes into account. */
static enum assay_status omit_failures(struct store *store, const struct run_set *runs, struct omissions *list, struct assay_error *err)
{
	struct execution_rows rows = { 0 };
	enum assay_status st = execution_load_failures(store, runs->application, runs->version, false, &rows, err);
	char *rest = mem_format(" of %s@%s", runs->application, runs->version);

	for (int outcome = 0; !st && outcome < EXECUTION_OUTCOMES; outcome++) {
		for (size_t i = 0; i < rows.n; i++) {
			const struct execution_row *row = &rows.items[i];

			if (row->outcome == (enum execution_outcome)outcome && run_set_counts(runs, row->machine, row->plan))
				omissions_add_name(list, execution_outcome_text(row->outcome), "run", rest, "%s, repetition %lld%s%s",
						   row->machine, (long long)row->repetition, *row->detail ? ": " : "", row->detail);
		}
	}
	free(rest);
	execution_rows_release(&rows);
	return st;
}

/* Lists the machines with results that are excluded for one reason: disturbed runs, or runs of another build. */
static void omit_results(const struct run_set *runs, bool disturbed, const char *why, struct omissions *list)
{
	struct omission *omission;
	const char *last = "";
	size_t n = 0;

	for (size_t i = 0; i < runs->n_others; i++)
		n += runs->others[i].disturbed == disturbed;
	if (!n)
		return;
	omission = omissions_add(list, why, "%zu result%s of %s@%s", n, text_plural(n), runs->application, runs->version);
	for (size_t i = 0; i < runs->n_others; i++) {
		const struct run *run = &runs->others[i];

		if (run->disturbed == disturbed && strcmp(run->machine, last) != 0)
			omission_add_name(omission, "%s", last = run->machine);
	}
}

/* Lists for each version how many runs have samples of another build than that of the results. */
static void omit_samples(const struct function_evidence *functions, struct omissions *list)
{
	for (int i = 0; i < 2; i++)
		if (functions->has_result && functions->sides[i].others)
			omissions_add(list, "of another build than that of its results", "Samples of %zu run%s of %s",
				      functions->sides[i].others, text_plural(functions->sides[i].others), functions->sides[i].label);
}

/* Returns "application@version", quoted for a shell. free() it. */
static char *shell_argument(const struct run_set *runs)
{
	char *plain = mem_format("%s@%s", runs->application, runs->version);
	struct buf out = BUF_INIT;

	text_add_shell_argument(&out, plain);
	free(plain);
	return buf_take(&out);
}

static void add_method(const struct verdict *v, struct document *d)
{
	char *words[2] = { shell_argument(v->baseline), shell_argument(v->candidate) };
	char *commands = mem_format("assay gate %s %s --min-effect %g --all\nassay profile %s\nassay profile %s", words[0], words[1],
				    v->min_effect, words[0], words[1]);

	doc_section(d, "method", NULL, "The same again", NULL);
	doc_raw(d, commands);
	mem_free(commands, words[0], words[1]);
}

static void report_fill(const struct report *report, const struct evidence *evidence, const struct report_names *names,
			const struct omissions *omissions, struct document *d)
{
	const struct comparison *c = report->comparison;
	const struct verdict *v = &c->verdict;
	struct page_machines machines = machines_collect(v, evidence);

	add_decision(v, c->cause, d);
	if (report->note)
		doc_line(d, "%s", report->note);
	calibration_describe(&c->calibration, d);
	measured_describe(&c->measured, NULL, (const char *const[]){ names->names[0], names->names[1] }, d);
	add_change(c, d);
	if (v->times.is_metric_wall_time) {
		doc_section(d, "conditions", "Conditions", "Was it the machines?",
			    "Other times of the same runs, each compared like the metric, and the time that runs waited for a CPU used by "
			    "other programs.");
		verdict_describe_times(&v->times, d);
	}
	variance_effect_describe(&c->weighed, d);
	add_functions(&c->functions, verdict_cost_decision(&c->verdict), d);
	likeness_describe(&c->likeness, d);
	page_fingerprints(d, evidence, &machines);
	omissions_section(d, omissions);
	add_method(v, d);
	machines_release(&machines);
}

static void report_page(const struct report *report, const struct evidence *evidence, const char *lab, const struct omissions *omissions,
			struct buf *out)
{
	const struct verdict *v = &report->comparison->verdict;
	const char *decision = decision_text(v->effect.decision);
	struct report_names names = names_of(v->baseline, v->candidate);
	char *title = mem_format("%s: %s, %s against %s", decision, v->candidate->application, names.names[1], names.names[0]);
	char *class = mem_format("d-%s", decision);
	struct html_page page = { .title = title,
				  .class = class,
				  .kind = "report",
				  .lab = lab,
				  .first = "decision",
				  .about = "Decision",
				  .top_links = report->top_links };
	struct document d;

	document_init(&d);
	report_fill(report, evidence, &names, omissions, &d);
	html_page(&page, &d, out);
	document_release(&d);
	mem_free(names.names[0], names.names[1], title, class);
}

static void report_summary_fill(const struct function_evidence *e, struct report_summary *out)
{
	*out = (struct report_summary){ .n = 0 };
	if (!e->has_result)
		return;
	out->changed = e->detected.n_worse + e->detected.n_improved;
	for (; out->n < out->changed && out->n < REPORT_FUNCTIONS; out->n++)
		out->functions[out->n] = mem_string(e->detected.functions[out->n].name);
}

void report_summary_release(struct report_summary *found)
{
	for (size_t i = 0; i < found->n; i++)
		free(found->functions[i]);
	*found = (struct report_summary){ .n = 0 };
}

enum assay_status report_write(struct lab *lab, const struct evidence *evidence, const struct report *report, const char *path,
			       struct report_summary *found, struct assay_error *err)
{
	const struct verdict *v = &report->comparison->verdict;
	const struct run_set *const sides[] = { v->baseline, v->candidate };
	struct omissions omissions = { 0 };
	struct buf page = BUF_INIT;
	enum assay_status st = ASSAY_OK;

	if (found)
		report_summary_fill(&report->comparison->functions, found);
	omit_machines(&v->pairing, &omissions);
	for (int i = 0; i < 2; i++) {
		omit_results(sides[i], false, "of another build than that of its latest runs", &omissions);
		omit_results(sides[i], true, "disturbed by what else the machine did", &omissions);
	}
	omit_samples(&report->comparison->functions, &omissions);
	for (int i = 0; !st && i < 2; i++)
		st = omit_failures(&lab->store, sides[i], &omissions, err);
	if (!st) {
		report_page(report, evidence, lab->config.name, &omissions, &page);
		st = (report->is_unsynced ? file_replace_unsynced : file_replace)(path, page.bytes, page.size, 0644, err);
	}
	omissions_release(&omissions);
	buf_release(&page);
	return st;
}
