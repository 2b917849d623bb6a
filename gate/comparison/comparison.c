#include "gate/comparison/comparison.h"

#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "runs/inside/changes/changes.h"

#include <math.h>

static struct comparison_absent stage_variance(struct lab *lab, struct comparison *c)
{
	const struct variance_effect_side *sides = c->weighed.sides;

	c->is_excused = variance_compute_effect(lab, &c->verdict, &c->weighed);
	if (sides[0].runs || sides[1].runs || sides[0].unseen || sides[1].unseen)
		return (struct comparison_absent){ NULL, NULL };
	return (struct comparison_absent){ "not_recorded", "the calls of these runs were not recorded" };
}

double comparison_report_threshold_s(const struct verdict *v, const struct measured *m, double open)
{
	double difference = 0;

	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].depth == PART_TIME && !(verdict_is_by_cpu_time(v) && m->parts[i].level == LEVEL_WAITING))
			difference += m->parts[i].difference;
	return decision_is_finding(v->effect.decision) ? MEASURED_REPORTED_SHARE * fabs(difference) : open;
}

static bool is_imported(const struct run_set *set)
{
	return set->n && !*set->items[0].plan;
}

/* Returns the ratio and decision of an application if both its versions were imported. Otherwise returns the ratio NaN. */
static struct effect_finding effect_finding_load(struct lab *lab, const struct evidence *evidence, const char *application,
						 const struct verdict *v)
{
	const char *versions[] = { v->baseline->version, v->candidate->version };
	struct effect_finding out = { (double)NAN, DECISION_NOTHING_MEASURED };
	struct run_set sets[2] = { { 0 } };
	struct assay_error ignored;
	bool known = true;

	for (int side = 0; side < 2; side++) {
		char *selector = mem_format("%s@%s", application, versions[side]);

		known = known && !evidence_load_runs(lab, selector, &sets[side], &ignored) && is_imported(&sets[side]);
		free(selector);
	}
	if (known && !pairing_compare_terms(&sets[0], &sets[1])) {
		struct pairing pairing;
		struct effect e;

		pairing_compute(evidence, &lab->config, &sets[0], &sets[1], &pairing);
		e = pairing_effect(&pairing, &(struct effect_request){ v->min_effect, EFFECT_LEVEL });
		out = (struct effect_finding){ e.types ? e.ratio : (double)NAN, e.decision };
		pairing_release(&pairing);
	}
	run_set_release(&sets[0]);
	run_set_release(&sets[1]);
	return out;
}

/* Changes a finding to `environment` if nearly all applications imported with these versions changed in the same direction. `assay nightly`
 * applies the same rule. */
static enum assay_status check_batch_direction(struct lab *lab, const struct evidence *evidence, struct verdict *v, struct assay_error *err)
{
	struct effect_finding *all;
	struct run_listing *list = NULL;
	enum assay_status st;
	size_t n = 0;

	if (!decision_is_finding(v->effect.decision) || !is_imported(v->baseline) || !is_imported(v->candidate) ||
	    strcmp(v->baseline->application, v->candidate->application) != 0)
		return ASSAY_OK;
	st = run_list(&lab->store, &list, &n, err);
	all = mem_new(n, sizeof(*all));
	for (size_t i = 0; i < n; i++)
		all[i] = strcmp(list[i].version, v->candidate->version) == 0
			     ? effect_finding_load(lab, evidence, list[i].application, v)
			     : (struct effect_finding){ (double)NAN, DECISION_NOTHING_MEASURED };
	if (!st && effects_find_common_direction(all, n, v->min_effect) == v->effect.decision)
		(void)verdict_blame_environment(
		    v, "findings_alike",
		    mem_string("nearly all applications imported with these versions changed in the same direction: check "
			       "the machines before the code"));
	free(all);
	run_list_free(list, n);
	return st;
}

static const char *part_text(const struct measured_part *part)
{
	return part->depth == PART_TIME ? level_text(part->level) : part->name;
}

/* Adds the reason `resource_shift` to a pass if the candidate spends at least min_effect more on one resource and less on another. */
static void add_time_shift(struct comparison *c)
{
	struct verdict *v = &c->verdict;
	const struct measured_part *more = NULL, *less = NULL;
	double matters = v->min_effect * fmax(c->measured.seconds[0], c->measured.seconds[1]);

	for (size_t i = 0; i < c->measured.n; i++) {
		const struct measured_part *part = &c->measured.parts[i];

		if (part->depth == PART_FUNCTION || !part->certain)
			continue;
		more = part->difference >= (more ? more->difference : matters) ? part : more;
		less = part->difference <= (less ? less->difference : -matters) ? part : less;
	}
	if (v->effect.decision == DECISION_PASS && !v->times.disturbed && more && less)
		verdict_add_reason(v, false, "resource_shift",
				   mem_format("its cost is equal, but it uses other resources: a run takes %s s more %s and %s s less %s",
					      text_fixed(more->difference, 3).text, part_text(more), text_fixed(-less->difference, 3).text,
					      part_text(less)));
}

