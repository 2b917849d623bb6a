/* Boosted stumps (trees of depth 1) on the logs of type means, squared error, whose ties are shared: with about ten types, twenty
 * and more features split them equally well, and nothing in the data tells these apart. A stage is the mean of all of them; where
 * they disagree about a new machine, its prediction lies between. Credit for a split is shared among the groups that tie, and
 * within a group among its features. Source: Friedman, Annals of Statistics 29(5), 2001, algorithm 3. Deterministic. O(stages *
 * types * features). */
#ifndef MODEL_PROFILE_STUMPS_H
#define MODEL_PROFILE_STUMPS_H

#include "base/mat.h"
#include "model/profile/features.h"

#define STUMPS_STAGES 60
#define STUMPS_RATE   .2
#define STUMPS_TIE    1e-9 /* relative difference of gains below which two splits are equally good */

struct stumps {
	size_t cols;
	double start;        /* mean log cost */
	double *step;        /* the model is start + the sum over features of a step function: [cols x cuts_max] the step ... */
	double *cut;         /* ... that is taken where the log lies above the cut */
	size_t *cuts;        /* [cols] */
	size_t cuts_max;
	double *importance;  /* [cols] shared credit; they sum to one, or are all 0 when nothing was split */
	double tied;         /* mean number of features that tie, weighted by gain; 0 when nothing was split */
};

/* y      [types] log cost.
 * count  [types] how often each type counts; 0 = left out; at least 2 types above 0. */
void stumps_fit(const struct features *features, const double *y, const double *count, struct stumps *out);
void stumps_release(struct stumps *stumps); /* accepts zeroed */

/* The logarithm of the cost on a machine with these logs [cols]. */
double stumps_predict(const struct stumps *stumps, const double *logs);

#endif
