/* Columns from which the others follow: QR factorisation with column pivoting (Businger and Golub, Numerische Mathematik 7, 1965), by
 * Gram-Schmidt, ended when what is left of every column is within its own noise. */
#ifndef MODEL_PIVOT_H
#define MODEL_PIVOT_H

#include "base/mat.h"

#define PIVOT_NOISE 2.0 /* standard deviations of a column's noise that count as nothing */

/* X       [n x p], finite.
 * noise   [p] > 0, standard deviation of one value of each column.
 * chosen  [p] is filled with the columns, the one furthest above its noise first.
 * left    [p] standard deviation of what is left of each, in units of its noise: all at most PIVOT_NOISE, but for those for which
 *         there are no rows left; or NULL.
 * Returns how many were chosen: at most n - 2, for what is left is judged by at least one more degree of freedom. Ties go to the first
 * column. O(n * p * chosen). */
size_t pivot_columns(const struct mat *X, const double *noise, size_t *chosen, double *left);

#endif
