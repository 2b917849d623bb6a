/* Which functions are anomalous only because of what another one does to caches and TLB. A thread that fetches other lines and pages evicts
 * those that its other functions would have found again: these miss more, although they do what they did. What is fetched is what evicts,
 * so the cause misses more itself, and no function can have evicted more than it has fetched. */
#ifndef GATE_DETECT_SIDE_EFFECT_H
#define GATE_DETECT_SIDE_EFFECT_H

#include "gate/detect/kind.h"
#include "gate/detect/side.h"

#define SIDE_EFFECT_PART .1 /* of the cause's further misses, at most: what has more may be a fault of its own */

/* A function that is worse. */
struct side_effect_row {
	const char *symbol; /* as gate/detect/observe.h has it */
	struct kind kind;
	double calls; /* of all runs */
};

/* cause[n], overwritten: the row that a row is a side effect of, SIZE_MAX: of none. A side effect has, as far as it matters, nothing but
 * further misses (kind.only_misses), at most SIDE_EFFECT_PART of the cause's, and runs in the cause's threads (at least half of its own).
 * The cause is the row with most further misses that is not a side effect itself; so the largest stays what it is. A second fault that only
 * misses, and by less than SIDE_EFFECT_PART of the first, cannot be told from a side effect. O(samples of `side` * n). */
void side_effects_find(const struct side *side, const struct side_effect_row *rows, size_t n, size_t *cause);

#endif