/* Computes the cause from the measured parts. Called after each change of the decision, which sets the smallest reported part. */
static void set_cause(struct comparison *c)
{
	free(c->cause);
	c->cause = measured_text(&c->measured, comparison_report_threshold_s(&c->verdict, &c->measured, c->open));
}

/* Reports whether the decision is inconclusive only because of its interval. The time spent in functions may then settle the decision. */
static bool is_undecided(const struct verdict *v)
{
	return v->effect.decision == DECISION_INCONCLUSIVE && v->rule == RULES && !isnan(v->effect.low) && !v->input.same_build &&
	       !verdict_fails_more(v) && v->times.is_metric_wall_time;
}

/* Changes the decision to a regression if `added` is large enough to matter. `added` is a lower bound of the seconds per run that the
 * functions take more. `chosen_by` completes the sentence "those that ...". */
static void confirm_finding(struct comparison *c, const char *chosen_by, const char *first, double added)
{
	struct verdict *v = &c->verdict;
	double matters = v->min_effect * c->measured.seconds[0];

	if (!(stats_round(added) > stats_round(matters)))
		return;
	c->confirmed = true;
	v->effect.decision = DECISION_REGRESSION;
	verdict_add_reason(v, true, COMPARISON_CONFIRMS,
			   mem_format("the interval does not decide, but functions do: in those that %s, %s first, runs spend at least %s "
				      "s more; %s s of a run would matter",
				      chosen_by, first, text_fixed(added, 3).text, text_fixed(matters, 3).text));
	set_cause(c);
}

/* Settles an inconclusive decision by functions that differ in one half of the runs, if the other half confirms them. Runs of unchanged
 * versions select a function in at most 5 % of cases, and confirm it in at most 2.5 % of these. So this adds 0.125 % to the error rate. */
static void confirm_by_chosen_functions(struct comparison *c)
{
	const struct measured_chosen *chosen = &c->measured.chosen;

	if (chosen->first && !isnan(chosen->error) && is_undecided(&c->verdict))
		confirm_finding(c, "differ in half of the runs", chosen->first,
				chosen->difference - chosen->error * stats_t_quantile((1 + c->verdict.effect.level) / 2, chosen->df));
}

static enum assay_status stage_measured(struct lab *lab, const struct comparison_request *asked, struct comparison *c,
					struct assay_error *err)
{
	const struct verdict *v = &c->verdict;
	const struct run_set *const runs[] = { v->baseline, v->candidate };
	enum assay_status st = lab ? measured_load(&lab->store, &v->pairing, runs, &c->measured, err)
				   : measured_compare(asked->sides, 1, asked->code, &c->measured, err);

	if (!st && !c->measured.machines)
		c->absent[COMPARISON_MEASURED] =
		    (struct comparison_absent){ "no_times", "no machine has runs of both versions whose time was measured" };
	c->open = v->min_effect * fmax(c->measured.seconds[0], c->measured.seconds[1]);
	set_cause(c);
	confirm_by_chosen_functions(c);
	add_time_shift(c);
	return st;
}

static enum assay_status stage_calibration(struct lab *lab, const struct calibration_quote *quote, struct comparison *c,
					   struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	if (quote)
		c->calibration = calibration_quote_copy(quote);
	else
		st = calibration_quote_now(lab, &c->verdict, &c->calibration, err);
	if (!st && !c->calibration.identical)
		c->absent[COMPARISON_CALIBRATION] = (struct comparison_absent){ "not_calibrated", "'assay calibrate' was not run" };
	return st;
}

static struct comparison_absent stage_contributions(const struct evidence *evidence, struct comparison *c)
{
	contributions_compute(evidence, &c->verdict, 0, &c->contributions);
	return (struct comparison_absent){ c->contributions.missing ? "not_inferred" : NULL, c->contributions.missing };
}

static const struct measured_part *find_measured_function(const struct measured *m, const char *name)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].depth == PART_FUNCTION && strcmp(m->parts[i].name, name) == 0)
			return &m->parts[i];
	return NULL;
}

