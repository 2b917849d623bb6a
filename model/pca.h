/* Principal components of standardised columns: the directions in which the rows differ most. Source: Hotelling, Journal of
 * Educational Psychology 24, 1933; the eigenvalues of the correlation matrix by LAPACK (lapack.h). O(rows * p^2 + p^3). */
#ifndef MODEL_PCA_H
#define MODEL_PCA_H

#include "base/mat.h"

#include <stddef.h>

struct pca {
	size_t n;	    /* components: those whose eigenvalue is more than rounding, at most rows - 1 */
	double *eigenvalue; /* [n] of the correlation matrix, largest first: variances, which sum to the number of columns that
			       vary */
	double *mean, *sd;  /* [cols] what the columns were standardised by; sd is 0 where a column is the same in all rows */
	struct mat loading; /* [n x cols], rows of length one, each turned so that its largest element is positive; 0 where sd is 0 */
};

/* X [rows x cols], finite. *out is overwritten; pca_release() it. */
void pca_of(const struct mat *X, struct pca *out);
void pca_release(struct pca *pca); /* accepts zeroed */

/* Where a row [cols] stands along a component < n; the rows of X have the mean 0 and the variance of its eigenvalue. */
double pca_score(const struct pca *pca, size_t component, const double *row);

#endif
