/* Replays comparisons from existing runs: draws pairs from two long series and decides each as a night does, one interim analysis after the
 * other. Counts false findings among identical pairs, and injected slowdowns that are found. */
#ifndef GATE_NIGHTLY_REPLAY_H
#define GATE_NIGHTLY_REPLAY_H

#include "gate/comparison/calibration.h"

struct rng;

struct replay {
	const struct run_set *sides[2]; /* baseline and candidate: repetitions 1 to `repetitions` of one plan, in turn on each machine */
	int64_t repetitions, first;	/* repetitions per side; those at the first interim analysis (gate/decide/effect.h) */
	double min_effect;
	bool identical;	 /* swap the sides at random, and hide from the decision that both are the same build */
	bool together;	 /* the machines share one physical host and its disturbances: draw one start for all */
	int64_t at_once; /* repetitions of a single analysis; 0: one interim analysis after the other */
};

/* Replays `pairs` pairs. Each machine's runs are consecutive repetitions from a random start. Advances `rng`. Returns false and zeroes *out
 * if the runs do not suffice for two pairs. */
bool replay_pairs(const struct evidence *evidence, const struct lab_config *config, const struct replay *replay, size_t pairs,
		  struct rng *rng, struct replay_counts *out);

#endif
