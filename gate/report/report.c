/* The report put together: the decision, the interval that it rests on and how sure it is first; how to read the page last. */
#include "gate/report/report.h"

#include "base/linkage.h"
#include "base/mat.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/text.h"
#include "fingerprint/stored/fingerprint.h"
#include "gate/comparison/calibration.h"
#include "gate/page/document_html.h"
#include "gate/page/html.h"
#include "gate/page/svg.h"
#include "gate/report/sections.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- fingerprints as a picture ---- */

/* Fingerprints of many machines as one picture: how far each stressor's rate is from the mean of the machines, with machines and
 * stressors that are alike standing together. */

struct heatmap {
	const struct fingerprint **fingerprints; /* [z.rows], in order of similarity; borrowed */
	size_t *stressors;			 /* [z.cols], index into the set's stressors, in order of similarity */
	struct mat z;	     /* (log of the median rate - mean) / standard deviation over the rows; NaN where it was not measured, 0 in a
			      * column that is the same everywhere */
	struct mat rate;     /* the medians, per second of usr+sys time; NaN where there is none */
	size_t incomparable; /* fingerprints that were left out: of another battery, stress-ng or architecture than most */
	size_t *unmeasured;  /* [n_unmeasured], stressors of these fingerprints that have no rate on any of the machines */
	size_t n_unmeasured;
};

/* The kind of fingerprint that most of them are; the first of equals. */
static const struct fingerprint *heatmap_kind(const struct fingerprint *const *chosen, size_t n)
{
	const struct fingerprint *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < n; i++) {
		size_t count = 0;

		for (size_t j = 0; j < n; j++)
			count += fingerprint_comparable(chosen[i], chosen[j]);
		if (count > most) {
			most = count;
			best = chosen[i];
		}
	}
	return best;
}

/* Whether a stressor was tried under this fingerprint: it has a rate, a recorded 0, or a reason for having none. */
static bool heatmap_tried(const struct fingerprint_set *set, const struct fingerprint *f, size_t stressor, struct fingerprint_summary *s)
{
	*s = fingerprint_summarise(set, f, stressor);
	return s->measured || s->zero || (f->reasons && f->reasons[stressor]);
}

/* Medians of all stressors that have one; fills map->rate, stressors and unmeasured. */
static void heatmap_rates(const struct fingerprint_set *set, struct heatmap *map)
{
	size_t rows = map->rate.rows, p = set->n_stressors, cols = 0;
	double *column = mem_new(rows, sizeof(double));

	map->rate = mat_new(rows, p);
	for (size_t j = 0; j < p; j++) {
		size_t measured = 0, tried = 0;

		for (size_t i = 0; i < rows; i++) {
			struct fingerprint_summary s;

			tried += heatmap_tried(set, map->fingerprints[i], j, &s);
			measured += s.measured > 0;
			column[i] = s.median;
		}
		if (measured) {
			for (size_t i = 0; i < rows; i++)
				mat_set(&map->rate, i, cols, column[i]);
			map->stressors[cols++] = j;
		} else if (tried) {
			map->unmeasured[map->n_unmeasured++] = j;
		}
	}
	for (size_t i = 0; i < rows; i++) /* close up */
		memmove(&map->rate.at[i * cols], &map->rate.at[i * p], cols * sizeof(double));
	map->rate.cols = cols;
	free(column);
}

static void standardise_column(const struct heatmap *map, size_t j, double *logs)
{
	size_t rows = map->z.rows, n = 0;
	double mean, sd;

	for (size_t i = 0; i < rows; i++) {
		if (!isnan(mat_get(&map->rate, i, j)))
			logs[n++] = log(mat_get(&map->rate, i, j));
	}
	mean = stats_mean(logs, n);
	sd = stats_sd(logs, n);
	if (!(sd > 1e-12 * fmax(1, fabs(mean)))) /* only rounding */
		sd = (double)INFINITY;
	for (size_t i = 0; i < rows; i++)
		map->z.at[i * map->z.cols + j] = (log(mat_get(&map->rate, i, j)) - mean) / sd;
}

