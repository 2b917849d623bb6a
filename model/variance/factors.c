#include "model/variance/factors.h"

#include "base/error.h"
#include "base/stats.h"
#include "model/lapack.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define EXTRA_ROWS_MIN 3     /* number of rows required in addition to one per factor */
#define SINGULAR       1e-12 /* minimum part of a column's variance that the other columns do not explain; below, the matrix is singular */

/* Centres the columns and y, and scales them to length 1. lengths[p + 1] gets the lengths of the columns and of y; 0 if constant. */
static void standardise(const struct mat *X, const double *y, struct mat *z, double *lengths)
{
	size_t n = X->rows, p = X->cols;

	for (size_t j = 0; j <= p; j++) {
		double sum = 0, squares = 0, mean;

		for (size_t i = 0; i < n; i++)
			sum += j < p ? mat_get(X, i, j) : y[i];
		mean = sum / (double)n;
		for (size_t i = 0; i < n; i++) {
			double value = (j < p ? mat_get(X, i, j) : y[i]) - mean;

			squares += value * value;
			mat_set(z, i, j, value);
		}
		lengths[j] = sqrt(squares) > 1e-12 * fabs(mean) * sqrt((double)n) ? sqrt(squares) : 0;
		for (size_t i = 0; i < n; i++)
			mat_set(z, i, j, lengths[j] > 0 ? mat_get(z, i, j) / lengths[j] : 0);
	}
}

/* Computes the inverse [n x n] of the correlation matrix of the n columns in `is_in_fit`. Returns false if the matrix is singular. */
static bool invert_correlation(const struct mat *all, const size_t *is_in_fit, size_t n, double *inverse, double *log_determinant)
{
	for (size_t a = 0; a < n; a++)
		for (size_t b = 0; b < n; b++)
			inverse[a * n + b] = mat_get(all, is_in_fit[a], is_in_fit[b]);
	return lapack_invert(inverse, n, SINGULAR, log_determinant);
}

/* Returns the position in `is_in_fit` of the factor to exclude; SIZE_MAX if no factor is collinear. n > 1. */
static size_t most_collinear(const struct mat *all, const size_t *is_in_fit, size_t n, size_t rows)
{
	double inverse[FACTORS_MAX * FACTORS_MAX], log_determinant, chi2, most = 0;
	size_t at = SIZE_MAX;

	if (!invert_correlation(all, is_in_fit, n, inverse,
				&log_determinant)) { /* if singular, excludes the later factor of the most correlated pair */
		for (size_t i = 1; i < n; i++)
			for (size_t j = 0; j < i; j++)
				if (fabs(mat_get(all, is_in_fit[i], is_in_fit[j])) >= most) {
					most = fabs(mat_get(all, is_in_fit[i], is_in_fit[j]));
					at = i;
				}
		return at;
	}
	chi2 = -((double)rows - 1 - (2 * (double)n + 5) / 6) * log_determinant;
	if (chi2 <= 0 || 1 - stats_chi2_cdf(chi2, (double)n * ((double)n - 1) / 2) >= FACTORS_LEVEL)
		return SIZE_MAX;
	for (size_t i = 0; i < n; i++) {
		double inflation = inverse[i * n + i], r2 = 1 - 1 / inflation, df1 = (double)n - 1, df2 = (double)(rows - n);
		double f = (inflation - 1) * df2 / df1;

		if (stats_round(r2) < FACTORS_COLLINEAR || 1 - stats_f_cdf(f, df1, df2) >= FACTORS_LEVEL)
			continue;
		if (stats_round(inflation) >= stats_round(most)) { /* among equals, takes the last: callers list important factors first */
			most = inflation;
			at = i;
		}
	}
	return at;
}

/* Fits y to the n columns in `is_in_fit`. `all` has all correlations; its column p is y. Sets nothing if the matrix is singular. */
static void fill_coefficients(const struct mat *all, const size_t *is_in_fit, size_t n, const double *lengths, size_t rows, size_t p,
			      struct factors *out)
{
	double inverse[FACTORS_MAX * FACTORS_MAX], explained = 0, df = (double)rows - (double)n - 1, left;

	if (!invert_correlation(all, is_in_fit, n, inverse, NULL))
		return;
	for (size_t a = 0; a < n; a++) {
		double beta = 0;

		for (size_t b = 0; b < n; b++)
			beta += inverse[a * n + b] * mat_get(all, is_in_fit[b], p);
		explained += beta * mat_get(all, is_in_fit[a], p);
		out->results[is_in_fit[a]].coefficient = beta;
	}
	left = (1 - fmin(fmax(explained, 0), 1)) / df;
	for (size_t a = 0; a < n; a++) {
		struct factor *f = &out->results[is_in_fit[a]];
		double unit = lengths[p] / lengths[is_in_fit[a]], error = sqrt(left * inverse[a * n + a]) * unit;
		double half = stats_t_quantile(.975, df) * error;

		f->coefficient *= unit;
		f->low = f->coefficient - half;
		f->high = f->coefficient + half;
		f->p = error > 0 ? 2 * (1 - stats_t_cdf(fabs(f->coefficient) / error, df)) : 0;
		f->is_in_fit = true;
	}
	out->fitted = true;
}

void factors_fit(const struct mat *X, const double *y, struct factors *out)
{
	size_t n = X->rows, p = X->cols, is_in_fit[FACTORS_MAX], m = 0;
	struct mat z = mat_new(n, p + 1), all = mat_new(p + 1, p + 1);
	double lengths[FACTORS_MAX + 1];

	ASSAY_BUG_IF(p > FACTORS_MAX);
	*out = (struct factors){ .fitted = false };
	if (n)
		standardise(X, y, &z, lengths);
	for (size_t a = 0; n && a <= p; a++)
		for (size_t b = 0; b <= p; b++)
			for (size_t i = 0; i < n; i++)
				all.at[a * (p + 1) + b] += mat_get(&z, i, a) * mat_get(&z, i, b);
	for (size_t j = 0; j < p; j++) {
		out->results[j] = (struct factor){ .coefficient = (double)NAN, .low = (double)NAN, .high = (double)NAN, .p = 1 };
		if (n && lengths[j] > 0)
			is_in_fit[m++] = j;
	}
	while (m > 1 && n > m + EXTRA_ROWS_MIN) {
		size_t gone = most_collinear(&all, is_in_fit, m, n);

		if (gone == SIZE_MAX)
			break;
		memmove(is_in_fit + gone, is_in_fit + gone + 1, (--m - gone) * sizeof(*is_in_fit));
	}
	if (m && n > m + EXTRA_ROWS_MIN && lengths[p] > 0)
		fill_coefficients(&all, is_in_fit, m, lengths, n, p, out);
	mat_release(&z);
	mat_release(&all);
}
