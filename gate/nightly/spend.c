#include "gate/nightly/spend.h"

#include "base/clock.h"
#include "gate/decide/effect.h"
#include "gate/decide/verdict.h"
#include "gate/conditions/disturbed.h"
#include "gate/nightly/judge.h"
#include "gate/comparison/weigh.h"

#define BLOCK_REPETITIONS 2 /* repetitions per block; the second has the reverse order of versions */

struct sequential_state {
	struct launch_options options;
	struct sequential_options asked;
	int64_t began_ns, first; /* number of repetitions before the first interim analysis */
	bool retried;		 /* hosts that failed in this block were tried again */
	struct sequential_result *out;
};

static double elapsed_s(const struct sequential_state *s)
{
	return (double)(clock_monotonic_ns() - s->began_ns) / 1e9;
}

static enum assay_status analyse_input(const struct sequential_state *s, struct launch *launch, const struct evidence *evidence,
				       size_t input, bool *decided, struct assay_error *err)
{
	char *name = manifest_stored_name(&launch->manifest, manifest_find_input(&launch->manifest, launch->plan.inputs[input]));
	struct run_set sides[2] = { 0 };
	struct verdict verdict = { .n_reasons = 0 };
	struct disturbed disturbed = { .n = 0 };
	struct variance_effect weighed = { .explains = false };
	double min_effect = s->asked.min_effect > 0 ? s->asked.min_effect : launch->lab.config.min_effect;
	enum assay_status st = ASSAY_OK;

	for (int i = 0; !st && i < 2; i++)
		st = run_load_plan(&launch->lab.store, name, launch->plan.versions[i], s->asked.exclude_disturbed ? launch->plan.id : NULL,
				   &sides[i], err);
	if (!st && s->asked.exclude_disturbed)
		disturbed_exclude_runs(sides, min_effect, &disturbed);
	if (!st)
		st = verdict_compute(evidence, &launch->lab.config, &sides[0], &sides[1], min_effect, &verdict, err);
	if (!st && decision_is_finding(verdict.effect.decision) && judge_is_settled(&verdict))
		variance_compute_effect(&launch->lab, &verdict,
					&weighed); /* recorded calls can show that the environment caused the finding */
	variance_effect_release(&weighed);
	disturbed_release(&disturbed);
	*decided = *decided && !st && judge_is_settled(&verdict);
	verdict_release(&verdict);
	run_set_release(&sides[0]);
	run_set_release(&sides[1]);
	free(name);
	return st;
}

/* Decides all inputs. First stores the level of this analysis in the plan, so that later decisions use the same level. */
static enum assay_status analyse_all_inputs(const struct sequential_state *s, struct launch *launch, bool last, struct assay_error *err)
{
	struct evidence evidence = { 0 };
	enum assay_status st = plan_add_repetitions(&launch->lab.store, launch->plan.id, launch->plan.repetitions,
						    analysis_level(s->out->n_analyses, last), err);

	if (!st)
		st = evidence_load(&launch->lab, &evidence, err);
	s->out->decided = true;
	for (size_t i = 0; !st && i < launch->plan.n_inputs; i++)
		st = analyse_input(s, launch, &evidence, i, &s->out->decided, err);
	evidence_release(&evidence);
	return st;
}

/* Returns the number of repetitions for the next interim analysis, limited by the rest of the budget at the speed of the last block.
 * Returns at least the current number. */
static int64_t next_repetitions(const struct sequential_state *s, const struct launch *launch, double block_s, int64_t block)
{
	int64_t now = launch->plan.repetitions, next;
	double left = s->asked.budget_s - elapsed_s(s);

	if (s->out->n_analyses >= ANALYSES_MAX)
		return now;
	next = analysis_repetitions(s->first, s->out->n_analyses + 1);
	next = next > now ? next : now;
	if (s->asked.budget_s > 0 && block_s > 0 && block > 0 && block_s / (double)block * (double)(next - now) > left)
		next = now + (left > 0 ? (int64_t)(left / block_s * (double)block) / BLOCK_REPETITIONS * BLOCK_REPETITIONS : 0);
	return next;
}

/* Returns the number of the interim analysis that the plan has reached, including those of earlier sessions. */
static int analysis_number(int64_t first, int64_t repetitions)
{
	int look = 1;

	while (look < ANALYSES_MAX && analysis_repetitions(first, look) < repetitions)
		look++;
	return look;
}

