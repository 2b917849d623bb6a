/* Change points of a series of counts: where what is counted changes its composition. Optimal partitioning (Jackson et al., IEEE Signal
 * Processing Letters 12(2), 2005; what PELT finds, without its pruning, for the series are short) of the multinomial likelihood, with the
 * penalty of the Bayesian information criterion. */
#ifndef MODEL_SEGMENTS_H
#define MODEL_SEGMENTS_H

#include "base/mat.h"

/* counts  [n x k], not negative, finite; rows in the order of time.
 * ends    [n] is filled with the row behind the last of each segment, ascending; the last is n.
 * Returns how many segments there are: 0 where n is 0. Counts that vary more between neighbours than counts would are taken as that much
 * fewer. O(n^2 k). */
size_t segments_of(const struct mat *counts, size_t *ends);

/* What a segment of rows [from, to) adds to the criterion, without its penalty; for tests. */
double segments_cost(const struct mat *counts, size_t from, size_t to);
/* The penalty of each segment; for tests. */
double segments_penalty(const struct mat *counts);

#endif
