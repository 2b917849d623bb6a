#include "gate/verdict.h"

#include "base/mem.h"
#include "base/stats.h"

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
	struct effect_pair *pairs = mem_new(pairing->n, sizeof(*pairs));
	struct effect effect;
	size_t n = 0;

	for (size_t i = 0; i < pairing->n; i++) {
		const struct pairing_machine *m = &pairing->machines[i];

		if (m->reason == PAIRING_USED)
			pairs[n++] = (struct effect_pair){ m->type, m->log_ratio, m->noise, m->noise_df };
	}
	effect = effect_of(pairs, n, pairing->n_types, min_effect);
	free(pairs);
	return effect;
}

/* ---- what the decision rests on, in words ---- */

static void explain_nothing(struct verdict *v)
{
	add_reason(v, "no_common_machine", "no machine ran both versions, so nothing can be compared");
}

static void explain_interval(struct verdict *v)
{
	const struct effect *e = &v->effect;

	switch (e->decision) {
	case DECISION_REGRESSION:
		add_reason(v, "slower", "the candidate costs %.3f times as much (95 %% interval %.3f to %.3f): at least %.1f %% slower and "
			   "statistically detected", e->ratio, e->low, e->high, 100 * v->min_effect);
		break;
	case DECISION_IMPROVED:
		add_reason(v, "faster", "the candidate costs %.3f times as much (95 %% interval %.3f to %.3f)", e->ratio, e->low, e->high);
		break;
	case DECISION_PASS:
		add_reason(v, "below_min_effect", "a slowdown of %.1f %% or more is ruled out (ratio %.3f, 95 %% interval %.3f to %.3f)",
			   100 * v->min_effect, e->ratio, e->low, e->high);
		if (stats_round(e->low) > 1)
			add_reason(v, "detected_but_small", "a slowdown is statistically detected, but smaller than what matters to you");
		break;
	default:
		add_reason(v, "interval_too_wide", "the 95 %% interval, %.3f to %.3f, neither shows a slowdown of %.1f %% nor rules it out; found "
			   "with power .8 would be one of %.1f %%", e->low, e->high, 100 * v->min_effect, 100 * e->minimum_detectable);
	}
}

static void explain_shape(struct verdict *v)
{
	const struct effect *e = &v->effect;

	if (isnan(e->shape_p))
		add_reason(v, "shape_not_tested", "too few repetitions to tell a uniform change from one that differs by machine");
	else if (!e->uniform)
		add_reason(v, "shape_changed", "the ratio differs between hardware types by more than the noise within machines (p %s %.2g): "
			   "another resource is used, or used more", e->shape_p < 1e-9 ? "<" : "=", e->shape_p < 1e-9 ? 1e-9 : e->shape_p);
	else if (stats_round(e->low) > 1 || stats_round(e->high) < 1)
		add_reason(v, "uniform_change", "the ratio is the same on all hardware types within the noise: more or less of the same work");
}

/* A version that fails has no cost: what is left of it may be its easy runs. More failures than the baseline's never pass. */
static void explain_failures(struct verdict *v)
{
	const struct run_set *sides[] = { v->baseline, v->candidate };
	static const char *const names[] = { "baseline", "candidate" };
	bool good = v->effect.decision == DECISION_PASS || v->effect.decision == DECISION_IMPROVED;

	for (int i = 0; i < 2; i++) {
		if (sides[i]->failed)
			add_reason(v, "runs_failed", "%zu of %zu runs of the %s failed and are no part of the ratio ('assay runs show %s@%s --failed')",
				   sides[i]->failed, sides[i]->executed, names[i], sides[i]->application, sides[i]->version);
	}
	if (good && sides[1]->failed * sides[0]->executed > sides[0]->failed * sides[1]->executed) {
		v->effect.decision = DECISION_INCONCLUSIVE;
		add_reason(v, "candidate_fails", "the candidate fails more often than the baseline: whatever its cost, that is no pass");
	}
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
	for (int i = PAIRING_USED + 1; i < PAIRING_REASONS; i++) {
		if (count[i])
			add_reason(v, pairing_code((enum pairing_reason)i), "%zu machine%s left out: %s", count[i], count[i] > 1 ? "s" : "",
				   pairing_text((enum pairing_reason)i));
	}
	if (v->pairing.untyped)
		add_reason(v, "hardware_type_unknown", "%zu machine%s no known hardware type and count as one each: without a fingerprint, "
			   "machines that are alike may be counted several times", v->pairing.untyped, v->pairing.untyped > 1 ? "s have" : " has");
}

static void explain(struct verdict *v)
{
	if (v->effect.decision == DECISION_NOTHING_MEASURED) {
		explain_nothing(v);
	} else if (isnan(v->effect.low)) {
		add_reason(v, "too_few_types", "only one hardware type ran both versions, and too few times to know the noise within its machines: "
			   "an interval needs at least two repetitions of each version, or machines of another type");
	} else {
		explain_interval(v);
		if (v->effect.within)
			add_reason(v, "these_machines_only", "fewer than %d hardware types: the interval is of the repetitions within these machines, and the "
				   "decision speaks for these machines only", EFFECT_TYPES_MIN);
		if (v->effect.types > 1)
			explain_shape(v);
	}
	explain_failures(v);
	explain_machines(v);
}

