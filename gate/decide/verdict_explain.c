/* Adds the reasons to a verdict after the decision is made. */
#include "gate/decide/verdict.h"

#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"

#include <math.h>
#include <stdarg.h>

/* Adds a reason after the others; formats it like printf does. */
static void reason_add(struct verdict *v, const char *code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void reason_add(struct verdict *v, const char *code, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, fmt);
	ASSAY_BUG_IF(vasprintf(&text, fmt, args) < 0);
	va_end(args);
	verdict_add_reason(v, false, code, text);
}

/* Moves the last reason to the front, because it decided. */
static void move_reason_first(struct verdict *v)
{
	struct verdict_reason last = v->reasons[v->n_reasons - 1];

	memmove(&v->reasons[1], &v->reasons[0], (v->n_reasons - 1) * sizeof(last));
	v->reasons[0] = last;
}

/* Reports whether there is a machine that ran both versions but gives no ratio. */
static bool has_machine_with_both(const struct pairing *pairing)
{
	for (size_t i = 0; i < pairing->n; i++) {
		enum pairing_reason reason = pairing->machines[i].reason;

		if (reason == PAIRING_HARDWARE_CHANGED || reason == PAIRING_NOT_POSITIVE || reason == PAIRING_RATIO)
			return true;
	}
	return false;
}

static bool has_other_builds(const struct run_set *set)
{
	for (size_t i = 0; i < set->n_others; i++)
		if (!set->others[i].disturbed)
			return true;
	return false;
}

static void explain_nothing(struct verdict *v)
{
	bool fails = v->candidate->n_executed && v->candidate->failed == v->candidate->n_executed,
	     baseline = v->baseline->n_executed && v->baseline->failed == v->baseline->n_executed;
	const char *restriction = "";

	if (v->effect.decision != v->interval_decision) {
		reason_add(v, "candidate_always_fails",
			   "every run of the candidate failed, and %s of the baseline: there is no cost to compare, %s",
			   v->baseline->failed ? "some" : "none",
			   v->baseline->failed ? "and the candidate may not be the cause" : "but the candidate fails more often");
		return;
	}
	if (verdict_never_starts(v)) {
		reason_add(v, "candidate_never_starts",
			   "the candidate's program could not be found or executed on any machine, so it was not measured");
		return;
	}
	if (has_machine_with_both(&v->pairing)) {
		reason_add(v, "no_common_machine", "no machine that ran both versions gives a ratio, so nothing can be compared");
		return;
	}
	if (!fails && !baseline && pairing_compare_terms(v->baseline, v->candidate))
		restriction = " under the same manifest";
	else if (has_other_builds(v->baseline) || has_other_builds(v->candidate))
		restriction = " in their latest builds";
	reason_add(v, "no_common_machine", "no machine ran both versions%s%s, so nothing can be compared", restriction,
		   fails && baseline ? ", because every run of both failed"
		   : fails	     ? ", because every run of the candidate failed"
		   : baseline	     ? ", because every run of the baseline failed"
				     : "");
}

/* Explains why there is no interval: one or two hardware types, and the noise within their machines is not known. */
static void explain_no_interval(struct verdict *v)
{
	bool alike = false;

	for (size_t i = 0; i < v->pairing.n; i++)
		alike = alike || (v->pairing.machines[i].noise_df > 0 && stats_round(v->pairing.machines[i].noise) <= 0);
	reason_add(v, "too_few_types", "fewer than %d hardware types ran both versions, and %s", EFFECT_TYPES_MIN,
		   alike ? "repetitions on them are equal, so the noise is not known: an interval needs a metric with finer steps, or "
			   "machines of other types"
			 : "too few times to measure the noise within their machines: an interval needs two repetitions of each version on "
			   "two machines, or three on one, or machines of other types");
}

/* Explains an interval that contains the threshold. Its width is inversely proportional to the square root of the number of measurements,
 * and must become smaller than the distance from ratio to threshold. Names the thresholds for which the decision is known. */