/* Settles an inconclusive decision by the functions that the detector found worse in separate, instrumented runs. The compared runs were
 * not used for this selection, so the time that they spend in these functions is independent evidence. The error level is divided by the
 * number of functions (Bonferroni), so the sum of the lower bounds is a lower bound of the sum. */
static void confirm_by_functions(struct comparison *c)
{
	const struct detected *d = &c->functions.detected;
	double level = (1 - c->verdict.effect.level) / 2 / (double)(d->n_worse ? d->n_worse : 1), added = 0;
	const struct measured_part *most = NULL;

	if (!is_undecided(&c->verdict) || !function_evidence_is_sure(&c->functions))
		return;
	for (size_t i = 0; i < d->n_worse; i++) {
		const struct measured_part *part = find_measured_function(&c->measured, d->functions[i].name);

		if (part)
			added += part->difference - part->error * stats_t_quantile(1 - level, part->df);
		most = part && (!most || part->difference > most->difference) ? part : most;
	}
	if (most)
		confirm_finding(c, "are worse", most->name, added);
}

/* Adds the reason COMPARISON_LATENT if the candidate is not slower, but its threads obstruct each other in some functions. */
static void add_latent(struct comparison *c)
{
	char *names = function_evidence_latent_text(&c->functions);

	c->latent = names && decision_exit_status(c->verdict.effect.decision) == 0;
	if (c->latent)
		verdict_add_reason(&c->verdict, false, COMPARISON_LATENT,
				   mem_format("it costs almost nothing here, and more if more threads run at once: %s", names));
	free(names);
}

void comparison_add_function(struct comparison *c, const char *name, const char *file, unsigned line, const char *change,
			     const char *hottest)
{
	char *why = function_evidence_reason(&c->functions, name);
	struct buf text = BUF_INIT;

	buf_format(&text, "%s%smost in %s", c->cause, *c->cause ? "; " : "", name);
	if (file)
		buf_format(&text, " (%s:%u", file, line);
	if (change)
		buf_format(&text, "%s%s", file ? ", " : " (", change);
	if (hottest)
		buf_format(&text, ", mostly at %s", hottest);
	buf_format(&text, "%s%s%s", file || change ? ")" : "", why ? ": " : "", why ? why : "");
	mem_free(c->cause, why);
	c->cause = buf_take(&text);
}

bool comparison_is_explained(const struct comparison *c, bool *known)
{
	const struct measured *m = &c->measured;
	bool explained = function_evidence_explains(&c->functions, DECISION_REGRESSION);

	*known = function_evidence_is_sure(&c->functions);
	for (size_t i = 0; i < m->n; i++) {
		const struct measured_part *part = &m->parts[i];
		bool grown = part->certain && part->difference + part->renamed > 0,
		     changed = part->change && strcmp(part->change, change_kind_code(CHANGE_NONE)) != 0;

		*known = *known || (grown && part->change);
		explained = explained || (grown && (changed || (part->depth != PART_FUNCTION && part->level != LEVEL_COMPUTE)));
	}
	for (size_t i = 0; i < m->n_counts; i++) /* involuntary switches explain nothing: a longer run is preempted more often */
		explained = explained ||
			    (m->counts[i].certain && m->counts[i].difference > 0 && strcmp(m->counts[i].name, "involuntary_switches") != 0);
	return explained;
}

void comparison_add_unexplained(struct comparison *c)
{
	bool known;

	if (c->verdict.effect.decision == DECISION_REGRESSION && !comparison_is_explained(c, &known) && known)
		verdict_add_reason(&c->verdict, false, COMPARISON_UNEXPLAINED,
				   mem_string("no changed function and no measured resource has grown: the same code takes longer, for "
					      "example at another place in memory or from another compiler"));
}

void comparison_set_inconclusive(struct comparison *c, const char *code, char *text)
{
	verdict_replace_decision(&c->verdict, DECISION_INCONCLUSIVE, code, text);
	set_cause(c);
}

static struct comparison_absent stage_functions(struct lab *lab, struct comparison *c)
{
	struct function_reason r;

	function_evidence_load(lab, c->verdict.baseline, c->verdict.candidate, &c->functions);
	if (c->functions.missing)
		return (struct comparison_absent){ "not_judged", c->functions.missing };
	if (!c->functions.has_result)
		return (struct comparison_absent){ "no_samples", "functions of these versions were not measured" };
	confirm_by_functions(c);
	add_latent(c);
	comparison_add_unexplained(c);
	if (function_evidence_get_reason(&c->functions, c->verdict.effect.decision, 0, &r))
		comparison_add_function(c, r.name, r.file ? text_file_name(r.file) : NULL, r.line, NULL, NULL);
	return (struct comparison_absent){ NULL, NULL };
}

