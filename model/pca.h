/* Principal components of standardised columns: the directions in which the rows differ most. Source: Hotelling, Journal of Educational
 * Psychology 24, 1933. The components are the eigenvectors of the correlation matrix, by LAPACK (lapack.h). O(rows * p^2 + p^3). */
#ifndef MODEL_PCA_H
#define MODEL_PCA_H

#include "base/mat.h"

#include <stddef.h>

struct pca {
	size_t n;	    /* number of components whose eigenvalue is more than a rounding error, at most rows - 1 */
	double *eigenvalue; /* [n] variances of the components, largest first */
	double *mean, *sd;  /* [cols] of the columns before standardising; sd is 0 for a constant column */
	struct mat loading; /* [n x cols] components as rows of length one; the largest element of a row is positive; 0 where sd is 0 */
};

/* Computes the components of X [rows x cols], finite. Overwrites *out; free it with pca_release(). */
void pca_of(const struct mat *X, struct pca *out);
void pca_release(struct pca *pca); /* accepts a zeroed struct */

/* Returns the score of a row [cols] on a component < n. The scores of the rows of X have mean 0; their variance is the eigenvalue. */
double pca_score(const struct pca *pca, size_t component, const double *row);

#endif