static void explain_straddling(struct verdict *v)
{
	const struct effect *e = &v->effect;
	double way = log1p(v->min_effect) - log(e->ratio), more = log(e->high / e->ratio) / way;
	double below = floor(1e4 * stats_round(e->ratio - 1)) / 100, above = floor(1e4 * stats_round(e->high - 1)) / 100 + .01;
	struct buf text = BUF_INIT;

	buf_format(&text,
		   "there is a slowdown, but whether it is above your threshold of %.4g %% is not known (ratio %s, %s interval %s to %s): ",
		   100 * v->min_effect, text_fixed(e->ratio, 4).text, effect_format_level(e->level).text, text_fixed(e->low, 4).text,
		   text_fixed(e->high, 4).text);
	if (more > 10)
		buf_text(&text, "to decide takes more than a hundred times as many measurements");
	else
		buf_format(&text, "to decide takes about %s times as many measurements", text_fixed(more * more, more < 3 ? 1 : 0).text);
	if (below > 0)
		buf_format(&text, "; with a threshold of %s %% it is a regression, with one of %s %% it passes ('--min-effect')",
			   text_fixed(below, 2).text, text_fixed(above, 2).text);
	reason_add(v, "around_min_effect", "%s", text.bytes);
	buf_release(&text);
}

/* Returns the part of the standard error of the mean over types that comes from the noise of repetitions. */
static double standard_error_of_noise(const struct pairing *p, size_t types)
{
	double *machines = mem_new(p->n_types, sizeof(*machines)), sum = 0;

	for (size_t i = 0; i < p->n; i++)
		machines[p->machines[i].reason == PAIRING_USED ? p->machines[i].type : 0] += p->machines[i].reason == PAIRING_USED;
	for (size_t i = 0; i < p->n; i++) {
		if (p->machines[i].reason == PAIRING_USED)
			sum += pow(p->machines[i].noise / machines[p->machines[i].type], 2);
	}
	free(machines);
	return sqrt(sum) / (double)types;
}

/* Explains how many repetitions or hardware types would settle the decision. Repetitions reduce only the noise within machines; types
 * reduce the whole error. */
static void explain_needed_runs(struct verdict *v)
{
	const struct effect *e = &v->effect;
	double mean = log(e->ratio), matters = log1p(v->min_effect), needed = mean >= matters ? mean : matters - mean;
	double factor = pow(log(e->high / e->ratio) / needed, 2),
	       q = e->types > 1 ? stats_t_quantile((1 + e->level) / 2, (double)e->types - 1) : 2;
	double noise = pow(standard_error_of_noise(&v->pairing, e->types), 2), all = fmax(pow(log(e->high / e->ratio) / q, 2), noise);
	double between = e->within ? 0 : all - noise, left = all / factor - between;

	if (!(noise > 0) || !isfinite(factor))
		return;
	if (!(between > 0) || left > .1 * noise)
		reason_add(v, "what_it_takes", "to decide takes about %s times as many repetitions%s",
			   text_fixed(fmax(noise / left, 1.1), noise / left < 3 ? 1 : 0).text,
			   !*v->baseline->application		       ? " (a longer --budget makes them)"
			   : *v->baseline->plan && *v->candidate->plan ? " ('assay gate --run' makes them)"
								       : "");
	else
		reason_add(v, "what_it_takes",
			   "more repetitions will hardly help, because hardware types differ by more than their noise: about %s types "
			   "would, instead of %zu",
			   text_fixed(ceil(fmax(factor * (double)e->types, (double)e->types + 1)), 0).text, e->types);
}

