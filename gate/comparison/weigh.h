/* Determines how much of a slowdown is time that the environment cost the candidate's runs, from the regions of recorded runs. */
#ifndef GATE_COMPARISON_WEIGH_H
#define GATE_COMPARISON_WEIGH_H

#include "base/document.h"
#include "gate/decide/verdict.h"

struct variance_weighed {
	struct weighed_side {
		size_t runs;	/* runs that were recorded and analysed; 0: none */
		size_t unseen;	/* further recorded runs, whose records cannot be read, were removed or are incomplete */
		char *why;	/* why the first of these was not analysed; NULL: there are none */
		double seconds; /* mean time from the first call to the last */
		double lost_s;	/* mean part of that time that was lost to the environment */
		char *worst;	/* the most expensive region: where, when, why; NULL: there is none */
		double worst_s;
	} sides[2];	       /* baseline, candidate */
	double ratio, without; /* candidate / baseline over machines that recorded both, and the same without lost time; NaN: no machine */
	bool explains;	       /* without the lost time there is no change that matters */
};

/* Analyses the records of the runs of the latest plans of both sides that count. If they explain a finding, passes it to verdict_excuse(),
 * with the region as a reason, and returns its result. *out is overwritten. O(records); those of one run are in memory at a time. The
 * records of 8 processes of a minute are 10 MB, and take a second and 180 MB of memory; a run of half a second takes 2 ms. */
bool variance_weigh(struct lab *lab, struct verdict *verdict, struct variance_weighed *out);
void variance_weighed_release(struct variance_weighed *weighed); /* accepts zeroed */

/* Adds the object `variance` and its table, if anything was recorded. */
void variance_weighed_answer(const struct variance_weighed *weighed, struct document *d);

#endif
