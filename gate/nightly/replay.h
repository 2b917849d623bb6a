/* Replays comparisons with existing runs. Draws pairs from two long series of runs, and decides each pair as a night would, with all
 * interim analyses. Counts findings among identical pairs (false alarms) and findings of injected slowdowns. */
#ifndef GATE_NIGHTLY_REPLAY_H
#define GATE_NIGHTLY_REPLAY_H

#include "gate/comparison/calibration.h"

struct rng;

struct replay {
	const struct run_set
	    *sides[2]; /* baseline and candidate: runs of one plan, with repetitions 1 to `repetitions`, in turn on each machine */
	int64_t repetitions, first; /* number of repetitions per side; number of repetitions at the first interim analysis */
	double min_effect;
	bool identical;	 /* both sides are the same build: swap them at random, and hide from the decision that they are identical */
	bool together;	 /* the machines share a physical host and its disturbances: start at the same repetition on all machines */
	int64_t at_once; /* number of repetitions if there is only one analysis; 0 means several interim analyses */
};

/* Replays `pairs` pairs, each with consecutive runs from a random start per machine. Returns false and zeroes *out if runs are too few. */
bool replay_pairs(const struct evidence *evidence, const struct lab_config *config, const struct replay *replay, size_t pairs,
		  struct rng *rng, struct replay_counts *out);

#endif
