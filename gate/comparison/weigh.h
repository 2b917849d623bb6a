/* Computes how much of a slowdown is time that the candidate's runs lost to the environment, from the slow regions of recorded runs. */
#ifndef GATE_COMPARISON_WEIGH_H
#define GATE_COMPARISON_WEIGH_H

#include "base/document.h"
#include "gate/decide/verdict.h"

struct variance_weighed {
	struct weighed_side {
		size_t runs;	/* number of runs that were recorded and analysed */
		size_t unseen;	/* number of runs with recording whose records are unreadable, removed or incomplete */
		char *why;	/* why the first of the `unseen` runs was not analysed; NULL: there are none */
		double seconds; /* mean time from the first call to the last */
		double lost_s;	/* mean part of `seconds` that was lost to the environment */
		char *worst;	/* the most expensive region: place, time, cause; NULL: no region */
		double worst_s;
	} sides[2];	       /* baseline, candidate */
	double ratio, without; /* candidate / baseline on machines that recorded both, and this ratio without lost time; NaN: no machine */
	bool explains;	       /* the change matters, but not without the lost time */
};

/* Analyses the records of the counted runs in the latest plans of both sides. If they explain a finding, passes it to verdict_excuse() with
 * the region as the reason, and returns its result. *out is overwritten. O(records); holds the records of one run in memory at a time. The
 * records of 8 processes over a minute are 10 MB, and take a second and 180 MB of memory; a run of half a second takes 2 ms. */
bool variance_weigh(struct lab *lab, struct verdict *verdict, struct variance_weighed *out);
void variance_weighed_release(struct variance_weighed *weighed); /* accepts zeroed */

/* Adds the object `variance` and its table, if anything was recorded. */
void variance_weighed_answer(const struct variance_weighed *weighed, struct document *d);

#endif
