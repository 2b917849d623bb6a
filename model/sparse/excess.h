/* By how much runs cost more than a model expects of them, on average, and how well that is known: by how much they differ in it, and by
 * how well the model knows what such runs cost (leverage.h, at the mean of their rows, with the variance of runs of inputs left out). For
 * rows that are drawn as those learned the latter is about s^2 / n (1 + terms / n + terms / rows); it grows as they lie elsewhere. Of large
 * inputs a model may err otherwise than of small ones, so what is usual follows the prediction. */
#ifndef MODEL_SPARSE_EXCESS_H
#define MODEL_SPARSE_EXCESS_H

#include "model/sparse/sparse.h"

struct sparse_excess {
	double
	    usual; /* log(cost / prediction) of inputs left out of the model that are as large: a straight line through log(prediction) */
	double log_ratio; /* that of these runs, less the usual one */
	double noise, df; /* standard error of log_ratio, and its degrees of freedom, at least 1 */
};

/* X [n x columns], y [n], above 0, n > 1: runs of which the model knows all that its terms need. ratio[n] becomes log(y / prediction). */
struct sparse_excess sparse_excess_of(const struct sparse *model, const struct mat *X, const double *y, double *ratio);

#endif
