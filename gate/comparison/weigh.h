/* Computes how much of a slowdown is time that the candidate's runs lost to the environment, from the slow regions of recorded runs. */
#ifndef GATE_COMPARISON_WEIGH_H
#define GATE_COMPARISON_WEIGH_H

#include "base/document.h"
#include "gate/decide/verdict.h"

struct variance_effect {
	struct variance_effect_side {
		size_t runs;   /* number of recorded runs that were analysed */
		size_t unseen; /* number of recorded runs that could not be analysed: records unreadable, removed or incomplete */
		char *
		    not_analysed_reason; /* reason why the first of the `unseen` runs could not be analysed; NULL if there is none; owned */
		double seconds;		 /* mean time from the first to the last recorded call of a run */
		double lost_s;		 /* mean time per run that was lost to the environment */
		char
		    *worst; /* text about the region with the longest elapsed time: place, time, cause; NULL if there is no region; owned */
		double worst_s;
	} sides[2];			  /* baseline, candidate */
	double ratio, ratio_without_loss; /* candidate / baseline on the machines that recorded both, and the same ratio without the lost
				  time; NaN if there is no such machine */
	bool explains;			  /* the ratio is large enough to matter, but not after the lost time is subtracted */
};

/* Analyses the recorded runs of both sides' latest plans, and overwrites *out. If the lost time explains a finding, calls
 * verdict_blame_environment() with the most expensive region as the reason, and returns its result; otherwise returns false. O(records);
 * holds the records of one run in memory. The records of 8 processes over a minute have 10 MB, and take 1 s and 180 MB of memory. A run of
 * 0.5 s takes 2 ms. */
bool variance_compute_effect(struct lab *lab, struct verdict *verdict, struct variance_effect *out);
void variance_effect_release(struct variance_effect *weighed); /* accepts a zeroed struct */

/* Adds the object `variance` and a table to the document. Adds nothing if no run was recorded. */
void variance_effect_describe(const struct variance_effect *weighed, struct document *d);

#endif
