/* What recorded runs say of a slowdown: how much of it is time that others took from the candidate's runs (regions of variance whose cause
 * is the environment). */
#ifndef GATE_VARIANCE_WEIGH_H
#define GATE_VARIANCE_WEIGH_H

#include "base/document.h"
#include "gate/decide/verdict.h"

struct variance_weighed {
	struct weighed_side {
		size_t runs;	/* that were recorded; 0: none */
		size_t unseen;	/* beside these: their records cannot be read, were removed, or are not whole */
		char *why;	/* of the first of those; NULL: there are none */
		double seconds; /* mean, from the first call to the last */
		double lost_s;	/* mean, of that, to the environment */
		char *worst;	/* the most expensive region of them: where, when, why; NULL: there is none */
		double worst_s;
	} sides[2];	       /* baseline, candidate */
	double ratio, without; /* over machines that recorded both: candidate / baseline, and without what was lost; NaN: there are none */
	bool explains;	       /* without it there is no slowdown that matters */
};

/* Of those runs of the latest plans of both that count. O(their records); one run's are in memory at a time. */
void variance_weigh(struct lab *lab, const struct run_set *baseline, const struct run_set *candidate, double min_effect,
		    struct variance_weighed *out);
void variance_weighed_release(struct variance_weighed *weighed); /* accepts zeroed */

/* A regression that this explains, and that is not the code's by its processor time, becomes `environment`, with the region as a reason;
 * else false. */
bool variance_excuse(const struct variance_weighed *weighed, struct verdict *verdict);

/* The object `variance`, and its table; nothing where nothing was recorded. */
void variance_weighed_answer(const struct variance_weighed *weighed, struct document *d);

#endif
