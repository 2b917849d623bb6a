#include "model/pivot.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>

static double column_dot(const struct mat *X, size_t a, size_t b)
{
	double sum = 0;

	for (size_t i = 0; i < X->rows; i++)
		sum += mat_get(X, i, a) * mat_get(X, i, b);
	return sum;
}

static void column_centre(struct mat *X, size_t j)
{
	double mean = 0;

	for (size_t i = 0; i < X->rows; i++)
		mean += mat_get(X, i, j) / (double)X->rows;
	for (size_t i = 0; i < X->rows; i++)
		mat_set(X, i, j, mat_get(X, i, j) - mean);
}

/* What of the column is along the unit vector `along` is taken off. */
static void column_reduce(struct mat *X, size_t j, const double *along)
{
	double part = 0;

	for (size_t i = 0; i < X->rows; i++)
		part += along[i] * mat_get(X, i, j);
	for (size_t i = 0; i < X->rows; i++)
		mat_set(X, i, j, mat_get(X, i, j) - part * along[i]);
}

static void columns_reduce(struct mat *X, size_t by)
{
	double *along = mem_new(X->rows, sizeof(*along)), length = sqrt(column_dot(X, by, by));

	for (size_t i = 0; i < X->rows; i++)
		along[i] = mat_get(X, i, by) / length;
	for (size_t j = 0; j < X->cols; j++)
		column_reduce(X, j, along);
	free(along);
}

/* In units of the noise; the ones that were chosen have nothing left. */
static void columns_left(const struct mat *X, const double *noise, size_t chosen, double *left)
{
	for (size_t j = 0; j < X->cols; j++)
		left[j] = stats_round(sqrt(column_dot(X, j, j) / (double)(X->rows - 1 - chosen)) / noise[j]);
}

size_t pivot_columns(const struct mat *X, const double *noise, size_t *chosen, double *left)
{
	struct mat rest = mat_new(X->rows, X->cols);
	double *of = mem_new(X->cols, sizeof(*of));
	size_t n = 0;

	for (size_t i = 0; i < X->rows * X->cols; i++)
		rest.at[i] = X->at[i];
	for (size_t j = 0; j < X->cols; j++)
		column_centre(&rest, j);
	while (X->cols && n + 1 < X->rows) {
		size_t best = 0;

		columns_left(&rest, noise, n, of);
		for (size_t j = 1; j < X->cols; j++)
			best = of[j] > of[best] ? j : best;
		if (of[best] <= PIVOT_NOISE || n + 2 == X->rows)
			break;
		chosen[n++] = best;
		columns_reduce(&rest, best);
	}
	for (size_t j = 0; left && j < X->cols; j++)
		left[j] = of[j];
	mat_release(&rest);
	free(of);
	return n;
}
