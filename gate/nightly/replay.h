/* Comparisons that could have been made of runs that were: pairs drawn from two long series, decided as a night decides, look by look. How
 * often identical ones are called slower or faster, and how often planted slowdowns are found. */
#ifndef GATE_NIGHTLY_REPLAY_H
#define GATE_NIGHTLY_REPLAY_H

#include "gate/decide/effect.h"
#include "runs/running/evidence.h"

struct replay {
	const struct run_set *sides[2]; /* baseline and candidate; repetitions 1 to `repetitions` of one plan, in turn on every machine */
	int64_t repetitions, first;	/* first: at the first look (gate/decide/effect.h) */
	double min_effect;
	bool identical;	 /* sides change places at random, and that they are the same build decides nothing */
	bool together;	 /* machines are of one computer: what disturbs one of them disturbs all, and their stretches have one place */
	int64_t at_once; /* one look at so many repetitions instead; 0: look by look */
};

struct replay_counts {
	size_t pairs;
	size_t distinct; /* of these, that share no run with another one; the rest are made of the same runs in other combinations */
	size_t decision[DECISIONS];
	size_t by_wall[DECISIONS];    /* what the interval of the metric alone says in the end */
	size_t seen_again[DECISIONS]; /* of regressions and improvements: fresh runs, drawn likewise, showed them once more, so that a night
				       * calls them */
	double looked_at;	      /* repetitions a pair, on the average */
	double detectable;	      /* what the last pair says that it could have found, at its last look */
};

/* Each machine's runs are a stretch from a place that is drawn. `rng` goes on from call to call. False, with zeros: there are not enough
 * runs for one pair and another one to confirm it. */
struct rng;
bool replay_pairs(const struct evidence *evidence, const struct lab_config *config, const struct replay *replay, size_t pairs,
		  struct rng *rng, struct replay_counts *out);

#endif
