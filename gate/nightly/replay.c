#include "gate/nightly/replay.h"

#include "base/mem.h"
#include "base/rng.h"
#include "gate/conditions/disturbed.h"
#include "gate/nightly/judge.h"

struct replay_state {
	const struct replay *replay_request;
	struct evidence evidence; /* has no fingerprints: a replay does not need the cause of a change */
	const struct lab_config *config;
	char **machines; /* [n], owned by the run set */
	size_t n;
	int64_t *start; /* [n], first repetition of the current pair on each machine */
	bool swapped;	/* the sides are swapped */
};

static void find_machines(struct replay_state *r)
{
	const struct run_set *set = r->replay_request->sides[0];

	r->machines = mem_new(set->n, sizeof(*r->machines));
	for (size_t i = 0; i < set->n; i++) {
		if (!r->n || strcmp(r->machines[r->n - 1], set->items[i].machine) != 0)
			r->machines[r->n++] = set->items[i].machine;
	}
	r->start = mem_new(r->n, sizeof(*r->start));
}

/* Draws the first of n repetitions on each machine. The first one is odd, so that blocks of two repetitions stay together. */
static void draw_starts(struct replay_state *r, int64_t n, struct rng *rng)
{
	uint64_t places = (uint64_t)(r->replay_request->repetitions - n) / 2 + 1;

	for (size_t i = 0; i < r->n; i++)
		r->start[i] = i && r->replay_request->together ? r->start[0] : 1 + 2 * (int64_t)rng_below(rng, places);
	r->swapped = r->replay_request->identical && rng_below(rng, 2);
}

/* Returns the drawn repetitions of one side, renumbered from 1. The source owns the texts. */
static struct run_set draw_runs(const struct replay_state *r, int side, int64_t n, double level)
{
	const struct run_set *from = r->replay_request->sides[r->swapped ? 1 - side : side];
	struct run_set set = *from;
	size_t machine = 0;

	set.items = mem_new(from->n, sizeof(*set.items));
	set.n = 0;
	set.others = NULL;
	set.n_others = 0;
	set.level = level;
	if (r->replay_request->identical)
		set.version = r->replay_request->sides[0]->version;
	for (size_t i = 0; i < from->n; i++) {
		int64_t repetition;

		while (machine < r->n && strcmp(r->machines[machine], from->items[i].machine) < 0)
			machine++;
		if (machine == r->n || strcmp(r->machines[machine], from->items[i].machine) != 0)
			continue;
		repetition = from->items[i].repetition - r->start[machine] + 1;
		if (repetition < 1 || repetition > n)
			continue;
		set.items[set.n] = from->items[i];
		set.items[set.n++].repetition = repetition;
	}
	return set;
}

/* Makes one interim analysis of n repetitions and sets *v to the verdict. Returns false on failure. The caller calls release_sides(). */
static bool decide_at(const struct replay_state *r, int64_t n, double level, struct run_set sides[2], struct verdict *v)
{
	struct disturbed disturbed;
	struct assay_error ignored;

	for (int side = 0; side < 2; side++)
		sides[side] = draw_runs(r, side, n, level);
	disturbed_exclude_runs(sides, r->replay_request->min_effect, &disturbed);
	disturbed_release(&disturbed);
	return verdict_compute(&r->evidence, r->config, &sides[0], &sides[1], r->replay_request->min_effect, v, &ignored) == ASSAY_OK;
}

static void release_sides(struct run_set sides[2], struct verdict *v)
{
	verdict_release(v);
	for (int side = 0; side < 2; side++)
		mem_free(sides[side].items, sides[side].others);
}

/* Returns the number of the last interim analysis for which the runs suffice for two pairs; 0 if they suffice for none. */
static int find_last_analysis(const struct replay *replay_request)
{
	int look = 0;

	while (look < ANALYSES_MAX && 2 * analysis_repetitions(replay_request->first, look + 1) <= replay_request->repetitions)
		look++;
	return look;
}

static void replay_pair(struct replay_state *r, int last, struct rng *rng, struct replay_counts *out)
{
	enum decision decision = DECISION_INCONCLUSIVE, by_wall_time = decision;
	bool by_processor = false, settled = false;
	int64_t n = 0;

	draw_starts(r, r->replay_request->at_once ? r->replay_request->at_once : analysis_repetitions(r->replay_request->first, last), rng);
	for (int look = r->replay_request->at_once ? last : 1; look <= last && !settled; look++) {
		double level = r->replay_request->at_once ? EFFECT_LEVEL : analysis_level(look, look == last);
		struct run_set sides[2];
		struct verdict v = { .n_reasons = 0 };

		n = r->replay_request->at_once ? r->replay_request->at_once : analysis_repetitions(r->replay_request->first, look);
		if (decide_at(r, n, level, sides, &v)) {
			decision = v.effect.decision;
			by_wall_time = v.interval_decision;
			settled = judge_is_settled(&v);
			by_processor = verdict_is_by_cpu_time(&v);
			out->detectable = verdict_effect(&v)->minimum_detectable;
		}
		release_sides(sides, &v);
	}
	if (decision_is_finding(decision)) {
		struct run_set sides[2];
		struct verdict v = { .n_reasons = 0 };

		draw_starts(r, n, rng);
		out->confirmed[decision] += decide_at(r, n, EFFECT_LEVEL, sides, &v) && judge_is_confirmed(&v, decision, by_processor, 1);
		release_sides(sides, &v);
	}
	out->decision[decision]++;
	out->by_wall_time[by_wall_time]++;
	out->mean_repetitions += (double)n;
}

bool replay_pairs(const struct evidence *evidence, const struct lab_config *config, const struct replay *replay, size_t pairs,
		  struct rng *rng, struct replay_counts *out)
{
	struct replay_state r = { .replay_request = replay, .evidence = *evidence, .config = config };
	int last = find_last_analysis(replay);

	*out = (struct replay_counts){ .pairs = 0 };
	r.evidence.fingerprints = (struct fingerprint_set){ 0 };
	find_machines(&r);
	if (last && r.n) {
		out->pairs = pairs;
		out->distinct = (size_t)(replay->repetitions / analysis_repetitions(replay->first, last));
		out->distinct = out->distinct < pairs ? out->distinct : pairs;
		for (size_t i = 0; i < pairs; i++)
			replay_pair(&r, last, rng, out);
		out->mean_repetitions /= (double)pairs;
	}
	mem_free(r.machines, r.start);
	return out->pairs;
}
