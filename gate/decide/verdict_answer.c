/* Adds a verdict to a document. */
#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/text.h"
#include "gate/decide/verdict.h"
#include "gate/page/html.h"
#include "gate/page/svg.h"

#include <math.h>

#define MACHINES_SHOWN 8 /* maximum number of machines in the table; must be even */

/* Returns the name of a version for users: "application@version", or "'command'" if there is no application. free() it. */
static char *side_name(const struct run_set *side)
{
	return *side->application ? mem_format(DOC_NAME "%s@%s" DOC_END, side->application, side->version)
				  : mem_format("'" DOC_NAME "%s" DOC_END "'", side->version);
}

/* Adds the first line: "B costs 2.49 times as much as A (2.12 to 2.92): CAUSE". The ratio is that of the time that decided. */
void verdict_describe_decision(const struct verdict *v, const char *cause, struct document *d)
{
	const struct run_set *a = v->baseline, *b = v->candidate, *fails = verdict_always_fails(v) ? b : a, *other = fails == b ? a : b;
	enum decision decision = v->effect.decision;
	bool processor = verdict_is_by_cpu_time(v);
	const struct effect *e = verdict_effect(v);
	int decimals = e->ratio < .5 || fabs(e->ratio - 1) < .1 ? 3 : 2;
	char *interval, *text, *why, *names[] = { side_name(a), side_name(b) };

	interval = isnan(e->low) ? mem_string("no interval")
				 : mem_format("%s to %s", text_fixed(e->low, decimals).text, text_fixed(e->high, decimals).text);
	why = decision_first_reason(decision, v->reasons[0].code, v->reasons[0].text);
	if (!e->types && fails->n_executed && fails->failed == fails->n_executed && !verdict_never_starts(v))
		text = mem_format("every run of %s failed (%zu of %zu); of %s %zu", names[fails == b], fails->failed, fails->n_executed,
				  names[fails == a], other->failed);
	else if (!e->types)
		text = mem_format("%s cannot be compared with %s", names[1], names[0]);
	else
		text = mem_format("%s%s%s %s %s times as much %s%s (%s)%s%s", why, *why ? "; " : "", names[1],
				  processor ? "takes" : "costs", text_fixed(e->ratio, decimals).text, processor ? "CPU time as " : "as ",
				  names[0], interval, *cause ? ": " : "", cause);
	doc_answer(d, decision_tone(decision), decision_text(decision), "%s", text);
	mem_free(interval, why, text, names[0], names[1]);
}

/* Adds the object `key` with application and version of the baseline or the candidate. */
static void side_describe(const char *key, const struct run_set *set, struct document *d)
{
	doc_object(d, key);
	doc_set(d, "application", set->application);
	doc_set(d, "version", set->version);
	doc_end(d);
}

static void describe_decision(const struct verdict *v, struct document *d)
{
	doc_set(d, "decision", decision_text(v->effect.decision));
	doc_list(d, "reasons");
	for (size_t i = 0; i < v->n_reasons; i++)
		doc_reason(d, v->reasons[i].code, v->reasons[i].text);
	doc_end(d);
	side_describe("baseline", v->baseline, d);
	side_describe("candidate", v->candidate, d);
	doc_set_bool(d, "higher_is_better", v->baseline->higher_is_better);
	doc_set(d, "min_effect", v->min_effect);
}

static void describe_effect(const struct verdict *v, struct document *d)
{
	const struct effect *e = &v->effect;

	doc_object(d, "effect");
	doc_set(d, "ratio", e->types ? e->ratio : (double)NAN);
	doc_set(d, "low", e->low);
	doc_set(d, "high", e->high);
	doc_set(d, "level", e->level);
	doc_set(d, "hardware_types", e->types);
	doc_set_bool(d, "these_machines_only", e->within);
	doc_set(d, "uniform",
		v->effect_pattern == PATTERN_NOT_TESTED ? DOC_NULL_VALUE : doc_value_bool(v->effect_pattern != PATTERN_OTHER_RESOURCE));
	doc_set(d, "shape_p", e->pattern_p);
	doc_end(d);
	if (!e->types)
		return;
	doc_line(d, "%s", "");
	if (isnan(e->low))
		doc_showf(d, NULL, "ratio of costs", e->ratio, "%s, above 1 is worse; from %zu hardware type%s",
			  text_fixed(e->ratio, 4).text, e->types, text_plural(e->types));
	else
		doc_showf(d, NULL, "ratio of costs", e->ratio, "%s (%s interval %s to %s), above 1 is worse; from %zu hardware type%s",
			  text_fixed(e->ratio, 4).text, effect_format_level(e->level).text, text_fixed(e->low, 4).text,
			  text_fixed(e->high, 4).text, e->types, text_plural(e->types));
}