static void heatmap_standardise(struct heatmap *map)
{
	double *logs = mem_new(map->rate.rows, sizeof(double));

	map->z = mat_new(map->rate.rows, map->rate.cols);
	for (size_t j = 0; j < map->z.cols; j++)
		standardise_column(map, j, logs);
	free(logs);
}

/* ---- order ---- */

/* Element k of item i: of a row, or of a column. */
static double heatmap_element(const struct mat *z, bool of_rows, size_t i, size_t k)
{
	return of_rows ? mat_get(z, i, k) : mat_get(z, k, i);
}

static double heatmap_distance(const struct mat *z, bool of_rows, size_t a, size_t b)
{
	size_t n = of_rows ? z->cols : z->rows, common = 0;
	double sum = 0;

	for (size_t k = 0; k < n; k++) {
		double difference = heatmap_element(z, of_rows, a, k) - heatmap_element(z, of_rows, b, k);

		if (isnan(difference))
			continue;
		sum += difference * difference;
		common++;
	}
	return common ? sqrt(sum * (double)n / (double)common) : 2 * sqrt((double)n); /* nothing in common: as far as anything */
}

static size_t *heatmap_order(const struct mat *z, bool of_rows)
{
	size_t n = of_rows ? z->rows : z->cols;
	size_t *order = mem_new(n, sizeof(size_t));
	struct mat distance = mat_new(n, n);

	for (size_t a = 0; a < n; a++) {
		for (size_t b = a + 1; b < n; b++) {
			double d = heatmap_distance(z, of_rows, a, b);

			mat_set(&distance, a, b, d);
			mat_set(&distance, b, a, d);
		}
	}
	linkage_order(&distance, order);
	mat_release(&distance);
	return order;
}

static void heatmap_permute(struct mat *m, const size_t *rows, const size_t *cols)
{
	struct mat out = mat_new(m->rows, m->cols);

	for (size_t i = 0; i < m->rows; i++) {
		for (size_t j = 0; j < m->cols; j++)
			mat_set(&out, i, j, mat_get(m, rows[i], cols[j]));
	}
	mat_release(m);
	*m = out;
}

static void heatmap_sort(struct heatmap *map)
{
	size_t *rows = heatmap_order(&map->z, true), *cols = heatmap_order(&map->z, false);
	const struct fingerprint **fingerprints = mem_new(map->z.rows, sizeof(*fingerprints));
	size_t *stressors = mem_new(map->z.cols, sizeof(size_t));

	for (size_t i = 0; i < map->z.rows; i++)
		fingerprints[i] = map->fingerprints[rows[i]];
	for (size_t j = 0; j < map->z.cols; j++)
		stressors[j] = map->stressors[cols[j]];
	heatmap_permute(&map->z, rows, cols);
	heatmap_permute(&map->rate, rows, cols);
	mem_free(map->fingerprints, map->stressors);
	map->fingerprints = fingerprints;
	map->stressors = stressors;
	mem_free(rows, cols);
}

/* chosen[n] are of the set, no two the same. Order: average linkage (base/linkage.h) on Euclidean distances of z, over what both have
 * measured, scaled up to all. O(n^2 p + n p^2). *out is overwritten; heatmap_release() it. */
static void heatmap_of(const struct fingerprint_set *set, const struct fingerprint *const *chosen, size_t n, struct heatmap *out)
{
	const struct fingerprint *kind = heatmap_kind(chosen, n);
	struct heatmap map = { .fingerprints = mem_new(n, sizeof(struct fingerprint *)),
			       .stressors = mem_new(set->n_stressors, sizeof(size_t)),
			       .unmeasured = mem_new(set->n_stressors, sizeof(size_t)) };

	for (size_t i = 0; i < n; i++) {
		if (fingerprint_comparable(chosen[i], kind))
			map.fingerprints[map.rate.rows++] = chosen[i];
		else
			map.incomparable++;
	}
	heatmap_rates(set, &map);
	heatmap_standardise(&map);
	heatmap_sort(&map);
	*out = map;
}

