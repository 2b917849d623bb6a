/* By how much runs cost more than a model expects of them, on average, and how well that is known: by how much they differ in it, and by
 * how well the model knows what such runs cost (its leverage at the mean of their rows, with the variance of runs of inputs excluded). For
 * rows that are drawn as those learned the latter is about s^2 / n (1 + terms / n + terms / rows); it grows as they lie elsewhere. Of large
 * inputs a model may err otherwise than of small ones, so what is usual follows the prediction. */
#ifndef MODEL_SPARSE_EXCESS_H
#define MODEL_SPARSE_EXCESS_H

#include "model/sparse/sparse.h"

struct sparse_excess {
	double
	    usual; /* log(cost / prediction) of inputs excluded from the model that are as large: a straight line through log(prediction) */
	double log_ratio; /* that of these runs, less the usual one */
	double noise, df; /* standard error of log_ratio, and its degrees of freedom, at least 1 */
};

/* X [n x columns], y [n], above 0, n > 1: runs of which the model knows all that its terms need. ratio[n] becomes log(y / prediction). */
struct sparse_excess sparse_excess_of(const struct sparse *model, const struct mat *X, const double *y, double *ratio);

/* How well a model knows what a row costs. Its terms are a weighted least-squares fit of what is relative to the prediction: with z what
 * each term takes of the prediction, and Z those of the runs learned, the variance of a prediction is s^2 z' (Z' Z)^-1 z. That factor of
 * s^2 is the leverage of z; that of a run learned is at most 1. */

/* z [model->terms + 1]: what the intercept, in units of model->least, and each term take of the prediction. */
void leverage_shares(const struct sparse *model, const double *row, double *z);
/* The lower Cholesky factor of Z' Z; rows of columns that are sums of those before them are 0. X: the runs learned. mat_release() it. */
struct mat leverage_factor(const struct sparse *model, const struct mat *X);
double leverage_of(const struct mat *factor, const double *z);

/* Which part of what runs cost has grown beyond what a model expects of it: functions, lines. Each part takes a share of the prediction
 * that is a sum of what the terms take of it, fitted by least squares to the runs learned; other runs should have that share of theirs. The
 * shares of all parts add up to the costs, and so do their growths to the excess. */

struct sparse_part {
	double was, is;	    /* its share of the predictions of the new runs, on average: expected, and as it is */
	double adds, error; /* the difference, with its standard error: by how much runs differ, and how well the old ones are known */
};

/* Runs with the columns of the model, X [n x columns], and what each part took of each: part [n x parts], at least 0. */
struct sparse_parts {
	const struct mat *X, *part;
};

/* By how much the new runs cost more. */
struct sparse_costs {
	const size_t *column; /* [parts] of X, which counts how often a run does what the part is; SIZE_MAX: nothing does */
	const double *excess; /* [new runs], as a part of the prediction */
	double noise;	      /* standard deviation of a run's, above 0 */
	double sample;	      /* the least error of a part: what one sample is of all of the new runs, above 0 */
};

/* out [parts]: by the samples, and with costs by these, too: each run costs more by as much as it does of the parts that became slower, of
 * which there may be several (least squares, in which what samples say of a part is one equation; `is` stays as it was sampled). Both have
 * more than one run, and the same parts. O(runs * parts * (terms + parts) + parts^3). */
void sparse_parts_of(const struct sparse *model, const struct sparse_parts *old, const struct sparse_parts *new,
		     const struct sparse_costs *costs, struct sparse_part *out);

/* out [model->terms + 1]: the same for the terms of a model, the first for what runs cost without them, by the costs of runs with X alone.
 * excess and noise as above. */
void sparse_terms_of(const struct sparse *model, const struct mat *X, const double *excess, double noise, struct sparse_part *out);

#endif