static void explain_interval(struct verdict *v)
{
	const struct effect *e = &v->effect;
	struct text_number ratio = text_fixed(e->ratio, 3), low = text_fixed(e->low, 3), high = text_fixed(e->high, 3);
	struct text_number level = effect_format_level(e->level);

	switch (v->interval_decision) {
	case DECISION_REGRESSION:
		reason_add(v, "slower",
			   "the candidate costs %s times as much (%s interval %s to %s): there is a slowdown, and the estimate reaches "
			   "your threshold of %.1f %%",
			   ratio.text, level.text, low.text, high.text, 100 * v->min_effect);
		break;
	case DECISION_IMPROVED:
		reason_add(v, "faster", "the candidate costs %s times as much (%s interval %s to %s)", ratio.text, level.text, low.text,
			   high.text);
		break;
	case DECISION_PASS:
		reason_add(v, "below_min_effect", "a slowdown of %.1f %% or more is ruled out (ratio %s, %s interval %s to %s)",
			   100 * v->min_effect, ratio.text, level.text, low.text, high.text);
		if (stats_round(e->low) > 1)
			reason_add(v, "detected_but_small", "there is a slowdown, but it is below your threshold");
		break;
	default:
		if (v->interval_decision == DECISION_INCONCLUSIVE &&
		    stats_round(v->effect.low) > 1) { /* certainly slower, but perhaps by too little to matter */
			explain_straddling(v);
			break;
		}
		reason_add(v, "interval_too_wide",
			   "%s %s interval, %s to %s, neither shows nor rules out a slowdown of %.1f %%; one of %s %% would be found with "
			   "power 0.8",
			   v->rule < RULES ? "the metric does not decide: its" : "the", level.text, low.text, high.text,
			   100 * v->min_effect, text_fixed(100 * e->minimum_detectable, e->minimum_detectable < 1 ? 1 : 0).text);
		if (v->rule == RULES) /* otherwise a rule decided, and more repetitions may not help */
			explain_needed_runs(v);
	}
	if (e->within)
		reason_add(v, "these_machines_only",
			   "fewer than %d hardware types: the interval comes from repetitions within these machines, and other machines "
			   "may differ",
			   EFFECT_TYPES_MIN);
}

static void explain_shape(struct verdict *v)
{
	double p = v->effect.pattern_p;

	if (v->effect_pattern == PATTERN_OTHER_RESOURCE)
		reason_add(v, "shape_changed",
			   "the ratio differs between hardware types by more than the noise within machines (p %s %.2g): a resource is "
			   "used more or less",
			   p < 1e-9 ? "<" : "=", fmax(p, 1e-9));
	else if (v->effect_pattern == PATTERN_NOT_TESTED)
		reason_add(v, "shape_not_tested",
			   "too few repetitions to distinguish a uniform change from one that differs between machines");
	else if (v->effect_pattern == PATTERN_UNIFORM)
		reason_add(v, "uniform_change",
			   "the ratio is the same on all hardware types within the noise: more or less of the same work");
}

static void explain_failed(struct verdict *v, const struct run_set *side, const char *name)
{
	char *selector = mem_format("%s@%s", side->application, side->version);
	char *command = text_format_command((const char *const[]){ "result", "show", selector, "--failed", "--output", NULL });

	if (!*side->application)
		reason_add(v, "runs_failed", "%zu of %zu runs of the %s ended with a status that no run of the other version had",
			   side->failed, side->n_executed, name);
	else
		reason_add(v, "runs_failed", "%zu of %zu runs of the %s failed and %s not part of the ratio (%s)", side->failed,
			   side->n_executed, name, side->failed > 1 ? "are" : "is", command);
	mem_free(command, selector);
}

/* Explains failed runs, and runs that are missing because they were interrupted or could not be made on all hosts. */
static void explain_runs(struct verdict *v)
{
	const struct run_set *sides[] = { v->baseline, v->candidate };
	static const char *const names[] = { "baseline", "candidate" };

	for (int i = 0; i < 2; i++) {
		if (sides[i]->failed)
			explain_failed(v, sides[i], names[i]);
	}
	if (v->effect.types && v->effect.decision == DECISION_INCONCLUSIVE && verdict_fails_more(v)) {
		reason_add(v, "candidate_fails",
			   "the candidate fails more often, in %zu of %zu runs against %zu of %zu: this is not a pass, whatever its cost",
			   sides[1]->failed, sides[1]->n_executed, sides[0]->failed,
			   sides[0]->n_executed ? sides[0]->n_executed : sides[0]->n);
		move_reason_first(v);
	}
	for (int i = 0; i < 2; i++) {
		if (sides[i]->missing)
			reason_add(v, "runs_missing", "%zu of %zu runs of the %s %s not made: %s", sides[i]->missing, sides[i]->planned,
				   names[i], sides[i]->missing > 1 ? "were" : "was",
				   sides[i]->level > 0
				       ? "the deadline or time limit was reached, or a machine was lost"
				       : "its latest 'assay run' did not finish: earlier results of the same build are used instead, if "
					 "there are any ('assay run --resume' or another 'assay run' makes the missing runs)");
	}
}

