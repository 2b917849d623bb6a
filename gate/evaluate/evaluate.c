#include "gate/evaluate/evaluate.h"

#include "base/mem.h"
#include "base/stats.h"
#include "gate/evaluate/evaluate_internal.h"
#include "gate/decide/verdict.h"
#include "gate/decide/walk.h"
#include "model/parallel.h"

#include <math.h>

#define SHAPE_LEVEL   .05  /* of effect.uniform */
#define SHAPE_P_LEAST 1e-12 /* smaller ones are 1 minus something next to 1: noise of the arithmetic */

#define METHOD_TEXT(constant, text, flags, score) text,
#define METHOD_FLAGS(constant, text, flags, score) flags,
#define METHOD_SCORE(constant, text, flags, score) score,
ROWS_FUNCTION(evaluate_method_text, enum evaluate_method, EVALUATE_METHOD_ROWS, METHOD_TEXT)
ROWS_FUNCTION(evaluate_method_flags, enum evaluate_method, EVALUATE_METHOD_ROWS, METHOD_FLAGS)
ROWS_FUNCTION(evaluate_method_score, enum evaluate_method, EVALUATE_METHOD_ROWS, METHOD_SCORE)

/* Shared by the threads; each writes its own elements only. */
struct job {
	const struct evidence *evidence;
	const struct lab_config *config;
	const struct evaluate_runs *runs;
	const struct evaluate_options *options;
	struct evaluate_outcome *outcomes;
	struct walk_profile *profiles; /* [runs->n] */
	enum assay_status *status;     /* [pairs] */
};

/* ---- scores ---- */

/* 1 and more exactly when the gate says regression or improved: in units of what it asks for. */
static double gate_score(const struct effect *e, double min_effect)
{
	if (isnan(e->low))
		return nan("");
	return fabs(log(e->ratio)) / fmax(log1p(min_effect), (log(e->high) - log(e->low)) / 2);
}

static double mean_score(const struct pairing *pairing)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < pairing->n; i++) {
		if (pairing->machines[i].reason != PAIRING_USED)
			continue;
		sum += fabs(pairing->machines[i].log_ratio);
		n++;
	}
	return n ? sum / (double)n : (double)NAN;
}

static double shape_score(const struct effect *e)
{
	return isnan(e->shape_p) ? e->shape_p : -log10(fmax(e->shape_p, SHAPE_P_LEAST));
}

static void judge_verdict(const struct verdict *v, struct evaluate_outcome *o)
{
	double *score = o->score;

	o->effect = v->effect;
	score[METHOD_GATE] = gate_score(&v->effect, v->min_effect);
	score[METHOD_MEAN] = mean_score(&v->pairing);
	score[METHOD_SHAPE] = shape_score(&v->effect);
	score[METHOD_EITHER] = fmax(score[METHOD_GATE], score[METHOD_SHAPE] / -log10(SHAPE_LEVEL)); /* of one that is NaN: the other */
	o->flagged[METHOD_GATE] = v->effect.decision == DECISION_REGRESSION || v->effect.decision == DECISION_IMPROVED;
	o->flagged[METHOD_MEAN] = stats_round(score[METHOD_MEAN]) >= stats_round(log1p(v->min_effect));
	o->flagged[METHOD_SHAPE] = !isnan(v->effect.shape_p) && !v->effect.uniform;
	o->flagged[METHOD_EITHER] = o->flagged[METHOD_GATE] || o->flagged[METHOD_SHAPE];
}

static void judge_walk(const struct walk_profile *baseline, const struct walk_profile *candidate, double epsilon,
		       struct evaluate_outcome *o)
{
	struct walk walk;

	o->score[METHOD_WALK] = nan("");
	if (!baseline->n || !candidate->n)
		return;
	walk_of(baseline, candidate, epsilon, &walk);
	o->score[METHOD_WALK] = walk.distance;
	o->flagged[METHOD_WALK] = walk.decision == DECISION_REGRESSION;
	walk_release(&walk);
}

static int compare_runs(const struct run *a, const struct run *b)
{
	int order = strcmp(a->machine, b->machine);

	if (order)
		return order;
	if (a->repetition != b->repetition)
		return (a->repetition > b->repetition) - (a->repetition < b->repetition);
	return (a->taken_ms > b->taken_ms) - (a->taken_ms < b->taken_ms);
}

