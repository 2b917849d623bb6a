#include "gate/nightly/replay.h"

#include "base/mem.h"
#include "base/rng.h"
#include "gate/conditions/disturbed.h"
#include "gate/nightly/judge.h"

struct replaying {
	const struct replay *of;
	struct evidence evidence; /* has no fingerprints: a replay does not need the cause of a change */
	const struct lab_config *config;
	char **machines; /* [n], owned by the run set */
	size_t n;
	int64_t *start; /* [n], first repetition of the current pair on each machine */
	bool turned;	/* the sides are swapped */
};

static void find_machines(struct replaying *r)
{
	const struct run_set *set = r->of->sides[0];

	r->machines = mem_new(set->n, sizeof(*r->machines));
	for (size_t i = 0; i < set->n; i++) {
		if (!r->n || strcmp(r->machines[r->n - 1], set->items[i].machine) != 0)
			r->machines[r->n++] = set->items[i].machine;
	}
	r->start = mem_new(r->n, sizeof(*r->start));
}

/* Draws the first of n repetitions on each machine. The first one is odd, so that blocks of two repetitions stay together. */
static void draw(struct replaying *r, int64_t n, struct rng *rng)
{
	uint64_t places = (uint64_t)(r->of->repetitions - n) / 2 + 1;

	for (size_t i = 0; i < r->n; i++)
		r->start[i] = i && r->of->together ? r->start[0] : 1 + 2 * (int64_t)rng_below(rng, places);
	r->turned = r->of->identical && rng_below(rng, 2);
}

/* Returns the drawn repetitions of one side, renumbered from 1. The source owns the texts. */
static struct run_set stretch(const struct replaying *r, int side, int64_t n, double level)
{
	const struct run_set *from = r->of->sides[r->turned ? 1 - side : side];
	struct run_set set = *from;
	size_t machine = 0;

	set.items = mem_new(from->n, sizeof(*set.items));
	set.n = 0;
	set.others = NULL;
	set.n_others = 0;
	set.level = level;
	if (r->of->identical)
		set.version = r->of->sides[0]->version;
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

/* Makes one interim analysis of n repetitions and sets *v to the verdict. Returns false on failure. The caller calls forget(). */
static bool inspect(const struct replaying *r, int64_t n, double level, struct run_set sides[2], struct verdict *v)
{
	struct disturbed disturbed;
	struct assay_error ignored;

	for (int side = 0; side < 2; side++)
		sides[side] = stretch(r, side, n, level);
	disturbed_take(sides, r->of->min_effect, &disturbed);
	disturbed_release(&disturbed);
	return verdict_of(&r->evidence, r->config, &sides[0], &sides[1], r->of->min_effect, v, &ignored) == ASSAY_OK;
}

static void forget(struct run_set sides[2], struct verdict *v)
{
	verdict_release(v);
	for (int side = 0; side < 2; side++)
		mem_free(sides[side].items, sides[side].others);
}

/* Returns the number of the last interim analysis for which the runs suffice for two pairs; 0 if they suffice for none. */
static int last_analysis(const struct replay *of)
{
	int look = 0;

	while (look < LOOKS_MAX && 2 * looks_repetitions(of->first, look + 1) <= of->repetitions)
		look++;
	return look;
}

static void replay_pair(struct replaying *r, int last, struct rng *rng, struct replay_counts *out)
{
	enum decision decision = DECISION_INCONCLUSIVE, by_wall = decision;
	bool by_processor = false, settled = false;
	int64_t n = 0;

	draw(r, r->of->at_once ? r->of->at_once : looks_repetitions(r->of->first, last), rng);
	for (int look = r->of->at_once ? last : 1; look <= last && !settled; look++) {
		double level = r->of->at_once ? EFFECT_LEVEL : analysis_level(look, look == last);
		struct run_set sides[2];
		struct verdict v = { .n_reasons = 0 };

		n = r->of->at_once ? r->of->at_once : looks_repetitions(r->of->first, look);
		if (inspect(r, n, level, sides, &v)) {
			decision = v.effect.decision;
			by_wall = v.by_interval;
			settled = judge_settled(&v);
			by_processor = verdict_by_processor(&v);
			out->detectable = verdict_effect(&v)->minimum_detectable;
		}
		forget(sides, &v);
	}
	if (decision_is_finding(decision)) {
		struct run_set sides[2];
		struct verdict v = { .n_reasons = 0 };

		draw(r, n, rng);
		out->seen_again[decision] += inspect(r, n, EFFECT_LEVEL, sides, &v) && judge_seen_again(&v, decision, by_processor, 1);
		forget(sides, &v);
	}
	out->decision[decision]++;
	out->by_wall[by_wall]++;
	out->looked_at += (double)n;
}

bool replay_pairs(const struct evidence *evidence, const struct lab_config *config, const struct replay *replay, size_t pairs,
		  struct rng *rng, struct replay_counts *out)
{
	struct replaying r = { .of = replay, .evidence = *evidence, .config = config };
	int last = last_analysis(replay);

	*out = (struct replay_counts){ .pairs = 0 };
	r.evidence.fingerprints = (struct fingerprint_set){ 0 };
	find_machines(&r);
	if (last && r.n) {
		out->pairs = pairs;
		out->distinct = (size_t)(replay->repetitions / looks_repetitions(replay->first, last));
		out->distinct = out->distinct < pairs ? out->distinct : pairs;
		for (size_t i = 0; i < pairs; i++)
			replay_pair(&r, last, rng, out);
		out->looked_at /= (double)pairs;
	}
	mem_free(r.machines, r.start);
	return out->pairs;
}
