#include "model/variance/factors.h"

#include "base/error.h"
#include "base/stats.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define ROWS_MORE 3 /* rows beyond the coefficients, below which nothing is fitted */

struct square {
	double at[FACTORS_MAX][FACTORS_MAX];
};

/* Inverse of the leading n x n of a positive definite matrix, and the logarithm of its determinant; false: it is singular. Cholesky. */
static bool invert(const struct square *a, size_t n, struct square *out, double *log_determinant)
{
	struct square l = { .at = { { 0 } } }, inverse = { .at = { { 0 } } };

	*log_determinant = 0;
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j <= i; j++) {
			double sum = a->at[i][j];

			for (size_t k = 0; k < j; k++)
				sum -= l.at[i][k] * l.at[j][k];
			if (i != j)
				l.at[i][j] = sum / l.at[j][j];
			else if (sum <= 1e-12)
				return false;
			else
				l.at[i][i] = sqrt(sum);
		}
		*log_determinant += 2 * log(l.at[i][i]);
	}
	for (size_t j = 0; j < n; j++)
		for (size_t i = j; i < n; i++) {
			double sum = i == j;

			for (size_t k = j; k < i; k++)
				sum -= l.at[i][k] * inverse.at[k][j];
			inverse.at[i][j] = sum / l.at[i][i];
		}
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			out->at[i][j] = 0;
			for (size_t k = i > j ? i : j; k < n; k++)
				out->at[i][j] += inverse.at[k][i] * inverse.at[k][j];
		}
	return true;
}

/* Centred columns of unit length, y too; lengths[p + 1]. */
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

/* Correlations of the columns that are kept, in their order, and of each with y. */
static void correlations(const struct mat *all, const size_t *kept, size_t n, size_t p, struct square *r, double *with_y)
{
	for (size_t a = 0; a < n; a++) {
		for (size_t b = 0; b < n; b++)
			r->at[a][b] = mat_get(all, kept[a], kept[b]);
		with_y[a] = mat_get(all, kept[a], p);
	}
}

/* The place of the factor to leave out; SIZE_MAX: none. n > 1. */
static size_t most_collinear(const struct square *r, size_t n, size_t rows)
{
	struct square inverse;
	double log_determinant, chi2, most = 0;
	size_t at = SIZE_MAX;

	if (!invert(r, n, &inverse, &log_determinant)) { /* one follows wholly from others: the last of the pair that is most alike */
		for (size_t i = 1; i < n; i++)
			for (size_t j = 0; j < i; j++)
				if (fabs(r->at[i][j]) >= most) {
					most = fabs(r->at[i][j]);
					at = i;
				}
		return at;
	}
	chi2 = -((double)rows - 1 - (2 * (double)n + 5) / 6) * log_determinant;
	if (chi2 <= 0 || 1 - stats_chi2_cdf(chi2, (double)n * ((double)n - 1) / 2) >= FACTORS_LEVEL)
		return SIZE_MAX;
	for (size_t i = 0; i < n; i++) {
		double r2 = 1 - 1 / inverse.at[i][i], df1 = (double)n - 1, df2 = (double)(rows - n);
		double f = (inverse.at[i][i] - 1) * df2 / df1;

		if (stats_round(r2) < FACTORS_COLLINEAR || 1 - stats_f_cdf(f, df1, df2) >= FACTORS_LEVEL)
			continue;
		if (stats_round(inverse.at[i][i]) >= stats_round(most)) { /* of equals the last: callers name what matters first */
			most = inverse.at[i][i];
			at = i;
		}
	}
	return at;
}

/* Of X [rows x p]; n are kept. */
static void coefficients(const struct square *r, const double *with_y, const size_t *kept, size_t n, const double *lengths, size_t rows,
			 size_t p, struct factors *out)
{
	struct square inverse;
	double log_determinant, explained = 0, df = (double)rows - (double)n - 1, left;

	if (!invert(r, n, &inverse, &log_determinant))
		return;
	for (size_t a = 0; a < n; a++) {
		double beta = 0;

		for (size_t b = 0; b < n; b++)
			beta += inverse.at[a][b] * with_y[b];
		explained += beta * with_y[a];
		out->of[kept[a]].coefficient = beta;
	}
	left = (1 - fmin(fmax(explained, 0), 1)) / df;
	for (size_t a = 0; a < n; a++) {
		struct factor *f = &out->of[kept[a]];
		double unit = lengths[p] / lengths[kept[a]], error = sqrt(left * inverse.at[a][a]) * unit;
		double half = stats_t_quantile(.975, df) * error;

		f->coefficient *= unit;
		f->low = f->coefficient - half;
		f->high = f->coefficient + half;
		f->p = error > 0 ? 2 * (1 - stats_t_cdf(fabs(f->coefficient) / error, df)) : 0;
		f->kept = true;
	}
	out->fitted = true;
}

void factors_fit(const struct mat *X, const double *y, struct factors *out)
{
	size_t n = X->rows, p = X->cols, kept[FACTORS_MAX], m = 0;
	struct mat z = mat_new(n, p + 1), all = mat_new(p + 1, p + 1);
	double lengths[FACTORS_MAX + 1], with_y[FACTORS_MAX];
	struct square r;

	ASSAY_BUG_IF(p > FACTORS_MAX);
	*out = (struct factors){ .fitted = false };
	if (n)
		standardise(X, y, &z, lengths);
	for (size_t a = 0; n && a <= p; a++)
		for (size_t b = 0; b <= p; b++)
			for (size_t i = 0; i < n; i++)
				all.at[a * (p + 1) + b] += mat_get(&z, i, a) * mat_get(&z, i, b);
	for (size_t j = 0; j < p; j++) {
		out->of[j] = (struct factor){ .coefficient = (double)NAN, .low = (double)NAN, .high = (double)NAN, .p = 1 };
		if (n && lengths[j] > 0)
			kept[m++] = j;
	}
	while (m > 1 && n > m + ROWS_MORE) {
		size_t gone;

		correlations(&all, kept, m, p, &r, with_y);
		gone = most_collinear(&r, m, n);
		if (gone == SIZE_MAX)
			break;
		memmove(kept + gone, kept + gone + 1, (--m - gone) * sizeof(*kept));
	}
	if (m && n > m + ROWS_MORE && lengths[p] > 0) {
		correlations(&all, kept, m, p, &r, with_y);
		coefficients(&r, with_y, kept, m, lengths, n, p, out);
	}
	mat_release(&z);
	mat_release(&all);
}
