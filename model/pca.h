/* Computes the principal components of standardised columns, the directions in which the rows differ most. They are the eigenvectors of the
 * correlation matrix (lapack.h). O(rows * p^2 + p^3). Source: Hotelling, Journal of Educational Psychology 24, 1933. */
#ifndef MODEL_PCA_H
#define MODEL_PCA_H

#include "base/mat.h"

#include <stddef.h>

struct pca {
	size_t n;	    /* number of components with an eigenvalue above rounding errors; at most rows - 1 */
	double *eigenvalue; /* [n] variances of the components, largest first */
	double *mean, *sd;  /* [cols] mean and standard deviation of each column of X; sd is 0 for a constant column */
	struct mat loading; /* [n x cols] one component per row, of length 1; its largest element is positive; 0 for constant columns */
};

/* Computes the components of X [rows x cols], which is finite. Overwrites *out; the caller frees it with pca_release(). */
void pca_compute(const struct mat *X, struct pca *out);
void pca_release(struct pca *pca); /* accepts a zeroed struct */

/* Returns the score of a row [cols] on a component < n. The scores of the rows of X have mean 0; their variance is the eigenvalue. */
double pca_score(const struct pca *pca, size_t component, const double *row);

#endif
