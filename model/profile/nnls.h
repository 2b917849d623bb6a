/* Non-negative least squares on normal equations: minimise w'Gw - 2 h'w subject to w >= 0.
 * Source: Lawson and Hanson, Solving Least Squares Problems (1974), chapter 23; on the Gram matrix as Bro and de Jong, Journal of
 * Chemometrics 11, 1997. Deterministic: the largest gradient enters first, ties by column. */
#ifndef MODEL_PROFILE_NNLS_H
#define MODEL_PROFILE_NNLS_H

#include "base/mat.h"

/* Scratch space for problems of up to `capacity` columns, to be used for many of them by one thread. */
struct nnls;
struct nnls *nnls_new(size_t capacity);
void nnls_free(struct nnls *nnls); /* accepts NULL */

/* G     [p x p] symmetric positive semidefinite, finite; p <= capacity.
 * h     [p] finite.
 * w     [p] filled: a minimiser; where columns are linearly dependent to working precision, one of those with the fewest of them.
 * Cost: about k^3 for each of the k columns that are used. */
void nnls_solve(struct nnls *nnls, const struct mat *G, const double *h, double *w);

/* w'Gw - 2 h'w. */
double nnls_objective(const struct mat *G, const double *h, const double *w);

#endif
