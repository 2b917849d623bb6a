/* Linear algebra by LAPACK from OpenBLAS. The first call loads the library, because loading takes most of the CPU time of a short command.
 * The library uses one thread: the same numbers give the same bits on one CPU model; another model may round differently. Thread-safe.
 *
 * A caller that can return an error calls lapack_load() first. If the library is missing, the other functions end the program with that
 * error. */
#ifndef MODEL_LAPACK_H
#define MODEL_LAPACK_H

#include "base/error.h"
#include "base/mat.h"

#include <stdbool.h>
#include <stddef.h>

/* Loads the library. Returns ASSAY_E_IO, with the remedy, if that fails. */
enum assay_status lapack_load(struct assay_error *err);

/* Inverts a symmetric matrix in place by Cholesky decomposition; reads only the lower triangle.
 * a                [n x n], finite, by rows.
 * least            >= 0: the part of a diagonal element that the previous rows do not explain must exceed this.
 * log_determinant  natural logarithm of the determinant of a; or NULL.
 * Returns false if a is not positive definite by that measure; then a is overwritten. O(n^3). */
bool lapack_invert(double *a, size_t n, double least, double *log_determinant);

/* Computes the eigenvalues of a symmetric, finite matrix, largest first. The rows of *vectors get the eigenvectors, of length 1 and either
 * direction. values [n], vectors [n x n]; does not change `symmetric`. O(n^3). */
void lapack_eigen(const struct mat *symmetric, double *values, struct mat *vectors);

#endif
