/* Finds functions that are anomalous only because of another function, the cause:
 * - It evicts lines and pages that other functions of its threads would find again. These miss more, though their work is the same. The
 * cause misses more itself, because no function evicts more than it fetches.
 * - It no longer fetches. The first function that touches a line or page misses it, and others miss less: misses moved.
 * - It allocates. New memory replaces memory that was used again; its users miss it, at most once per line.
 * - It is called more often. Its caller mispredicts the deciding branch more often, at most once per call.
 * - It takes other paths and mispredicts more. Later branches of other functions, predicted from these paths, fail at most as often. */
#ifndef GATE_DETECT_SIDE_EFFECT_H
#define GATE_DETECT_SIDE_EFFECT_H

#include "gate/detect/kind.h"
#include "gate/detect/side.h"

#define SIDE_EFFECT_PART  .1  /* a function whose additional misses exceed this part of the cause's may have a fault of its own */
#define SIDE_EFFECT_MOVED .75 /* minimum part of a function's additional misses that other functions have less: these misses moved */

/* A function that was judged. */
struct side_effect_row {
	const char *symbol; /* as in gate/detect/observe.h */
	struct kind kind;   /* set also for functions that are not anomalous */
	bool worse;	    /* only worse functions are side effects */
	double calls;	    /* calls in all runs, if each run had the normal number of calls */
};

/* Fills cause[n] with the row that each row is a side effect of; SIZE_MAX: none. A side effect has, as far as it matters, only additional
 * misses (kind.only_misses) or branches (kind.only_branches). The cause runs in at least half of its threads. If misses moved, the cause is
 * the function whose misses decreased most. Otherwise the cause is worse: it allocates or is called more often; or it has most additional
 * misses, of which SIDE_EFFECT_PART are no fewer than the side effect's, and is no side effect itself. So the row with most misses is never
 * a side effect. A second fault that only misses, by less than SIDE_EFFECT_PART of the first, cannot be distinguished from a side effect.
 * O(samples of `side` * n). */
void side_effects_find(const struct side *side, const struct side_effect_row *rows, size_t n, size_t *cause);

#endif