/* Results of one version that stand on both sides. */
static size_t count_shared(const struct run_set *a, const struct run_set *b)
{
	size_t shared = 0, i = 0, k = 0;

	if (strcmp(a->application, b->application) != 0 || strcmp(a->version, b->version) != 0)
		return 0;
	while (i < a->n && k < b->n) {
		int order = compare_runs(&a->items[i], &b->items[k]);

		shared += order == 0;
		i += order <= 0;
		k += order >= 0;
	}
	return shared;
}

/* ---- work of the threads ---- */

/* A version of which no profile can be made keeps an empty one: the walk has nothing to say of it. */
static void fit_profile(void *context, size_t i)
{
	struct job *job = context;
	struct assay_error ignored;

	if (walk_profile_of(job->evidence, &job->runs->sets[i], &job->profiles[i], &ignored))
		job->profiles[i] = (struct walk_profile){ 0 };
}

static void judge_pair(void *context, size_t i)
{
	struct job *job = context;
	const struct run_set *baseline = &job->runs->sets[job->runs->of[i][0]], *candidate = &job->runs->sets[job->runs->of[i][1]];
	struct evaluate_outcome *o = &job->outcomes[i];
	struct assay_error ignored;
	struct verdict verdict;

	job->status[i] = verdict_of(job->evidence, job->config, baseline, candidate, job->options->min_effect, &verdict, &ignored);
	if (job->status[i])
		return;
	judge_verdict(&verdict, o);
	judge_walk(&job->profiles[job->runs->of[i][0]], &job->profiles[job->runs->of[i][1]], job->options->epsilon, o);
	o->shared = count_shared(baseline, candidate);
	verdict_release(&verdict);
}

/* The error of the first pair that has one, whichever thread met it: its verdict is asked for once more. */
static enum assay_status first_error(const struct job *job, const struct evaluate_pairs *pairs, struct assay_error *err)
{
	for (size_t i = 0; i < pairs->n; i++) {
		struct verdict verdict;

		if (!job->status[i])
			continue;
		if (!verdict_of(job->evidence, job->config, &job->runs->sets[job->runs->of[i][0]], &job->runs->sets[job->runs->of[i][1]],
				job->options->min_effect, &verdict, err)) {
			verdict_release(&verdict);
			return assay_fail(err, ASSAY_E_CORRUPT, "pair %zu: its verdict failed once and not again", pairs->items[i].number);
		}
		return assay_context(err, "pair %zu", pairs->items[i].number);
	}
	return ASSAY_OK;
}

static enum assay_status judge_all(struct job *job, const struct evaluate_pairs *pairs, struct assay_error *err)
{
	enum assay_status st;

	job->profiles = mem_new(job->runs->n, sizeof(*job->profiles));
	job->status = mem_new(pairs->n, sizeof(*job->status));
	if (job->options->walk)
		parallel_for(job->runs->n, job->options->threads, fit_profile, job);
	parallel_for(pairs->n, job->options->threads, judge_pair, job);
	st = first_error(job, pairs, err);
	for (size_t i = 0; i < job->runs->n; i++)
		walk_profile_release(&job->profiles[i]);
	free(job->profiles);
	free(job->status);
	return st;
}

enum assay_status evaluate(const struct evidence *evidence, const struct lab_config *config, const struct evaluate_pairs *pairs,
			   const struct evaluate_runs *runs, const struct evaluate_options *options, struct evaluation *out,
			   struct assay_error *err)
{
	struct evaluation e = { .pairs = pairs, .runs = runs, .options = *options };
	struct job job = { .evidence = evidence, .config = config, .runs = runs, .options = options };
	enum assay_status st;

	ASSAY_BUG_IF(pairs->n == 0 || options->resamples == 0);
	e.outcomes = job.outcomes = mem_new(pairs->n, sizeof(*e.outcomes));
	st = judge_all(&job, pairs, err);
	if (!st) {
		evaluate_clusters(&e);
		evaluate_summary(&e);
	}
	*out = e;
	if (st)
		evaluation_release(out);
	return st;
}

void evaluation_release(struct evaluation *e)
{
	free(e->outcomes);
	free(e->clusters);
	free(e->kinds);
	*e = (struct evaluation){ 0 };
}
