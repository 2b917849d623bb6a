/* How well a model knows what a row costs. Its terms are a weighted least-squares fit of what is relative to the prediction: with z what
 * each term takes of the prediction, and Z those of the runs learned, the variance of a prediction is s^2 z' (Z' Z)^-1 z. That factor of
 * s^2 is the leverage of z; that of a run learned is at most 1. */
#ifndef MODEL_SPARSE_LEVERAGE_H
#define MODEL_SPARSE_LEVERAGE_H

#include "model/sparse/sparse.h"

/* z [model->terms + 1]: what the intercept, in units of model->least, and each term take of the prediction. */
void leverage_shares(const struct sparse *model, const double *row, double *z);
/* The lower Cholesky factor of Z' Z; rows of columns that are sums of those before them are 0. X: the runs learned. mat_release() it. */
struct mat leverage_factor(const struct sparse *model, const struct mat *X);
void leverage_decompose(struct mat *symmetric); /* the same of a matrix of which the lower triangle is read, in place */
/* Z' y [rows] becomes the coefficients of y's least-squares fit; those of columns that are sums are 0. */
void leverage_solve(const struct mat *factor, double *x);
double leverage_of(const struct mat *factor, const double *z);

#endif
