/* Which functions are anomalous only because of what another one does.
 * - It evicts: a thread that fetches other lines and pages evicts those that its other functions would have found again: these miss more,
 *   although they do what they did. What is fetched is what evicts, so the cause misses more itself, and no function can have evicted more
 *   than it has fetched.
 * - It does not fetch any more: who is first to touch a line or a page misses it. What one function misses more and others of its threads
 *   miss less has moved.
 * - It allocates: memory that was used again is new, and is missed by those that use it, at most once a line.
 * - It is called more often: the branch of its caller that decides so is mispredicted more often, at most once a call.
 * - It takes other paths than before, and mispredicts more for that: branches of others that run after it are foretold by the path that led
 *   there, and are mispredicted more often, too; at most as often. */
#ifndef GATE_DETECT_SIDE_EFFECT_H
#define GATE_DETECT_SIDE_EFFECT_H

#include "gate/detect/kind.h"
#include "gate/detect/side.h"

#define SIDE_EFFECT_PART  .1  /* of the cause's further misses, at most: what has more may be a fault of its own */
#define SIDE_EFFECT_MOVED .75 /* of a function's further misses, at least, are fewer elsewhere: they have moved */

/* A function that was judged. */
struct side_effect_row {
	const char *symbol; /* as gate/detect/observe.h has it */
	struct kind kind;   /* also of those that are not anomalous */
	bool worse;	    /* these alone are side effects */
	double calls;	    /* of all runs, as many as normally */
};

/* cause[n], overwritten: the row that a row is a side effect of, SIZE_MAX: of none. A side effect has, as far as it matters, nothing but
 * further misses (kind.only_misses), or branches (kind.only_branches), and runs in the cause's threads (at least half of its own). Of
 * misses that moved the cause is the function that misses most less. Else it is worse: what allocates or is called more often, or the row
 * with most further misses, SIDE_EFFECT_PART of which are no fewer than the side effect's, that is not a side effect itself; so the largest
 * stays what it is. A second fault that only misses, and by less than SIDE_EFFECT_PART of the first, cannot be told from a side effect.
 * O(samples of `side` * n). */
void side_effects_find(const struct side *side, const struct side_effect_row *rows, size_t n, size_t *cause);

#endif
