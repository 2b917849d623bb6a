/* Computes the LASSO for a series of penalties: least squares with a penalty on the size of coefficients, which makes most of them zero. An
 * active set finds each minimum exactly, starting at the previous one. The minimised sum, over standardised columns z (weighted mean 0,
 * weighted variance 1), with weights whose sum is 1, is
 *
 *	1/2 sum_i w_i (y_i - b0 - sum_j b_j z_ij)^2 + lambda sum_j |b_j|		(all b_j >= 0, b0 >= 0, by options)
 *
 * as in scikit-learn's Lasso on such columns. Deterministic. */
#ifndef MODEL_SPARSE_LASSO_H
#define MODEL_SPARSE_LASSO_H

#include "base/mat.h"

#include <stdbool.h>
#include <stddef.h>

#define LASSO_LAMBDAS 100

struct lasso_options {
	bool any_sign;	 /* coefficients may be negative */
	bool bounded;	 /* the intercept may not be negative */
	bool as_given;	 /* columns are centred, but not divided by their deviation: the penalty applies to the unscaled coefficients */
	bool refit;	 /* also fit the chosen columns without the penalty */
	double smallest; /* last lambda, relative to the first lambda, at which all coefficients are zero; in (0, 1) */
};

struct lasso_path {
	double lambda[LASSO_LAMBDAS]; /* falls by a constant factor */
	struct mat beta;	      /* [LASSO_LAMBDAS x cols], for the unscaled columns; 0 for a constant column */
	double intercept[LASSO_LAMBDAS];
	struct mat refitted; /* as beta, but without the penalty; empty unless `refit` */
	double refitted_intercept[LASSO_LAMBDAS];
};

/* Computes the path. X [n x p], y [n], weight [n] are finite, weights positive, n > 0. lambdas [LASSO_LAMBDAS], falling; NULL: chosen from
 * the data. Overwrites *out; free it with lasso_path_release(). */
void lasso_path_of(const struct mat *X, const double *y, const double *weight, const struct lasso_options *how, const double *lambdas,
		   struct lasso_path *out);
/* Computes value [X->rows] from the rows of X, row k of the coefficients (for unscaled columns), and its intercept. */
void lasso_values(const struct mat *beta, const double *intercept, size_t k, const struct mat *X, double *value);
void lasso_path_release(struct lasso_path *path); /* accepts a zeroed struct */

#endif
