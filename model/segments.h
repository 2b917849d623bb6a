/* Finds change points of a series of counts: the rows where the shares of the counted classes change. Uses optimal partitioning (Jackson et
 * al., IEEE Signal Processing Letters 12(2), 2005; the optimum of PELT, without its pruning, because the series are short) of the
 * multinomial likelihood, with the penalty of the Bayesian information criterion. */
#ifndef MODEL_SEGMENTS_H
#define MODEL_SEGMENTS_H

#include "base/mat.h"

/* Finds segments.
 * counts  [n x k], not negative, finite; rows in time order.
 * ends    [n] gets the row after the last one of each segment, ascending; the last is n.
 * Returns the number of segments: 0 if n is 0. If neighbours differ more than counts would by chance, counts are scaled down. O(n^2 k). */
size_t segments_of(const struct mat *counts, size_t *ends);

/* Returns the cost of a segment of rows [from, to) without the penalty; for tests. */
double segments_cost(const struct mat *counts, size_t from, size_t to);
/* Returns the penalty per segment; for tests. */
double segments_penalty(const struct mat *counts);

#endif
