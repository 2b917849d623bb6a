/* Finds change points in a series of counts: the rows where the shares of the counted classes change. The segments maximise the multinomial
 * likelihood with the penalty of the Bayesian information criterion. The search is optimal partitioning (Jackson et al., IEEE Signal
 * Processing Letters 12(2), 2005). PELT would find the same optimum faster, but the series are short. */
#ifndef MODEL_SEGMENTS_H
#define MODEL_SEGMENTS_H

#include "base/mat.h"

/* Divides the rows into segments with constant shares.
 * counts  [n x k], finite, not negative; rows in time order.
 * ends    [n] gets the index after the last row of each segment, ascending; the last one is n.
 * Returns the number of segments; 0 if n is 0. The penalty grows if neighbouring rows differ by more than chance explains. O(n^2 k). */
size_t segments_find(const struct mat *counts, size_t *ends);

/* Returns the cost of the segment of rows [from, to), without the penalty. Public only for tests. */
double segments_cost(const struct mat *counts, size_t from, size_t to);
/* Returns the penalty per segment. Public only for tests. */
double segments_penalty(const struct mat *counts);

#endif