/* Adds the table of CPU and wall-clock times. Each row has the decision that this time would give by itself. */
static void describe_times(const struct times *t, struct document *d)
{
	static const char *const codes[] = { TIME_ROWS(ROWS_CODE) }, *const texts[] = { TIME_ROWS(ROWS_TEXT) };
	bool any = false;

	for (int i = 0; i < TIMES; i++)
		any = any || t->effects[i].types;
	if (any)
		doc_line(d, "%s", "");
	doc_table(d, "times");
	for (int i = 0; i < TIMES; i++) {
		const struct effect *e = &t->effects[i];

		if (!e->types)
			continue;
		doc_row(d);
		doc_set(d, "time", codes[i]);
		doc_show(d, NULL, "time", texts[i]);
		doc_showf(d, "ratio", "ratio", e->ratio, "%s", text_fixed(e->ratio, 4).text);
		doc_set(d, "low", e->low);
		doc_set(d, "high", e->high);
		doc_set(d, "level", e->level);
		doc_showf(d, NULL, "interval", e->low, "%s", effect_format_interval(e->low, e->high, e->level, 4).text);
		doc_show(d, "decision", "by itself", decision_text(e->decision));
	}
	doc_end(d);
}

void verdict_describe_times(const struct times *t, struct document *d)
{
	describe_times(t, d);
	if (t->disturbed)
		doc_line(d, "%s", "");
	doc_table(d, "conditions");
	if (!t->disturbed)
		doc_hide(d);
	for (size_t i = 0; i < t->n_machines; i++) {
		const struct disturbed_machine *m = &t->machines[i];

		doc_row(d);
		doc_show(d, "machine", "machine", m->machine);
		doc_set(d, "runs", m->runs[0] + m->runs[1]);
		doc_set(d, "disturbed", m->disturbed[0] + m->disturbed[1]);
		doc_showf(d, NULL, "delayed runs", m->runs[0] + m->runs[1], "%zu of %zu", m->disturbed[0] + m->disturbed[1],
			  m->runs[0] + m->runs[1]);
		doc_showf(d, "baseline_waited", "baseline waited", m->runs[0] ? m->wait_share[0] : (double)NAN, "%s %%",
			  text_fixed(100 * m->wait_share[0], 1).text);
		doc_showf(d, "candidate_waited", "candidate waited", m->runs[1] ? m->wait_share[1] : (double)NAN, "%s %%",
			  text_fixed(100 * m->wait_share[1], 1).text);
	}
	doc_end(d);
	if (t->disturbed)
		doc_line(d,
			 "waited: run-queue delay as a share of the wall-clock time; delayed runs waited longer than the least delayed run "
			 "by at least the smallest effect that matters");
}

void verdict_describe_architectures(const struct verdict_architecture *within, size_t n, struct document *d)
{
	doc_line(d, "%s", "");
	doc_table(d, "architectures");
	for (size_t i = 0; i < n; i++) {
		const struct verdict_architecture *w = &within[i];
		const struct effect *e = &w->effect;

		doc_row(d);
		doc_show(d, "architecture", "architecture", w->architecture);
		doc_show(d, "decision", "decision", decision_text(e->decision));
		doc_showf(d, "ratio", "ratio", e->types ? e->ratio : (double)NAN, "%s", text_fixed(e->ratio, 4).text);
		doc_set(d, "low", e->low);
		doc_set(d, "high", e->high);
		doc_set(d, "level", e->level);
		doc_showf(d, NULL, "interval", e->low, "%s", effect_format_interval(e->low, e->high, e->level, 4).text);
		doc_show(d, "machines", "machines", w->machines);
	}
	doc_end(d);
}

static int compare_ratios(const void *a, const void *b)
{
	const struct pairing_machine *x = *(const struct pairing_machine *const *)a, *y = *(const struct pairing_machine *const *)b;

	if (x->log_ratio > y->log_ratio || x->log_ratio < y->log_ratio)
		return x->log_ratio > y->log_ratio ? -1 : 1;
	return (x > y) - (x < y);
}

/* Returns an array [n] that marks the machines in the table. Of more than `most` used machines, it marks only those with the largest and
 * smallest ratios. If `excluded` is true, it also marks the excluded machines. free() it. */
