/* Computes the mean excess of n runs over a model's predictions, and its standard error. The error has two parts: the variation between the
 * runs, and the error of the model. The latter is the model's leverage at the mean of the runs' rows, times the variance of held-out runs.
 * For rows similar to the learned rows, the variance is about s^2 / n (1 + n / rows + terms / rows). It grows with the distance from them.
 * A model's error may depend on the size of the input, so the usual error is a function of the prediction. */
#ifndef MODEL_SPARSE_EXCESS_H
#define MODEL_SPARSE_EXCESS_H

#include "model/sparse/sparse.h"

struct sparse_excess {
	double usual;	  /* usual log(cost / prediction) of held-out inputs with this prediction: a straight line over log(prediction) */
	double log_ratio; /* mean log(cost / prediction) of the runs, minus `usual` */
	double noise, df; /* standard error of log_ratio, and its degrees of freedom, at least 1 */
};

/* Computes the excess of n > 1 runs. X [n x columns] has all columns of the terms; y [n] > 0, costs. ratio[n] gets log(y / prediction). */
struct sparse_excess sparse_excess_compute(const struct sparse *model, const struct mat *X, const double *y, double *ratio);

/* Uncertainty of a prediction. The terms are fitted by weighted least squares, relative to the prediction. Let z be the terms' shares of a
 * prediction, and Z those of the learned runs. Then the prediction has the variance s^2 z' (Z' Z)^-1 z. The leverage of z is z' (Z' Z)^-1
 * z; it is at most 1 for a learned run. */

/* Computes z [model->terms + 1]: z[0] is model->least / prediction, for the intercept; then the share of each term in the prediction. */
void leverage_compute_shares(const struct sparse *model, const double *row, double *z);
/* Returns the lower Cholesky factor of Z' Z for learned runs X; mat_release() it. Terms that depend on earlier ones have diagonal 0. */
struct mat leverage_cholesky_factor(const struct sparse *model, const struct mat *X);
double leverage_compute(const struct mat *factor, const double *z);

/* Finds parts of the cost, such as functions or lines, that have grown beyond a model's expectation. A part's expected share of the
 * prediction is a linear combination of the terms' shares, fitted by least squares to the learned runs. Over all parts, the shares add up
 * to the costs, and the growths add up to the excess. */

struct sparse_part {
	double was, is; /* mean expected share, and mean actual share, of this part in the predictions of the new runs */
	double added_share,
	    error; /* growth of the share; its standard error, from the variation between runs and the old runs' uncertainty */
};

/* Runs with their parts: X [n x columns] has the columns of the model, part [n x parts] the cost of each part, at least 0. */
struct sparse_parts {
	const struct mat *X, *part;
};

/* Excess costs of the new runs. */
struct sparse_costs {
	const size_t *column; /* [parts] column of X that counts the executions of the part in a run; SIZE_MAX if none does */
	const double *excess; /* [new runs] excess cost of each run, relative to its prediction */
	double noise;	      /* standard deviation of one run's excess, above 0 */
	double sample;	      /* minimum standard error of a part: the share of one sample in all new runs, above 0 */
};

/* Fills out [parts] from samples. If `costs` is not NULL, also uses the excess costs: a run's excess is proportional to its executions of
 * the parts that became slower. Least squares fit these parts; the samples of each part add one equation. `is` keeps its value from
 * samples. `old` and `new` have more than one run each, and the same parts. O(runs * parts * (terms + parts) + parts^3). */
void sparse_parts_compute(const struct sparse *model, const struct sparse_parts *old, const struct sparse_parts *new,
			  const struct sparse_costs *costs, struct sparse_part *out);

/* Fills out [model->terms + 1], intercept first, with growths fitted to the costs of runs X. excess, noise: as in struct sparse_costs. */
void sparse_terms_compute(const struct sparse *model, const struct mat *X, const double *excess, double noise, struct sparse_part *out);

#endif
