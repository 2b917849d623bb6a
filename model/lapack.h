/* Linear algebra by LAPACK from OpenBLAS. The library is loaded at the first call, because loading takes most of the CPU time of a short
 * command. It uses one thread, so the same numbers give the same bits on one CPU model. Another model may round differently. Thread-safe.
 *
 * A caller that can return an error calls lapack_load() first. If the library is missing, the other functions print that error and end the
 * program. */
#ifndef MODEL_LAPACK_H
#define MODEL_LAPACK_H

#include "base/error.h"
#include "base/mat.h"

#include <stdbool.h>
#include <stddef.h>

/* Loads the library. If that fails, returns ASSAY_E_IO; the error says which package to install. */
enum assay_status lapack_load(struct assay_error *err);

/* Inverts a symmetric matrix in place by Cholesky decomposition; reads only the lower triangle.
 * a                [n x n], finite, row by row.
 * least            >= 0; each squared pivot of the decomposition must exceed this number.
 * log_determinant  gets the natural logarithm of the determinant of `a`; may be NULL.
 * Returns false if a pivot is too small, so that `a` is not positive definite; `a` is then overwritten with useless values. O(n^3). */
bool lapack_invert(double *a, size_t n, double least, double *log_determinant);

/* Computes the eigenvalues and eigenvectors of a finite symmetric matrix, which stays unchanged. values [n] gets the eigenvalues, largest
 * first. Row k of *vectors [n x n] gets the eigenvector of values[k], of length 1; its sign is arbitrary. O(n^3). */
void lapack_eigen(const struct mat *symmetric, double *values, struct mat *vectors);

#endif