static void heatmap_release(struct heatmap *map)
{
	mem_free(map->fingerprints, map->stressors, map->unmeasured);
	mat_release(&map->z);
	mat_release(&map->rate);
	*map = (struct heatmap){ 0 };
}

/* ---- the section: a table, so that it can be read aloud, copied and printed ---- */

#define FARTHEST 2.5 /* standard deviations: the ends of the colours */
#define FEW	 24  /* stressors: there is room for wider cells */

static void heatmap_row(const struct heatmap *map, size_t i, const struct fingerprint_set *set, bool used, struct document *d)
{
	doc_row(d);
	doc_style(d, used ? "used" : "unused");
	doc_show(d, NULL, "Machine", map->fingerprints[i]->machine);
	for (size_t j = 0; j < map->z.cols; j++) {
		const char *stressor = set->stressors[map->stressors[j]];
		double z = mat_get(&map->z, i, j);

		doc_showf(d, NULL, stressor, z, "%s", page_signed(z, 1).text);
		if (isnan(z)) {
			doc_style(d, "hx");
			continue;
		}
		page_colour(d, z, FARTHEST, "");
		doc_data(d, "r", "%.3g", mat_get(&map->rate, i, j));
	}
}

static void heatmap_table(const struct heatmap *map, const struct fingerprint_set *set, const struct page_machines *machines,
			  struct document *d)
{
	const struct fingerprint *f = map->fingerprints[0];
	struct buf text = BUF_INIT;
	size_t unused = 0;

	page_colours(d, "slower than most", "faster than most", FARTHEST, "z from \u22122.5 to +2.5", true);
	doc_table(d, NULL);
	doc_style(d, map->z.cols <= FEW ? "heat wide few" : "heat wide");
	doc_caption(d, "Heat map of fingerprints");
	doc_column(d, "Machine", "corner");
	for (size_t j = 0; j < map->z.cols; j++)
		page_column(d, set->stressors[map->stressors[j]]);
	for (size_t i = 0; i < map->z.rows; i++) {
		bool used = false;

		for (size_t k = 0; k < machines->n; k++)
			used |= machines->fingerprints[k] == map->fingerprints[i] && machines->used[k];
		heatmap_row(map, i, set, used, d);
		unused += !used;
	}
	doc_end(d);
	buf_format(&text, "%zu machine%s, %zu stressors. Battery %s, stress-ng: %s, architecture: %s.", map->z.rows,
		   text_plural(map->z.rows), map->z.cols, f->battery, f->stress_ng, f->architecture);
	if (unused)
		buf_format(&text, " %zu of the machines, in italics, %s not part of the comparison.", unused, unused == 1 ? "is" : "are");
	doc_styled(d, "muted", "%s", text.bytes);
	buf_release(&text);
}

static void report_heatmap(struct document *d, const struct heatmap *map, const struct fingerprint_set *set,
			   const struct page_machines *machines)
{
	doc_section(
	    d, "fingerprints", "Fingerprints", "The machines' fingerprints",
	    "How fast each machine is at each stressor, against the mean of these machines: z-scores of the logarithms of the rates. "
	    "Machines that are alike stand together, and so do stressors.");
	if (map->z.rows && map->z.cols) {
		heatmap_table(map, set, machines, d);
	} else
		doc_styled(d, "empty",
			   "None of these results belongs to a fingerprint. " DOC_CODE "assay fingerprint run" DOC_END
			   " takes fingerprints.");
}

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
	return names;
}

static void names_release(struct report_names *names)
{
	mem_free(names->of[0], names->of[1]);
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
	const struct run_set *sets[] = { report->comparison->verdict.baseline, report->comparison->verdict.candidate };
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
	const struct pairing *p = &report->comparison->verdict.pairing;
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
		out.used[i] = is_used(&report->comparison->verdict, out.fingerprints[i]);
	return out;
}

