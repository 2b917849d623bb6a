/* The mean excess of runs over a model's predictions, and its uncertainty. The uncertainty has two parts: the variation between the runs,
 * and that of the model. The latter is the model's leverage at the mean of the runs' rows, times the variance of runs of held-out inputs.
 * For rows drawn as the learned ones, it is about s^2 / n (1 + terms / n + terms / rows); it grows with the distance from the learned rows.
 * A model's error may depend on the size of the input, so the usual error is a function of the prediction. */
#ifndef MODEL_SPARSE_EXCESS_H
#define MODEL_SPARSE_EXCESS_H

#include "model/sparse/sparse.h"

struct sparse_excess {
	double usual; /* usual log(cost / prediction) of held-out inputs at the same prediction: a straight line through log(prediction) */
	double log_ratio; /* mean log(cost / prediction) of the runs, less `usual` */
	double noise, df; /* standard error of log_ratio, and the degrees of freedom of this error, at least 1 */
};

/* Computes the excess. X [n x columns], y [n], above 0, n > 1: runs with all columns of the terms. ratio[n] gets log(y / prediction). */
struct sparse_excess sparse_excess_of(const struct sparse *model, const struct mat *X, const double *y, double *ratio);

/* Uncertainty of a prediction. The terms are fitted by weighted least squares, relative to the prediction. With z the terms' shares of the
 * prediction, and Z those of the learned runs, the variance of a prediction is s^2 z' (Z' Z)^-1 z. The leverage of z is this variance
 * divided by s^2; that of a learned run is at most 1. */

/* Computes z [model->terms + 1]: shares of the prediction of the intercept, in units of model->least, and of each term. */
void leverage_shares(const struct sparse *model, const double *row, double *z);
/* Returns the lower Cholesky factor of Z' Z; rows of columns that are sums of earlier ones are 0. X: the learned runs. mat_release() it. */
struct mat leverage_factor(const struct sparse *model, const struct mat *X);
double leverage_of(const struct mat *factor, const double *z);

/* Parts of the cost, such as functions or lines, that have grown beyond a model's expectation. A part's expected share of the prediction is
 * a sum over the terms' shares, fitted by least squares to the learned runs. The shares of all parts add up to the costs, and their growths
 * to the excess. */

struct sparse_part {
	double was, is;	    /* mean share of this part in the predictions of the new runs: expected share, and actual share */
	double adds, error; /* difference of `is` and `was`; standard error of this difference, from the variation between runs and the old
			       runs' uncertainty */
};

/* Runs: the columns of the model, X [n x columns], and the parts' costs, part [n x parts], at least 0. */
struct sparse_parts {
	const struct mat *X, *part;
};

/* Excess costs of the new runs. */
struct sparse_costs {
	const size_t *column; /* [parts] column of X that counts the part's executions in a run; SIZE_MAX: none */
	const double *excess; /* [new runs] relative to the prediction */
	double noise;	      /* standard deviation of one run's excess, above 0 */
	double sample;	      /* minimum error of a part: the share of one sample in all new runs, above 0 */
};

/* Fills out [parts] from samples and, if `costs` is not NULL, from costs. A run's excess is proportional to its executions of the parts
 * that became slower. Least squares fit these parts, with one more equation for the samples of each part; `is` stays as sampled. `old` and
 * `new` have more than one run each, and the same parts. O(runs * parts * (terms + parts) + parts^3). */
void sparse_parts_of(const struct sparse *model, const struct sparse_parts *old, const struct sparse_parts *new,
		     const struct sparse_costs *costs, struct sparse_part *out);

/* Fills out [model->terms + 1], first for the cost without terms, then per term, from costs of runs with X. excess, noise: sparse_costs. */
void sparse_terms_of(const struct sparse *model, const struct mat *X, const double *excess, double noise, struct sparse_part *out);

#endif
