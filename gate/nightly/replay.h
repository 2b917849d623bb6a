/* Replays comparisons from existing runs: draws pairs from two long series and decides each as a night does, look by look (interim
 * analysis). Counts how often identical pairs are called slower or faster, and how often injected slowdowns are found. */
#ifndef GATE_NIGHTLY_REPLAY_H
#define GATE_NIGHTLY_REPLAY_H

#include "gate/comparison/calibration.h"

struct rng;

struct replay {
	const struct run_set *sides[2]; /* baseline and candidate; repetitions 1 to `repetitions` of one plan, in turn on every machine */
	int64_t repetitions, first;	/* first: repetitions at the first look (gate/decide/effect.h) */
	double min_effect;
	bool identical;	 /* swap sides at random, and hide from the decision that both are the same build */
	bool together;	 /* machines share one physical host, and are disturbed together: draw one start for all of them */
	int64_t at_once; /* repetitions of a single look; 0: look by look */
};

/* Replays `pairs` pairs; each machine's runs are consecutive repetitions from a random start. Advances `rng`. Returns false, with zeros in
 * *out, if there are too few runs for two pairs. */
bool replay_pairs(const struct evidence *evidence, const struct lab_config *config, const struct replay *replay, size_t pairs,
		  struct rng *rng, struct replay_counts *out);

#endif
