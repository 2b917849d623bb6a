/* Replays comparisons from existing runs: draws pairs from two long series and decides each as a night does, one interim analysis after the
 * other. Counts false findings among identical pairs, and injected slowdowns that are found. */
#ifndef GATE_NIGHTLY_REPLAY_H
#define GATE_NIGHTLY_REPLAY_H

#include "gate/comparison/calibration.h"

struct rng;

struct replay {
	const struct run_set *sides[2]; /* baseline and candidate: repetitions 1 to `repetitions` of one plan, in turn on each machine */
	int64_t repetitions, first;	/* number of repetitions per side; number at the first interim analysis (gate/decide/effect.h) */
	double min_effect;
	bool identical;	 /* swap the sides at random, and hide from the decision that both sides are the same build */
	bool together;	 /* the machines share one physical host and its disturbances: draw one start of repetitions for all machines */
	int64_t at_once; /* number of repetitions of a single analysis; 0: one interim analysis after the other */
};

/* Replays `pairs` pairs; each machine's runs are consecutive from a random start. Returns false and zeroes *out if the runs are too few. */
bool replay_pairs(const struct evidence *evidence, const struct lab_config *config, const struct replay *replay, size_t pairs,
		  struct rng *rng, struct replay_counts *out);

#endif
