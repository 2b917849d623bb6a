/* Computes the LASSO for a series of penalties: least squares with a penalty on the size of the coefficients, which makes most of them
 * zero. For each penalty, an active-set method finds the exact minimum, starting at the previous one. It minimises the following sum over
 * standardised columns z (weighted mean 0, weighted variance 1), with weights whose sum is 1:
 *
 *	1/2 sum_i w_i (y_i - b0 - sum_j b_j z_ij)^2 + lambda sum_j |b_j|		(optional limits: all b_j >= 0, b0 >= 0)
 *
 * scikit-learn's Lasso minimises the same sum for such columns. Deterministic. */
#ifndef MODEL_SPARSE_LASSO_H
#define MODEL_SPARSE_LASSO_H

#include "base/mat.h"

#include <stdbool.h>
#include <stddef.h>

#define LASSO_LAMBDAS 100

struct lasso_options {
	bool any_sign;		   /* coefficients may be negative */
	bool is_intercept_bounded; /* the intercept may not be negative */
	bool is_unscaled; /* columns are centred, but not divided by their deviation; the penalty applies to the unscaled coefficients */
	bool refit;	  /* also fit the selected columns without the penalty */
	double smallest;  /* last lambda divided by the first one, in (0, 1); at the first lambda, all coefficients are zero */
};

struct lasso_path {
	double lambda[LASSO_LAMBDAS]; /* decreases by a constant factor */
	struct mat beta;	      /* [LASSO_LAMBDAS x cols] coefficients of the unscaled columns; 0 for a constant column */
	double intercept[LASSO_LAMBDAS];
	struct mat refitted; /* as `beta`, but fitted without the penalty; empty unless options.refit is set */
	double refitted_intercept[LASSO_LAMBDAS];
};

/* Computes the path. X [n x p], y [n] and weight [n] are finite, weights are positive, n > 0. lambdas [LASSO_LAMBDAS] decrease; NULL:
 * chosen from the data. Overwrites *out; the caller frees it with lasso_path_release(). */
void lasso_path_compute(const struct mat *X, const double *y, const double *weight, const struct lasso_options *how, const double *lambdas,
			struct lasso_path *out);
/* Computes value [X->rows], the fitted values for the rows of X, from row k of `beta` (for unscaled columns) and intercept[k]. */
void lasso_values(const struct mat *beta, const double *intercept, size_t k, const struct mat *X, double *value);
void lasso_path_release(struct lasso_path *path); /* accepts a zeroed struct */

#endif
