/* How much of a slowdown is time that the environment cost the candidate's runs, by the regions of recorded runs. */
#ifndef GATE_COMPARISON_WEIGH_H
#define GATE_COMPARISON_WEIGH_H

#include "base/document.h"
#include "gate/decide/verdict.h"

struct variance_weighed {
	struct weighed_side {
		size_t runs;	/* recorded and analysed; 0: none */
		size_t unseen;	/* further ones, whose records cannot be read, were removed or are not whole */
		char *why;	/* of the first of these; NULL: there are none */
		double seconds; /* mean, from the first call to the last */
		double lost_s;	/* mean, of that, lost to the environment */
		char *worst;	/* the costliest region: where, when, why; NULL: there is none */
		double worst_s;
	} sides[2]; /* baseline, candidate */
	double ratio,
	    without;   /* candidate / baseline over machines that recorded both, and the same without what was lost; NaN: no machine */
	bool explains; /* without what was lost there is no slowdown that matters; of an improvement, none of the baseline */
};

/* Of those runs of the latest plans of both sides that count. A finding that their records explain, and that is not the code's by its
 * CPU time, becomes `environment`, with the region as a reason: then true. *out is overwritten. O(their records), of which those of
 * one run are in memory at a time: 8 processes of a minute are 10 MB, and take a second and 180 MB; a run of half a second takes 2 ms. */
bool variance_weigh(struct lab *lab, struct verdict *verdict, struct variance_weighed *out);
void variance_weighed_release(struct variance_weighed *weighed); /* accepts zeroed */

/* Adds the object `variance` and its table, if anything was recorded. */
void variance_weighed_answer(const struct variance_weighed *weighed, struct document *d);

#endif
