/* Finds functions that are anomalous only because of another function, the cause:
 *  - The cause evicts cache lines and pages that other functions of its threads use again. They miss more, although their work is the same.
 *  The cause also misses more, because no function evicts more than it fetches.
 *  - The cause no longer fetches data. Now the first function that touches a line or page has the miss: misses only moved.
 *  - The cause allocates. New memory replaces memory that would be used again. Users of the new memory miss it, at most once per line.
 *  - The cause is called more often. Its caller mispredicts the branch before the call more often, at most once per call.
 *  - The cause takes other paths and mispredicts more. Branches of other functions, predicted from these paths, then also fail. */
#ifndef GATE_DETECT_SIDE_EFFECT_H
#define GATE_DETECT_SIDE_EFFECT_H

#include "gate/detect/kind.h"
#include "gate/detect/side.h"

#define SIDE_EFFECT_PART  .1  /* a function whose additional misses exceed this fraction of the cause's may have a fault of its own */
#define SIDE_EFFECT_MOVED .75 /* misses moved if other functions have fewer misses by this fraction of the additional ones */

/* A function that was judged. */
struct side_effect_row {
	const char *symbol; /* as in gate/detect/observe.h */
	struct kind kind;   /* also set for functions that are not anomalous */
	bool worse;	    /* only worse functions can be side effects */
	double calls;	    /* number of calls in all runs, scaled to the normal number of calls per run */
};

/* Sets cause[i] to the index of the row that row i is a side effect of; SIZE_MAX if row i is no side effect. Costs O(samples of `side` *
 * n).
 *
 * A side effect has only additional misses (kind.only_misses) or only additional mispredictions (kind.only_branches), as far as they
 * matter. Its cause runs in at least half of its threads. If misses moved, the cause is the function whose misses decreased most. Otherwise
 * the cause is a worse function that allocates, or is called more often, or has most additional misses and is no side effect itself. In the
 * last case, the side effect has at most SIDE_EFFECT_PART of the cause's additional misses. So the row with most misses is never a side
 * effect. A second fault that only causes misses, by less than SIDE_EFFECT_PART of the first, looks like a side effect. */
void side_effects_find(const struct side *side, const struct side_effect_row *rows, size_t n, size_t *cause);

#endif
