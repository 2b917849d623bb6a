#include "model/sparse/columns.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/rng.h"

#include <math.h>
#include <stdint.h>

#define SEED 19
#define SAME 1e-9 /* columns that differ by less, as a part of their deviation, are the same */

/* Whether column b is slope * column a + offset. */
static bool follows(const struct mat *X, size_t a, size_t b, struct sparse_column *column)
{
	double mean_a = 0.0, mean_b = 0.0, aa = 0.0, ab = 0.0, bb = 0.0, slope, worst = 0.0;
	size_t n = X->rows;

	for (size_t i = 0; i < n; i++) {
		mean_a += mat_get(X, i, a) / (double)n;
		mean_b += mat_get(X, i, b) / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		double x = mat_get(X, i, a) - mean_a, y = mat_get(X, i, b) - mean_b;

		aa += x * x;
		ab += x * y;
		bb += y * y;
	}
	slope = ab / aa;
	if (ab * ab < (1.0 - 1e-6) * aa * bb)
		return false;
	for (size_t i = 0; i < n; i++)
		worst = fmax(worst, fabs(mat_get(X, i, b) - mean_b - slope * (mat_get(X, i, a) - mean_a)));
	if (worst > SAME * sqrt(bb / (double)n))
		return false;
	column->slope = slope;
	column->offset = mean_b - slope * mean_a;
	if (fabs(column->offset) <= SAME * fmax(fabs(mean_b), fabs(slope * mean_a)))
		column->offset = 0.0;
	return true;
}

/* Columns that follow each other have the same key but for rounding, whatever their units: a product of what they are, standardised, with
 * drawn numbers. */
struct column_key {
	double key;
	size_t column;
};

static double key_of(const struct mat *X, size_t j, const double *drawn)
{
	double mean = 0.0, variance = 0.0, key = 0.0;

	for (size_t i = 0; i < X->rows; i++)
		mean += mat_get(X, i, j) / (double)X->rows;
	for (size_t i = 0; i < X->rows; i++) {
		double x = mat_get(X, i, j) - mean;

		variance += x * x;
		key += x * drawn[i];
	}
	return fabs(key) / sqrt(variance);
}

ORDER_BY(by_key, struct column_key, BY_UP(key) BY_UP(column))

ORDER_BY(by_column, struct column_key, BY_UP(column))

/* Among keys[n] of columns that may follow each other: each follows the first that it does. */
static void look_for_same(const struct mat *X, struct column_key *keys, size_t n, struct sparse_column *column)
{
	order_sort(keys, n, by_column);
	for (size_t b = 1; b < n; b++) {
		for (size_t a = 0; a < b && column[keys[b].column].same_as == SIZE_MAX; a++) {
			if (column[keys[a].column].same_as == SIZE_MAX &&
			    follows(X, keys[a].column, keys[b].column, &column[keys[b].column]))
				column[keys[b].column].same_as = keys[a].column;
		}
	}
}

void columns_of(const struct mat *X, struct sparse_column *column)
{
	struct column_key *keys = mem_new(X->cols, sizeof(*keys));
	double *drawn = mem_new(X->rows, sizeof(*drawn));
	struct rng rng;
	size_t n = 0;

	rng_seed(&rng, SEED);
	for (size_t i = 0; i < X->rows; i++)
		drawn[i] = rng_normal(&rng);
	for (size_t j = 0; j < X->cols; j++) {
		column[j] = (struct sparse_column){ .low = (double)INFINITY, .high = -(double)INFINITY, .same_as = SIZE_MAX };
		for (size_t i = 0; i < X->rows; i++) {
			column[j].low = fmin(column[j].low, mat_get(X, i, j));
			column[j].high = fmax(column[j].high, mat_get(X, i, j));
		}
		if (column[j].high - column[j].low <= 1e-12 * fmax(fabs(column[j].high), fabs(column[j].low)))
			column[j].same_as = j;
		else
			keys[n++] = (struct column_key){ key_of(X, j, drawn), j };
	}
	order_sort(keys, n, by_key);
	for (size_t first = 0, alike; first < n; first += alike) {
		for (alike = 1; first + alike < n && keys[first + alike].key - keys[first + alike - 1].key <= 1e-6;)
			alike++;
		look_for_same(X, &keys[first], alike, column);
	}
	mem_free(drawn, keys);
}