static bool *choose_shown_machines(const struct pairing *p, bool excluded, size_t most)
{
	const struct pairing_machine **order = mem_new(p->n, sizeof(*order));
	bool *shown = mem_new(p->n, sizeof(*shown));
	size_t used = 0;

	for (size_t i = 0; i < p->n; i++) {
		shown[i] = excluded;
		if (p->machines[i].reason == PAIRING_USED)
			order[used++] = &p->machines[i];
	}
	order_sort(order, used, compare_ratios);
	for (size_t i = 0; i < used; i++)
		shown[order[i] - p->machines] = used <= most || i < most / 2 || i >= used - most / 2;
	free(order);
	return shown;
}

/* Returns half the width of the interval of the log ratio, from the machine's own repetitions; NaN if the noise is not known. */
static double half_width(const struct pairing_machine *m)
{
	return m->noise > 0 && m->noise_df > 0 ? stats_t_quantile((1 + EFFECT_LEVEL) / 2, m->noise_df) * m->noise : (double)NAN;
}

/* Returns an axis that shows all used machines and the interval over all machines. */
static struct svg_axis machines_axis(const struct verdict *v)
{
	const struct effect *e = &v->effect;
	double low = e->types ? fmin(e->ratio, e->low) : 1,
	       high = e->types ? fmax(e->ratio, e->high) : 1; /* fmin() and fmax() ignore NaN */

	for (size_t i = 0; i < v->pairing.n; i++) {
		const struct pairing_machine *m = &v->pairing.machines[i];
		double half = fmax(0, half_width(m));

		if (m->reason == PAIRING_USED) {
			low = fmin(low, exp(m->log_ratio - half));
			high = fmax(high, exp(m->log_ratio + half));
		}
	}
	return svg_ratio_axis(low, high);
}

/* Draws the ratio on one machine with its interval, in front of the interval over all machines. */
static void machine_chart(const struct effect *e, const struct svg_axis *axis, const struct pairing_machine *m, struct document *d)
{
	double half = half_width(m), x = svg_position(axis, e->low);
	struct buf svg = BUF_INIT;

	svg_open(0, &svg);
	if (isfinite(e->low) && isfinite(e->high))
		html_format(&svg, "<rect class=\"band\" x=\"%.2f%%\" y=\"0\" width=\"%.2f%%\" height=\"100%%\"/>", x,
			    svg_position(axis, e->high) - x);
	svg_grid(axis, &svg);
	svg_interval(axis, exp(m->log_ratio), exp(m->log_ratio - half), exp(m->log_ratio + half), SVG_DOT, &svg);
	svg_close(&svg);
	doc_picture(d, "Chart", &svg, NULL);
}

static void describe_machine(const struct verdict *v, const struct svg_axis *axis, const struct pairing_machine *m, struct document *d)
{
	const struct pairing *p = &v->pairing;
	bool used = m->reason == PAIRING_USED;

	doc_show(d, "machine", "machine", m->machine);
	doc_show(d, "type", "type", used ? p->types[m->type] : NULL);
	doc_set_bool(d, "used", used);
	doc_set(d, "reason", pairing_code(m->reason));
	doc_set(d, "interleaved",
		used && m->alternation != PAIRING_TURNS_UNKNOWN ? doc_value_bool(m->alternation == PAIRING_TURNS_TAKEN) : DOC_NULL_VALUE);
	doc_showf(d, NULL, "repetitions", used ? doc_value_size(m->baseline_runs) : DOC_NULL_VALUE, "%zu, %zu", m->baseline_runs,
		  m->candidate_runs);
	doc_showf(d, "ratio", "ratio", used ? exp(m->log_ratio) : (double)NAN, "%s", text_fixed(exp(m->log_ratio), 4).text);
	doc_showf(d, "noise", "noise", used && m->noise > 0 ? m->noise : (double)NAN, "+/- %s %%", text_fixed(100 * m->noise, 1).text);
	if (used)
		machine_chart(&v->effect, axis, m, d);
	else
		doc_show(d, NULL, "excluded", pairing_text(m->reason));
	doc_set(d, "baseline_runs", m->baseline_runs);
	doc_set(d, "candidate_runs", m->candidate_runs);
}

