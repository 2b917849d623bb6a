#include "model/scale.h"

#include "base/error.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

/* Corrected two-pass variance (Chan, Golub, LeVeque, The American Statistician 37(3), 1983, eq. 1.7). */
static double column_variance(const struct mat *X, size_t j, double mean)
{
	double n = (double)X->rows, sum = 0.0, squares = 0.0;

	for (size_t i = 0; i < X->rows; i++) {
		double d = mat_get(X, i, j) - mean;

		sum += d;
		squares += d * d;
	}
	return (squares - sum * sum / n) / n;
}

/* What is left of the variance of equal values when their mean was rounded is no variance: the bound of scikit-learn. */
static bool is_constant(double n, double mean, double variance)
{
	double rounding = n * mean * DBL_EPSILON;

	return variance <= n * DBL_EPSILON * variance + rounding * rounding;
}

void scale_standardise(struct mat *X, double *mean, double *scale)
{
	double n = (double)X->rows;

	ASSAY_BUG_IF(X->rows == 0);
	for (size_t j = 0; j < X->cols; j++) {
		double sum = 0.0, variance;

		for (size_t i = 0; i < X->rows; i++)
			sum += mat_get(X, i, j);
		mean[j] = sum / n;
		variance = column_variance(X, j, mean[j]);
		scale[j] = is_constant(n, mean[j], variance) ? 1.0 : sqrt(variance);
		for (size_t i = 0; i < X->rows; i++)
			mat_set(X, i, j, (mat_get(X, i, j) - mean[j]) / scale[j]);
	}
}
