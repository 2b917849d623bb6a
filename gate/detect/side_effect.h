/* Finds functions that are anomalous only because of another one, the cause:
 * - It evicts. A thread that fetches other lines and pages evicts those that its other functions would have found again: these miss more,
 * though their work is the same. The cause misses more itself, since only fetched lines evict, and no function evicts more than it fetches.
 * - It no longer fetches. The first function that touches a line or page misses it. If one misses more and others of its threads miss less,
 * misses have moved.
 * - It allocates. New memory replaces memory that was used again; its users miss it, at most once per line.
 * - It is called more often. Its caller mispredicts the deciding branch more often, at most once per call.
 * - It takes other paths and so mispredicts more. The path before them predicts later branches of other functions, which are mispredicted
 * more often, too, at most as often. */
#ifndef GATE_DETECT_SIDE_EFFECT_H
#define GATE_DETECT_SIDE_EFFECT_H

#include "gate/detect/kind.h"
#include "gate/detect/side.h"

#define SIDE_EFFECT_PART  .1  /* largest part of the cause's additional misses: with more it may be a fault of its own */
#define SIDE_EFFECT_MOVED .75 /* least part of a function's additional misses that are fewer elsewhere: they have moved */

/* A function that was judged. */
struct side_effect_row {
	const char *symbol; /* as in gate/detect/observe.h */
	struct kind kind;   /* also of functions that are not anomalous */
	bool worse;	    /* only worse functions are side effects */
	double calls;	    /* calls in all runs, if each had as many as normally */
};

/* Fills cause[n] with the row that a row is a side effect of; SIZE_MAX: none. A side effect has, as far as it matters, only additional
 * misses (kind.only_misses) or branches (kind.only_branches), and runs in the cause's threads (at least half of its own). If misses moved,
 * the cause is the function that misses most less. Otherwise the cause is worse: it allocates or is called more often, or it is the row
 * with most additional misses of which SIDE_EFFECT_PART are no fewer than the side effect's, and no side effect itself; so the largest is
 * never one. A second fault that only misses, by less than SIDE_EFFECT_PART of the first, cannot be distinguished from a side effect.
 * O(samples of `side` * n). */
void side_effects_find(const struct side *side, const struct side_effect_row *rows, size_t n, size_t *cause);

#endif