/* ---- the stressors that the change moves with ---- */

/* The fingerprints of the machines in use that may stand together: those comparable to the first one. */
static bool usable(const struct pairing_machine *m, const struct fingerprint *kind)
{
	return m->reason == PAIRING_USED && m->fingerprint && fingerprint_comparable(m->fingerprint, kind);
}

/* Mean log rate of every stressor a type, from medians over passes; NaN where a machine lacks it. rows [n_types]. */
static void mean_by_type(const struct evidence *evidence, const struct pairing *p, const struct fingerprint *kind, struct mat *log_rate,
			 double *log_ratio, size_t *machines)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct pairing_machine *m = &p->machines[i];

		if (!usable(m, kind))
			continue;
		machines[m->type]++;
		log_ratio[m->type] += m->log_ratio;
		for (size_t j = 0; j < log_rate->cols; j++) {
			struct fingerprint_summary s = fingerprint_summarise(&evidence->fingerprints, m->fingerprint, j);

			log_rate->at[m->type * log_rate->cols + j] += log(s.median); /* NaN stays NaN */
		}
	}
	for (size_t t = 0; t < log_rate->rows; t++) {
		log_ratio[t] /= (double)machines[t];
		for (size_t j = 0; j < log_rate->cols; j++)
			log_rate->at[t * log_rate->cols + j] /= (double)machines[t];
	}
}

/* Closes up the rows of types without machines and the columns with a gap. Fills v->features. */
static struct mat compact(const struct evidence *evidence, struct verdict *v, const struct mat *all, double *log_ratio,
			  const size_t *machines)
{
	struct mat out = mat_new(all->rows, all->cols);
	size_t *columns = mem_new(all->cols, sizeof(size_t));
	size_t rows = 0;

	for (size_t j = 0; j < all->cols; j++) {
		bool whole = true;

		for (size_t t = 0; whole && t < all->rows; t++)
			whole = !machines[t] || isfinite(mat_get(all, t, j));
		if (whole) {
			v->features[v->n_features] = evidence->fingerprints.stressors[j];
			columns[v->n_features++] = j;
		}
	}
	for (size_t t = 0; t < all->rows; t++) {
		if (!machines[t])
			continue;
		for (size_t j = 0; j < v->n_features; j++)
			out.at[rows * v->n_features + j] = mat_get(all, t, columns[j]);
		log_ratio[rows++] = log_ratio[t];
	}
	out.rows = rows;
	out.cols = v->n_features;
	free(columns);
	return out;
}

static void find_resources(const struct evidence *evidence, struct verdict *v)
{
	const struct pairing *p = &v->pairing;
	size_t n = evidence->fingerprints.n_stressors;
	struct mat all = mat_new(p->n_types, n), log_rate;
	double *log_ratio = mem_new(p->n_types, sizeof(double));
	size_t *machines = mem_new(p->n_types, sizeof(size_t));
	const struct fingerprint *kind = NULL;

	for (size_t i = 0; i < p->n && !kind; i++)
		kind = p->machines[i].reason == PAIRING_USED ? p->machines[i].fingerprint : NULL;
	v->features = mem_new(n, sizeof(char *));
	v->resources = mem_new(n, sizeof(*v->resources));
	if (kind) {
		mean_by_type(evidence, p, kind, &all, log_ratio, machines);
		log_rate = compact(evidence, v, &all, log_ratio, machines);
		v->resource_types = log_rate.rows;
		if (v->n_features)
			effect_resources(log_ratio, &log_rate, VERDICT_PERMUTATIONS, VERDICT_SEED, v->resources);
		mat_release(&log_rate);
	}
	free(machines);
	free(log_ratio);
	mat_release(&all);
}

enum assay_status verdict_of(const struct evidence *evidence, const struct lab_config *config, const struct run_set *baseline,
			     const struct run_set *candidate, double min_effect, struct verdict *out, struct assay_error *err)
{
	struct verdict v = { .baseline = baseline, .candidate = candidate, .min_effect = min_effect };

	*out = (struct verdict){ 0 };
	if (baseline->higher_is_better != candidate->higher_is_better)
		return assay_fail(err, ASSAY_E_USAGE, "higher is better for '%s' and lower for '%s': they cannot be compared ('assay import' has "
				  "--higher-is-better and --lower-is-better)",
				  baseline->higher_is_better ? baseline->application : candidate->application,
				  baseline->higher_is_better ? candidate->application : baseline->application);
	pairing_of(evidence, config, baseline, candidate, &v.pairing);
	v.effect = measure(&v.pairing, min_effect);
	explain(&v);
	find_resources(evidence, &v);
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