static void explain_order(struct verdict *v)
{
	const struct order *o = &v->pairing.order;

	if (v->effect.types >= EFFECT_TYPES_MIN && o->error > 0)
		reason_add(v, "repetitions_drift",
			   "repetitions of the same version differ by about %.1f %% on all hardware types together, and the two versions "
			   "do not have the same repetitions: the interval is wider for this reason",
			   100 * expm1(o->spread));
}

static void explain_excluded(struct verdict *v, enum pairing_reason reason, size_t n)
{
	const char *stored = v->baseline->application, *a = v->baseline->version, *b = v->candidate->version;
	bool same = strcmp(a, b) == 0, other = reason == PAIRING_OTHER_METRIC || reason == PAIRING_OTHER_TERMS;
	char *application = mem_bytes(stored, strcspn(stored, "/")), *versions = mem_format("%s%s%s", a, same ? "" : ",", same ? "" : b);
	char *command = text_format_command((const char *const[]){ "run", application, "--versions", versions, NULL });

	reason_add(v, pairing_code(reason), "%zu machine%s excluded: %s%s%s%s", n, text_plural(n), pairing_text(reason), other ? " (" : "",
		   other ? command : "", other ? " makes results that can be compared)" : "");
	mem_free(command, versions, application);
}

static void explain_machines(struct verdict *v)
{
	size_t count[PAIRING_REASONS] = { 0 }, emulated = 0, n_untyped = v->pairing.n_untyped;

	for (size_t i = 0; i < v->pairing.n; i++) {
		const struct pairing_machine *m = &v->pairing.machines[i];

		count[m->reason]++;
		emulated += m->reason == PAIRING_USED && m->fingerprint && m->fingerprint->profile;
	}
	explain_order(v);
	if (emulated)
		reason_add(v, VERDICT_EMULATED,
			   "%zu of %zu machines are hosts emulated on one computer, slowed down in different ways: the results say nothing "
			   "about real hardware",
			   emulated, v->pairing.used);
	for (int i = PAIRING_USED + 1; i < PAIRING_REASONS; i++) {
		if (count[i])
			explain_excluded(v, (enum pairing_reason)i, count[i]);
	}
	if (n_untyped && v->pairing.used > 1)
		reason_add(v, "hardware_type_unknown",
			   "%zu machine%s no known hardware type and count%s as one%s: without fingerprints, equal machines may be counted "
			   "several times",
			   n_untyped, n_untyped > 1 ? "s have" : " has", n_untyped > 1 ? "" : "s", n_untyped > 1 ? " each" : "");
}

/* Explains the rule that decided. If CPU time by itself would give another decision, adds its share of the wall-clock time. */
static void explain_rule(struct verdict *v, const struct effect *work)
{
	bool in_part = v->input.processor != (unsigned)work->decision;
	double percent = 100 * v->times.share;

	reason_add(v, rule_code(v->rule), "%s (CPU time %s times, %s interval %s to %s%s%s%s)", rule_text(v->rule),
		   text_fixed(work->ratio, 3).text, effect_format_level(work->level).text, text_fixed(work->low, 3).text,
		   text_fixed(work->high, 3).text, in_part ? ", of what is " : "",
		   in_part ? text_fixed(percent, percent < 10 ? 1 : 0).text : "", in_part ? " % of the wall-clock time" : "");
	move_reason_first(v);
}

/* Explains the rule that decided. If no rule did, explains which times changed. More work always shows in the CPU time, whatever the
 * metric. More waiting shows only in the wall-clock time. */