bool sequential_find_lost_hosts(const struct launch *launch, char **out)
{
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < launch->n; i++) {
		const struct fleet_result *r = &launch->results[i].fleet;

		if (r->outcome != FLEET_OK)
			buf_format(&text, "%s%s: %s", text.size ? "; " : "", launch->hosts[i]->name, r->message);
	}
	free(*out);
	*out = text.size ? buf_take(&text) : NULL;
	return *out;
}

/* Makes an interim analysis. If there is no decision, extends the plan. Sets *more if the plan then has another block. */
static enum assay_status analyse_and_extend(struct sequential_state *s, struct launch *launch, double block_s, int64_t *repetitions_done,
					    bool *more, struct assay_error *err)
{
	bool cancelled = s->options.cancelled && *s->options.cancelled;
	enum assay_status st = analyse_all_inputs(s, launch, false, err);
	int64_t next = next_repetitions(s, launch, block_s, launch->plan.repetitions - *repetitions_done);

	*repetitions_done = launch->plan.repetitions;
	*more = !st && !s->out->decided && next > *repetitions_done && s->out->outcome != LAUNCH_ALL_FAILED && !cancelled;
	if (*more)
		st = plan_add_repetitions(&launch->lab.store, launch->plan.id, next, analysis_level(s->out->n_analyses, false), err);
	else if (!st && !s->out->decided)
		st = analyse_all_inputs(s, launch, true, err);
	s->out->budget = !s->out->decided && s->out->n_analyses < ANALYSES_MAX && s->out->outcome != LAUNCH_ALL_FAILED;
	return st;
}

/* Runs the plan's next block, analyses the results, and extends the plan. Sets *more if another block must run. */
static enum assay_status run_block(struct sequential_state *s, int64_t *repetitions_done, bool *more, struct assay_error *err)
{
	int64_t began_ns = clock_monotonic_ns();
	struct launch launch;
	enum assay_status st = launch_run(&s->options, &launch, err);
	double block_s = (double)(clock_monotonic_ns() - began_ns) / 1e9;

	*more = false;
	if ((!st && launch.nothing_to_resume) ||
	    (s->options.resume && *repetitions_done == 0 && (st == ASSAY_E_USAGE || st == ASSAY_E_CONFLICT))) {
		st = ASSAY_OK; /* there is no interrupted plan, or it does not fit: start a new plan */
		s->options.resume = false;
		*more = true;
	} else if (!st) {
		bool cancelled = s->options.cancelled && *s->options.cancelled,
		     lost = sequential_find_lost_hosts(&launch, &s->out->lost_hosts);

		s->first = s->first ? s->first : launch.manifest.repetitions;
		s->out->n_analyses = analysis_number(s->first, launch.plan.repetitions);
		s->out->repetitions = launch.plan.repetitions;
		s->out->outcome = launch_outcome(&launch);
		s->out->runs = launch_count(&launch, NULL, NULL, NULL).ok;
		snprintf(s->out->plan, sizeof(s->out->plan), "%s", launch.plan.id);
		s->options.resume = true;
		*more = lost && !cancelled && !s->retried;
		s->retried = *more;
		if (!*more)
			st = analyse_and_extend(s, &launch, block_s, repetitions_done, more, err);
	}
	launch_release(&launch);
	return st;
}

enum assay_status sequential_measure(const struct launch_options *launch, const struct sequential_options *asked,
				     struct sequential_result *out, struct assay_error *err)
{
	struct sequential_state s = {
		.options = *launch, .asked = *asked, .began_ns = clock_monotonic_ns(), .first = launch->choice.repetitions, .out = out
	};
	int64_t repetitions_done = 0;
	bool more = true;
	enum assay_status st = ASSAY_OK;

	*out = (struct sequential_result){ .n_analyses = 0 };
	s.options.skip_hung = true;
	s.options.until_ns = asked->budget_s > 0 ? s.began_ns + (int64_t)(asked->budget_s * 1e9) : 0;
	while (!st && more && !(launch->cancelled && *launch->cancelled)) {
		st = run_block(&s, &repetitions_done, &more, err);
		s.options.choice.repetitions = 0; /* from now on, the plan determines the number of repetitions */
		if (!st && asked->on_block_end)
			st = asked->on_block_end(asked->context, elapsed_s(&s), err);
	}
	out->seconds = elapsed_s(&s);
	return st;
}

void sequential_result_release(struct sequential_result *sequential_result)
{
	free(sequential_result->lost_hosts);
	*sequential_result = (struct sequential_result){ .n_analyses = 0 };
}
