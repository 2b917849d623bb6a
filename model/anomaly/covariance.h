/* A covariance that can be inverted whatever the number of rows: shrunk towards a multiple of the identity, by as much as makes
 * the expected squared error smallest. Source: Ledoit and Wolf, "A well-conditioned estimator for large-dimensional covariance matrices",
 * Journal of Multivariate Analysis 88(2), 2004, section 3.2. O(n * p^2). */
#ifndef MODEL_ANOMALY_COVARIANCE_H
#define MODEL_ANOMALY_COVARIANCE_H

#include "base/mat.h"

#include <stdbool.h>

struct covariance {
	double *mean;      /* [p] */
	struct mat matrix; /* [p x p], n in the denominator, shrunk */
	double average;    /* of the variances; the identity is multiplied by it */
	double shrinkage;  /* [0, 1]: the weight of the identity */
};

/* rows [n x p], n >= 1, p >= 1, finite. *out is overwritten; covariance_release() it. */
void covariance_of(const struct mat *rows, struct covariance *out);
void covariance_release(struct covariance *covariance); /* accepts zeroed */

/* The inverse of a symmetric matrix by Cholesky's decomposition, in place. False when it is not positive definite (then what is in it is lost).
 * log_det: natural logarithm of the determinant of what was inverted; may be NULL. */
bool covariance_invert(struct mat *matrix, double *log_det);

#endif