static void explain_times(struct verdict *v)
{
	const struct effect *work = &v->times.effects[TIME_PROCESSOR], *wall = &v->times.effects[TIME_WALL];
	struct text_number ratio = text_fixed(work->ratio, 3), low = text_fixed(work->low, 3), high = text_fixed(work->high, 3);
	bool known = work->types && !isnan(work->low);

	if (v->rule == RULE_TWO_GROUPS) {
		const struct pairing_groups *g = &v->pairing.groups;

		reason_add(v, rule_code(v->rule),
			   "%s (%zu of %zu of the baseline and %zu of %zu of the candidate in the lower one; on '%s' about %s and %s)",
			   rule_text(v->rule), g->low[0], g->total[0], g->low[1], g->total[1], g->machine, TEXT_DOUBLE(g->metric[0]),
			   TEXT_DOUBLE(g->metric[1]));
		move_reason_first(v);
	} else if (v->rule < RULES && v->rule > RULE_ORDER_UNKNOWN && known)
		explain_rule(v, work);
	else if (v->rule < RULES)
		verdict_add_reason(v, true, rule_code(v->rule), mem_string(rule_text(v->rule)));
	else if (known && work->decision == DECISION_REGRESSION)
		reason_add(v, "computes_more",
			   "it takes %s times the CPU time (%s interval %s to %s): the candidate itself does more, or does it less "
			   "efficiently",
			   ratio.text, effect_format_level(work->level).text, low.text, high.text);
	else if (known && work->decision == DECISION_PASS && wall->decision == DECISION_REGRESSION)
		reason_add(v, "waits_more",
			   "its wall-clock time has grown, its CPU time has not (%s to %s times): it waits more, for input and output, "
			   "locks, other processes, or busier machines",
			   low.text, high.text);
	else if (known && work->decision == DECISION_PASS && v->interval_decision == DECISION_INCONCLUSIVE)
		reason_add(v, "computes_alike",
			   "by CPU time only it would pass (%s times, %s interval %s to %s): the time that it waits is not decided",
			   ratio.text, effect_format_level(work->level).text, low.text, high.text);
}

static void explain_analyses(struct verdict *v)
{
	double level = fmax(v->baseline->level, v->candidate->level);

	if (level > .95 && !isnan(v->effect.low)) /* more than one interim analysis */
		reason_add(v, "looked_at",
			   "this is one of several interim analyses: its intervals are of %s or more, so that all analyses together are "
			   "wrong in at most 5 %%",
			   effect_format_level(level).text);
}

char *verdict_architectures_text(const struct verdict_architecture *within, size_t n)
{
	struct buf text = BUF_INIT;

	buf_text(&text, "machines of each architecture have their own decision, and the worst decision is used:");
	for (size_t i = 0; i < n; i++) {
		const struct effect *e = &within[i].effect;

		buf_format(&text, "%s %s %s", i ? "," : "", within[i].architecture, decision_text(e->decision));
		if (e->types)
			buf_format(&text, " (ratio %s on %zu machine%s)", text_fixed(e->ratio, 3).text, within[i].machines,
				   text_plural(within[i].machines));
	}
	return buf_take(&text);
}

void verdict_explain(struct verdict *v)
{
	if (v->n_architectures)
		verdict_add_reason(v, false, VERDICT_ARCHITECTURES, verdict_architectures_text(v->within, v->n_architectures));
	if (v->interval_decision == DECISION_NOTHING_MEASURED)
		explain_nothing(v);
	else if (isnan(v->effect.low))
		explain_no_interval(v);
	else
		explain_interval(v);
	if (!isnan(v->effect.low) && v->effect.types > 1)
		explain_shape(v);
	explain_times(v);
	explain_analyses(v);
	explain_runs(v);
	explain_machines(v);
}

void verdict_apply_min_gain(struct verdict *v, double min_gain)
{
	const struct effect *e = verdict_effect(v);
	double ratio = 1 + (verdict_is_by_cpu_time(v) ? v->times.share : 1) * (e->ratio - 1); /* ratio of the program's whole time */
	bool faster = stats_round(e->high) < 1 && stats_round(ratio) <= stats_round(1 / (1 + min_gain));
	enum decision before = v->effect.decision, decision = faster ? DECISION_IMPROVED : DECISION_PASS;

	if ((v->rule < RULES && v->rule != RULE_LESS_CPU_TIME) || decision_exit_status(before) || before == decision)
		return;
	v->effect.decision = decision;
	reason_add(v, "min_gain", "here, a change counts as an improvement from %.1f %% on", 100 * min_gain);
	move_reason_first(v);
}