void verdict_describe_machines(const struct verdict *v, bool excluded, size_t most, struct document *d)
{
	const struct pairing *p = &v->pairing;
	bool *shown = choose_shown_machines(p, excluded, most), listed = excluded ? p->n : p->used;
	struct svg_axis axis = machines_axis(v);
	size_t left_out = p->n - p->used;
	struct buf scale = BUF_INIT;

	if (listed)
		doc_line(d, "%s", "");
	doc_table(d, "machines");
	doc_style(d, "ratios sortable");
	doc_set_caption(d, "Ratio of costs on each machine");
	if (!listed)
		doc_hide(d);
	svg_scale(&axis, &scale);
	doc_picture(d, "Chart", &scale, NULL);
	for (size_t i = 0; i < p->n; i++) {
		doc_row(d);
		if (!shown[i])
			doc_hide(d);
		describe_machine(v, &axis, &p->machines[i], d);
	}
	doc_end(d);
	free(shown);
	if (listed && p->used > most)
		doc_line(d, "(%zu machines with ratios between these; --all shows them)", p->used - most);
	if (listed && left_out && !excluded && most < SIZE_MAX)
		doc_line(d, "(%zu machine%s excluded; --all shows them)", left_out, text_plural(left_out));
	if (listed && (p->n_superseded[0] || p->n_superseded[1]))
		doc_line(d,
			 "Each machine contributes only its latest runs in which both took turns: %zu result%s of %s and %zu of %s %s set "
			 "aside.",
			 p->n_superseded[0], text_plural(p->n_superseded[0]), v->baseline->version, p->n_superseded[1],
			 v->candidate->version, p->n_superseded[0] + p->n_superseded[1] == 1 ? "is" : "are");
	if (p->n_superseded[0] ||
	    p->n_superseded[1]) { /* never for `assay nightly`: it uses one plan, and its stored document must stay identical */
		doc_object(d, "set_aside");
		doc_set(d, "baseline", p->n_superseded[0]);
		doc_set(d, "candidate", p->n_superseded[1]);
		doc_end(d);
	}
}

void verdict_describe_pattern(const struct verdict *v, bool guesses, struct document *d)
{
	const char *code = effect_pattern_code(v->effect_pattern), *text = effect_pattern_text(v->effect_pattern);
	double p = v->effect.pattern_p;
	bool shown = v->effect.types && (guesses || !isnan(p));

	if (shown)
		doc_line(d, "%s", "");
	doc_object(d, "change");
	if (!shown)
		doc_hide(d);
	if (isnan(p))
		doc_showf(d, "kind", "kind of change", code, "%s: %s", code, text);
	else
		doc_showf(d, "kind", "kind of change", code, "%s: %s (p %s %.2g)", code, text, p < 1e-9 ? "<" : "=", fmax(p, 1e-9));
	doc_set(d, "p", p);
	doc_end(d);
}

static void describe_detectable(const struct verdict *v, struct document *d)
{
	double effect = verdict_effect(v)->minimum_detectable;

	if (isnan(effect))
		doc_set(d, "minimum_detectable_effect", DOC_NULL_VALUE);
	else
		doc_showf(d, "minimum_detectable_effect", "minimum detectable effect", effect, "%s %% (power 0.8; your threshold: %.1f %%)",
			  text_fixed(100 * effect, effect < 1 ? 1 : 0).text, 100 * v->min_effect);
}

void verdict_describe(const struct verdict *v, const char *cause, struct document *d)
{
	const struct effect *e = verdict_effect(v);

	verdict_describe_decision(v, cause, d);
	describe_decision(v, d);
	doc_set(d, "time", verdict_is_by_cpu_time(v) ? "processor" : "metric");
	doc_set(d, "ratio", e->types ? e->ratio : (double)NAN);
	doc_set(d, "low", e->low);
	doc_set(d, "high", e->high);
	doc_set(d, "level", isnan(e->low) ? (double)NAN : e->level);
	doc_set_empty(d, "cause", cause);
}

void verdict_describe_details(const struct verdict *v, bool all_machines, bool guesses, struct document *d)
{
	doc_section(d, "evidence", "Evidence", "Evidence for the decision", NULL);
	describe_effect(v, d);
	if (v->n_architectures)
		verdict_describe_architectures(v->within, v->n_architectures, d);
	describe_detectable(v, d);
	if (v->effect.types)
		doc_show(d, NULL, "metric", v->baseline->higher_is_better ? "higher is better" : "lower is better");
	verdict_describe_times(&v->times, d);
	verdict_describe_pattern(v, guesses, d);
	verdict_describe_machines(v, all_machines, all_machines ? SIZE_MAX : MACHINES_SHOWN, d);
}