static void machines_release(struct page_machines *machines)
{
	mem_free(machines->fingerprints, machines->used);
	*machines = (struct page_machines){ 0 };
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
		doc_styled(d, "muted dates", "Measured on %.10s (UTC)", from);
	else
		doc_styled(d, "muted dates", "Measured from %.10s to %.10s (UTC)", from, to);
}

static void add_decision(const struct verdict *v, const char *cause, struct document *d)
{
	verdict_answer_first(v, "", d);
	doc_style(d, "%s", decision_text(v->effect.decision));
	doc_styled(d, "subject", "%s is better", v->baseline->higher_is_better ? "higher" : "lower");
	if (cause && *cause)
		doc_styled(d, "finding", "%s", cause);
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
	const struct pairing *p = &report->comparison->verdict.pairing;
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

/* Explains a word of the page. */
static void __attribute__((format(printf, 3, 4))) add_term(struct document *d, const char *term, const char *fmt, ...)
{
	char *text;

	mem_formatted(text, fmt);
	doc_entry(d, term);
	doc_style(d, "method");
	doc_line(d, "%s", text);
	doc_end(d);
	free(text);
}

/* Returns the selector of a version as a word for a shell. free() it. */
static char *shell_word(const struct run_set *runs)
{
	char *plain = mem_format("%s@%s", runs->application, runs->version);
	struct buf out = BUF_INIT;

	text_add_shell_word(&out, plain);
	free(plain);
	return buf_take(&out);
}

static void add_method(const struct verdict *v, struct document *d)
{
	char *words[2] = { shell_word(v->baseline), shell_word(v->candidate) };
	char *commands = mem_format("assay gate %s %s --min-effect %g --all\nassay profile %s\nassay profile %s", words[0], words[1],
				    v->min_effect, words[0], words[1]);
	double matters = 1 + v->min_effect;

	doc_section(d, "method", NULL, "How to read this page", NULL);
	add_term(
	    d, "Ratio of costs",
	    "The candidate's cost divided by the baseline's, whatever the metric's direction: above 1 is worse. The middle is the mean of "
	    "the hardware types' log ratios; the interval is Student's t over them, or, where they are fewer than %d, over the "
	    "repetitions within the machines.",
	    EFFECT_TYPES_MIN);
	add_term(
	    d, "Decision",
	    "Regression when the whole interval is above 1 and the ratio at least %.4g; improved when it is the other way round; pass when "
	    "the whole interval is below %.4g; else inconclusive.",
	    matters, matters);
	add_term(d, "Hardware type", "Machines of the same model. They count once, however many there are.");
	add_term(d, "Fingerprint",
		 "Rates of a battery of stress-ng stressors on a machine: bogo-operations per second of user and system time.");
	doc_subheading(d, "The same again");
	doc_raw(d, commands);
	mem_free(commands, words[0], words[1]);
}

/* ---- the page ---- */

static void report_fill(const struct report *report, const struct report_names *names, struct document *d)
{
	const struct comparison *c = report->comparison;
	const struct verdict *v = &c->verdict;
	struct page_machines machines = machines_of(report);
	struct heatmap map;

	heatmap_of(&report->evidence->fingerprints, machines.fingerprints, machines.n, &map);
	add_decision(v, c->cause, d);
	if (report->note)
		doc_line(d, "%s", report->note);
	calibration_answer(&c->calibration, d);
	measured_answer(&c->measured, NULL, (const char *const[]){ names->of[0], names->of[1] }, d);
	report_change(d, c);
	variance_weighed_answer(&c->weighed, d);
	report_functions(d, c);
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
	const char *decision = decision_text(report->comparison->verdict.effect.decision);
	struct report_names names = names_of(report->comparison->verdict.baseline, report->comparison->verdict.candidate);
	const char *application = report->comparison->verdict.candidate->application;
	char *title = mem_format("%s: %s, %s against %s", decision, application, names.of[1], names.of[0]);
	char *class = mem_format("d-%s", decision);
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
