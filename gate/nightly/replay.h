/* Comparisons that could have been made of runs that were: pairs drawn from two long series, decided as a night decides, look by look. How
 * often identical ones are called slower or faster, and how often injected slowdowns are found. */
#ifndef GATE_NIGHTLY_REPLAY_H
#define GATE_NIGHTLY_REPLAY_H

#include "gate/comparison/calibration.h"

struct rng;

struct replay {
	const struct run_set *sides[2]; /* baseline and candidate; repetitions 1 to `repetitions` of one plan, in turn on every machine */
	int64_t repetitions, first;	/* first: at the first look (gate/decide/effect.h) */
	double min_effect;
	bool identical;	 /* sides change places at random, and that they are the same build decides nothing */
	bool together;	 /* machines are of one computer: what disturbs one of them disturbs all, and their stretches have one place */
	int64_t at_once; /* one look at so many repetitions instead; 0: look by look */
};

/* Each machine's runs are a stretch from a drawn place. `rng` goes on from call to call. False, with zeros: too few runs for two pairs. */
bool replay_pairs(const struct evidence *evidence, const struct lab_config *config, const struct replay *replay, size_t pairs,
		  struct rng *rng, struct replay_counts *out);

#endif
