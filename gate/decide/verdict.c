#include "gate/decide/verdict.h"

#include "gate/decide/verdict_internal.h"

#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"

#include <math.h>
#include <stdarg.h>

static void add_reason(struct verdict *v, const char *code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void add_reason(struct verdict *v, const char *code, const char *fmt, ...)
{
	va_list args;
	char *text = NULL;

	ASSAY_BUG_IF(v->n_reasons == VERDICT_REASONS_MAX);
	va_start(args, fmt);
	ASSAY_BUG_IF(vasprintf(&text, fmt, args) < 0);
	va_end(args);
	v->reasons[v->n_reasons++] = (struct verdict_reason){ code, text };
}

static struct effect measure(const struct pairing *pairing, double min_effect)
{
	struct effect_common common = { pairing->order.direction != 0, pairing->order.error, pairing->order.df };
	struct effect_pair *pairs = mem_new(pairing->n, sizeof(*pairs));
	struct effect effect;
	size_t n = 0;

	for (size_t i = 0; i < pairing->n; i++) {
		const struct pairing_machine *m = &pairing->machines[i];

		if (m->reason == PAIRING_USED)
			pairs[n++] = (struct effect_pair){ m->type, m->log_ratio, m->noise, m->noise_df };
	}
	effect = effect_of(pairs, n, pairing->n_types, min_effect, &common);
	free(pairs);
	return effect;
}

/* ---- what the decision rests on, in words ---- */

/* On machines that ran both, what has no ratio all the same. */
static bool any_ran_both(const struct pairing *pairing)
{
	for (size_t i = 0; i < pairing->n; i++) {
		if (pairing->machines[i].reason == PAIRING_HARDWARE_CHANGED || pairing->machines[i].reason == PAIRING_NOT_POSITIVE)
			return true;
	}
	return false;
}

static void explain_nothing(struct verdict *v)
{
	bool fails = v->candidate->executed && v->candidate->failed == v->candidate->executed;

	if (any_ran_both(&v->pairing)) {
		add_reason(v, "no_common_machine", "no machine that ran both versions gives a ratio of them, so nothing can be compared");
		return;
	}
	add_reason(v, "no_common_machine", "no machine ran both versions%s%s, so nothing can be compared",
		   !fails && pairing_terms(v->baseline, v->candidate) ? " under one and the same manifest" :
		   v->baseline->n_others || v->candidate->n_others ? " as they are now" : "", fails ? ", for the candidate failed in each of its runs" : "");
}

static void explain_interval(struct verdict *v)
{
	const struct effect *e = &v->effect;

	switch (e->decision) {
	case DECISION_REGRESSION:
		add_reason(v, "slower", "the candidate costs %s times as much (95 %% interval %s to %s): a slowdown is statistically detected, "
			   "and as found it is not below the %.1f %% that matter", text_fixed(e->ratio, 3).text, text_fixed(e->low, 3).text, text_fixed(e->high, 3).text,
			   100 * v->min_effect);
		break;
	case DECISION_IMPROVED:
		add_reason(v, "faster", "the candidate costs %s times as much (95 %% interval %s to %s)", text_fixed(e->ratio, 3).text,
			   text_fixed(e->low, 3).text, text_fixed(e->high, 3).text);
		break;
	case DECISION_PASS:
		add_reason(v, "below_min_effect", "a slowdown of %.1f %% or more is ruled out (ratio %s, 95 %% interval %s to %s)",
			   100 * v->min_effect, text_fixed(e->ratio, 3).text, text_fixed(e->low, 3).text, text_fixed(e->high, 3).text);
		if (stats_round(e->low) > 1)
			add_reason(v, "detected_but_small", "a slowdown is statistically detected, but smaller than what matters to you");
		break;
	default:
		add_reason(v, "interval_too_wide", "the 95 %% interval, %s to %s, neither shows a slowdown of %.1f %% nor rules it out; found "
			   "with power .8 would be one of %s %%", text_fixed(e->low, 3).text, text_fixed(e->high, 3).text, 100 * v->min_effect,
			   text_fixed(100 * e->minimum_detectable, e->minimum_detectable < 1 ? 1 : 0).text);
	}
}

static void explain_shape(struct verdict *v)
{
	const struct effect *e = &v->effect;
	const struct cause *c = &v->cause;
	bool other = c->word == CAUSE_OTHER_RESOURCE || c->word == CAUSE_BOTH;

	if (!isnan(e->shape_p) && !e->uniform)
		add_reason(v, "shape_changed", "the ratio differs between hardware types by more than the noise within machines (p %s %.2g): "
			   "another resource is used, or used more", e->shape_p < 1e-9 ? "<" : "=", e->shape_p < 1e-9 ? 1e-9 : e->shape_p);
	else if (other)
		add_reason(v, "shape_changed", "the ratio follows how fast the hardware types are at '%s' (p = %.2g): another resource is used, or "
			   "used more", v->features[v->resources[0].feature], v->resources[0].p);
	else if (isnan(e->shape_p))
		add_reason(v, "shape_not_tested", "too few repetitions to tell a uniform change from one that differs by machine");
	else if (c->word == CAUSE_UNIFORM)
		add_reason(v, "uniform_change", "the ratio is the same on all hardware types within the noise: more or less of the same work");
	if (c->word == CAUSE_BOTH)
		add_reason(v, "uniform_part", "whichever resource it is, beside it all of the work costs %s %% (95 %% interval %s to %s %%)",
			   text_signed(100 * c->uniform, 1).text, text_signed(100 * c->low, 1).text, text_signed(100 * c->high, 1).text);
}

/* What a run that was interrupted, or that did not reach all hosts, leaves open. */
static void explain_missing(struct verdict *v)
{
	const struct run_set *sides[] = { v->baseline, v->candidate };
	static const char *const names[] = { "baseline", "candidate" };

	for (int i = 0; i < 2; i++) {
		if (sides[i]->missing)
			add_reason(v, "runs_missing", "%zu of %zu runs of the %s in its latest 'assay run' %s not made: earlier results of the same "
				   "build stand in for them, or none (--resume makes them, or another 'assay run')", sides[i]->missing,
				   sides[i]->planned, names[i], sides[i]->missing > 1 ? "were" : "was");
	}
}

/* A version that fails has no cost: what is left of it may be its easy runs. More failures than the baseline's never pass. */
static void explain_failures(struct verdict *v)
{
	const struct run_set *sides[] = { v->baseline, v->candidate };
	static const char *const names[] = { "baseline", "candidate" };
	bool good = v->effect.decision == DECISION_PASS || v->effect.decision == DECISION_IMPROVED;

	for (int i = 0; i < 2; i++) {
		if (sides[i]->failed)
			add_reason(v, "runs_failed", "%zu of %zu runs of the %s failed and %s no part of the ratio ('assay runs show %s@%s --failed')",
				   sides[i]->failed, sides[i]->executed, names[i], sides[i]->failed > 1 ? "are" : "is", sides[i]->application,
				   sides[i]->version);
	}
	if (good && sides[1]->failed && (!sides[0]->executed || sides[1]->failed * sides[0]->executed > sides[0]->failed * sides[1]->executed)) {
		v->effect.decision = DECISION_INCONCLUSIVE;
		add_reason(v, "candidate_fails", "the candidate fails more often than the baseline: whatever its cost, that is no pass");
	}
}

static void explain_order(struct verdict *v)
{
	const struct order *o = &v->pairing.order;

	if (v->effect.types < EFFECT_TYPES_MIN)
		return;
	if (o->direction)
		add_reason(v, "order_confounded", "all repetitions of the candidate come %s those of the baseline, and what happened on all machines "
			   "in between would look like a change of the version: the interval is as wide as if the hardware types were one "
			   "('assay run' lets versions take turns)", o->direction > 0 ? "after" : "before");
	if (o->error > 0)
		add_reason(v, "repetitions_drift", "repetitions of one and the same version differ by about %.1f %% on all hardware types together, and the "
			   "two do not have the same repetitions: the interval is wider by that", 100 * expm1(o->spread));
}

/* What holds for programs on one computer that are slowed down in different ways says nothing of real hardware. */
static void explain_emulated(struct verdict *v)
{
	size_t used = 0, emulated = 0;

	for (size_t i = 0; i < v->pairing.n; i++) {
		const struct pairing_machine *m = &v->pairing.machines[i];

		used += m->reason == PAIRING_USED;
		emulated += m->reason == PAIRING_USED && m->fingerprint && m->fingerprint->profile;
	}
	if (emulated)
		add_reason(v, VERDICT_EMULATED, "%zu of %zu machines are hosts emulated on one computer, slowed down in different ways: what is said here "
			   "holds for them and says nothing of real hardware", emulated, used);
}

static void explain_left_out(struct verdict *v, enum pairing_reason reason, size_t n)
{
	const char *application = v->baseline->application, *a = v->baseline->version, *b = v->candidate->version;
	bool same = strcmp(a, b) == 0;

	if (reason == PAIRING_OTHER_METRIC || reason == PAIRING_OTHER_TERMS)
		add_reason(v, pairing_code(reason), "%zu machine%s left out: %s ('assay run %.*s --versions %s%s%s' makes results that can be compared)", n,
			   n > 1 ? "s" : "", pairing_text(reason), (int)strcspn(application, "/"), application, a, same ? "" : ",", same ? "" : b);
	else
		add_reason(v, pairing_code(reason), "%zu machine%s left out: %s", n, n > 1 ? "s" : "", pairing_text(reason));
}

static void explain_machines(struct verdict *v)
{
	size_t count[PAIRING_REASONS] = { 0 }, apart = 0;

	for (size_t i = 0; i < v->pairing.n; i++) {
		count[v->pairing.machines[i].reason]++;
		apart += v->pairing.machines[i].reason == PAIRING_USED && v->pairing.machines[i].turns == PAIRING_TURNS_NOT_TAKEN;
	}
	if (apart)
		add_reason(v, "not_interleaved", "on %zu machine%s the two did not take turns in one 'assay run': what changed there in the meantime looks "
			   "like a change of the version", apart, apart > 1 ? "s" : "");
	explain_order(v);
	explain_emulated(v);
	for (int i = PAIRING_USED + 1; i < PAIRING_REASONS; i++) {
		if (count[i])
			explain_left_out(v, (enum pairing_reason)i, count[i]);
	}
	if (v->pairing.untyped)
		add_reason(v, "hardware_type_unknown", "%zu machine%s no known hardware type and count%s as one each: without a fingerprint, "
			   "machines that are alike may be counted several times", v->pairing.untyped, v->pairing.untyped > 1 ? "s have" : " has",
			   v->pairing.untyped > 1 ? "" : "s");
}

/* There is one hardware type, and nothing is known of the noise within its machines. */
static void explain_no_interval(struct verdict *v)
{
	bool alike = false;

	for (size_t i = 0; i < v->pairing.n; i++)
		alike = alike || (v->pairing.machines[i].noise_df > 0 && stats_round(v->pairing.machines[i].noise) <= 0);
	if (alike)
		add_reason(v, "too_few_types", "only one hardware type ran both versions, and repetitions on it are exactly alike, which says nothing of the "
			   "noise within its machines: an interval needs a metric of finer steps, or machines of another type");
	else
		add_reason(v, "too_few_types", "only one hardware type ran both versions, and too few times to know the noise within its machines: "
			   "an interval needs two repetitions of each version on two machines, or three on one, or machines of another type");
}

static void explain(struct verdict *v)
{
	if (v->effect.decision == DECISION_NOTHING_MEASURED) {
		explain_nothing(v);
	} else if (isnan(v->effect.low)) {
		explain_no_interval(v);
	} else {
		explain_interval(v);
		if (v->effect.within)
			add_reason(v, "these_machines_only", "fewer than %d hardware types: the interval is of the repetitions within these machines, and the "
				   "decision speaks for these machines only", EFFECT_TYPES_MIN);
		if (v->effect.types > 1)
			explain_shape(v);
	}
	explain_failures(v);
	explain_missing(v);
	explain_machines(v);
}

enum assay_status verdict_of(const struct evidence *evidence, const struct lab_config *config, const struct run_set *baseline,
			     const struct run_set *candidate, double min_effect, struct verdict *out, struct assay_error *err)
{
	struct verdict v = { .baseline = baseline, .candidate = candidate, .min_effect = min_effect };

	*out = (struct verdict){ 0 };
	if (baseline->higher_is_better != candidate->higher_is_better && !pairing_terms(baseline, candidate))
		return assay_fail(err, ASSAY_E_USAGE, "higher is better for '%s' and lower for '%s': they cannot be compared ('assay import' has "
				  "--higher-is-better and --lower-is-better)",
				  baseline->higher_is_better ? baseline->application : candidate->application,
				  baseline->higher_is_better ? candidate->application : baseline->application);
	pairing_of(evidence, config, baseline, candidate, &v.pairing);
	v.effect = measure(&v.pairing, min_effect);
	verdict_find_resources(evidence, &v);
	explain(&v);
	*out = v;
	return ASSAY_OK;
}

void verdict_release(struct verdict *verdict)
{
	for (size_t i = 0; i < verdict->n_reasons; i++)
		free(verdict->reasons[i].text);
	free(verdict->features);
	free(verdict->resources);
	pairing_release(&verdict->pairing);
	*verdict = (struct verdict){ 0 };
}
