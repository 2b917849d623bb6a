/* The mean excess of runs over a model's predictions, and its uncertainty. The uncertainty has two parts: the variation between the runs,
 * and the model's (its leverage at the mean of their rows, times the variance of runs of held-out inputs). For rows drawn as the learned
 * ones, the latter is about s^2 / n (1 + terms / n + terms / rows); it grows with the distance from them. A model's error may depend on the
 * size of the input, so the usual error is a function of the prediction. */
#ifndef MODEL_SPARSE_EXCESS_H
#define MODEL_SPARSE_EXCESS_H

#include "model/sparse/sparse.h"

struct sparse_excess {
	double usual;	  /* log(cost / prediction) of held-out inputs of the same size: a straight line through log(prediction) */
	double log_ratio; /* mean log(cost / prediction) of these runs, less the usual one */
	double noise, df; /* standard error of log_ratio, and its degrees of freedom, at least 1 */
};

/* Computes the excess. X [n x columns], y [n], above 0, n > 1: runs with all columns of the terms. ratio[n] becomes log(y / prediction). */
struct sparse_excess sparse_excess_of(const struct sparse *model, const struct mat *X, const double *y, double *ratio);

/* Uncertainty of a prediction. The terms are a weighted least-squares fit relative to the prediction. With z the terms' shares of the
 * prediction, and Z those of the learned runs, the variance of a prediction is s^2 z' (Z' Z)^-1 z. That factor of s^2 is the leverage of z;
 * that of a learned run is at most 1. */

/* Computes z [model->terms + 1]: shares of the prediction of the intercept, in units of model->least, and of each term. */
void leverage_shares(const struct sparse *model, const double *row, double *z);
/* Returns the lower Cholesky factor of Z' Z; rows of columns that are sums of earlier ones are 0. X: the learned runs. mat_release() it. */
struct mat leverage_factor(const struct sparse *model, const struct mat *X);
double leverage_of(const struct mat *factor, const double *z);

/* Parts of the cost, such as functions or lines, that have grown beyond a model's expectation. A part's share of the prediction is a sum
 * over the terms' shares, fitted by least squares to the learned runs. Other runs should have the same shares. The shares of all parts add
 * up to the costs, and their growths to the excess. */

struct sparse_part {
	double was, is; /* its mean share of the predictions of the new runs: expected, and actual */
	double adds,
	    error; /* the difference, and its standard error, from the variation between runs and the uncertainty of the old ones */
};

/* Runs with the columns of the model, X [n x columns], and the parts' costs, part [n x parts], at least 0. */
struct sparse_parts {
	const struct mat *X, *part;
};

/* The new runs' excess costs. */
struct sparse_costs {
	const size_t *column; /* [parts] column of X that counts how often a run executes the part; SIZE_MAX: none */
	const double *excess; /* [new runs], relative to the prediction */
	double noise;	      /* standard deviation of one run's excess, above 0 */
	double sample;	      /* least error of a part: one sample's share of all of the new runs, above 0 */
};

/* Fills out [parts] from samples and, if `costs` is given, from costs. A run's excess is proportional to its executions of the parts that
 * became slower, of which there may be several. These are fitted by least squares, with one equation for the samples of a part; `is` stays
 * as sampled. Both have more than one run, and the same parts. O(runs * parts * (terms + parts) + parts^3). */
void sparse_parts_of(const struct sparse *model, const struct sparse_parts *old, const struct sparse_parts *new,
		     const struct sparse_costs *costs, struct sparse_part *out);

/* Fills out [model->terms + 1] for the terms, first for the cost without any, by costs of runs with X only. excess, noise: as above. */
void sparse_terms_of(const struct sparse *model, const struct mat *X, const double *excess, double noise, struct sparse_part *out);

#endif