static struct comparison_absent stage_signatures(struct lab *lab, const struct evidence *evidence, struct comparison *c)
{
	likeness_compute(lab, evidence, &c->verdict, &c->contributions, &c->functions, &c->likeness);
	if (c->likeness.missing)
		return (struct comparison_absent){ "not_compared", c->likeness.missing };
	if (!c->likeness.n)
		return (struct comparison_absent){ "no_functions", "no functions explain the change" };
	return (struct comparison_absent){ NULL, NULL };
}

static enum assay_status run_stage(struct lab *lab, const struct comparison_request *asked, enum comparison_part part, struct comparison *c,
				   struct assay_error *err)
{
	switch (part) {
	case COMPARISON_VARIANCE:
		c->absent[part] = stage_variance(lab, c);
		return ASSAY_OK;
	case COMPARISON_MEASURED:
		return stage_measured(lab, asked, c, err);
	case COMPARISON_CALIBRATION:
		return stage_calibration(lab, asked->calibration, c, err);
	case COMPARISON_CONTRIBUTIONS:
		c->absent[part] = stage_contributions(asked->evidence, c);
		return ASSAY_OK;
	case COMPARISON_FUNCTIONS:
		c->absent[part] = stage_functions(lab, c);
		return ASSAY_OK;
	default:
		c->absent[part] = stage_signatures(lab, asked->evidence, c);
		return ASSAY_OK;
	}
}

enum assay_status comparison_compute(struct lab *lab, const struct comparison_request *asked, struct comparison *out,
				     struct assay_error *err)
{
	static const struct lab_config none = { .min_effect = LAB_MIN_EFFECT };
	enum assay_status st;

	*out = (struct comparison){ .last = asked->last };
	st = verdict_compute(asked->evidence, lab ? &lab->config : &none, asked->baseline, asked->candidate, asked->min_effect,
			     &out->verdict, err);
	if (!st && asked->min_gain > 0)
		verdict_apply_min_gain(&out->verdict, asked->min_gain);
	if (!st && lab)
		st = check_batch_direction(lab, asked->evidence, &out->verdict, err);
	for (enum comparison_part part = COMPARISON_VARIANCE; !st && part <= asked->last; part++) {
		if (lab || part == COMPARISON_MEASURED || part == COMPARISON_CONTRIBUTIONS)
			st = run_stage(lab, asked, part, out, err);
		else
			out->absent[part] = (struct comparison_absent){ "no_laboratory", "it needs a laboratory ('assay init')" };
	}
	return st;
}

void comparison_release(struct comparison *c)
{
	likeness_release(&c->likeness);
	function_evidence_release(&c->functions);
	contributions_release(&c->contributions);
	mem_free(c->calibration.stale, c->cause);
	measured_release(&c->measured);
	variance_effect_release(&c->weighed);
	verdict_release(&c->verdict);
	*c = (struct comparison){ .last = COMPARISON_VERDICT };
}

static void describe_absent(const struct comparison *c, struct document *d)
{
	static const char *const codes[] = { COMPARISON_ROWS(ROWS_WORD) };

	doc_table(d, "absent");
	doc_hide(d);
	for (int part = 0; part < COMPARISON_PARTS; part++) {
		if (!c->absent[part].code)
			continue;
		doc_row(d);
		doc_set(d, "part", codes[part]);
		doc_set(d, "code", c->absent[part].code);
		doc_set(d, "text", c->absent[part].text);
	}
	doc_end(d);
}

void comparison_describe(const struct comparison *c, bool all_machines, size_t groups, struct document *d)
{
	bool guesses = all_machines || !c->measured.machines; /* if anything was measured, users see only certain inferences */

	ASSAY_BUG_IF(c->last != COMPARISON_ALL);
	verdict_describe(&c->verdict, c->cause, d);
	measured_describe(&c->measured, "measured", (const char *const[]){ "baseline", "candidate" }, d);
	verdict_describe_details(&c->verdict, all_machines, guesses, d);
	calibration_describe(&c->calibration, d);
	contributions_describe(&c->contributions, groups ? groups : guesses || c->contributions.n_leading ? CONTRIBUTIONS_SHOWN : 0, d);
	function_evidence_describe(&c->functions, verdict_cost_decision(&c->verdict), d);
	likeness_describe(&c->likeness, d);
	variance_effect_describe(&c->weighed, d);
	describe_absent(c, d);
}
