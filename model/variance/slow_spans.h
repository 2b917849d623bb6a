/* Where a row of scores is high: all maximal scoring stretches, which are what remains when no stretch can grow or be joined with its
 * neighbour and gain. A stretch may have bad places in it that are outweighed on both sides.
 * Source: Ruzzo and Tompa, ISMB 1999. O(n). */
#ifndef MODEL_VARIANCE_SLOW_SPANS_H
#define MODEL_VARIANCE_SLOW_SPANS_H

#include <stddef.h>

struct slow_span {
	size_t from, to; /* [from, to) */
	double score;
};

/* score  [n], finite.
 * out    [n / 2 + 1] is filled with the stretches, from left to right; each has a score above 0.
 * Returns how many there are. */
size_t slow_spans(const double *score, size_t n, struct slow_span *out);

#endif
