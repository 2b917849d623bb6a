#include "model/sparse/leverage.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEPENDENT 1e-9 /* a column of which less is left, beside those before it, is a sum of them */

void leverage_shares(const struct sparse *model, const double *row, double *z)
{
	double expected = sparse_predict(model, row);

	z[0] = model->least / expected;
	for (size_t t = 0; t < model->terms; t++)
		z[t + 1] = sparse_term_cost(&model->term[t], row) / expected;
}

void leverage_decompose(struct mat *L)
{
	for (size_t a = 0; a < L->rows; a++) {
		double whole = mat_get(L, a, a);

		for (size_t b = 0; b <= a; b++) {
			double left = mat_get(L, a, b), pivot = mat_get(L, b, b);

			for (size_t k = 0; k < b; k++)
				left -= mat_get(L, a, k) * mat_get(L, b, k);
			if (a == b)
				left = left > DEPENDENT * whole ? sqrt(left) : 0.0;
			else
				left = pivot > 0.0 ? left / pivot : 0.0;
			mat_set(L, a, b, left);
		}
	}
}

struct mat leverage_factor(const struct sparse *model, const struct mat *X)
{
	size_t n = model->terms + 1;
	struct mat L = mat_new(n, n);
	double *z = mem_new(n, sizeof(*z));

	for (size_t i = 0; i < X->rows; i++) {
		leverage_shares(model, X->at + i * X->cols, z);
		for (size_t a = 0; a < n; a++) {
			for (size_t b = 0; b <= a; b++)
				L.at[a * n + b] += z[a] * z[b];
		}
	}
	leverage_decompose(&L);
	free(z);
	return L;
}

/* x becomes the solution of the lower triangle. */
static void forward(const struct mat *factor, double *x)
{
	for (size_t a = 0; a < factor->rows; a++) {
		double pivot = mat_get(factor, a, a);

		for (size_t k = 0; k < a; k++)
			x[a] -= mat_get(factor, a, k) * x[k];
		x[a] = pivot > 0.0 ? x[a] / pivot : 0.0;
	}
}

void leverage_solve(const struct mat *factor, double *x)
{
	forward(factor, x);
	for (size_t a = factor->rows; a-- > 0;) {
		double pivot = mat_get(factor, a, a);

		for (size_t k = a + 1; k < factor->rows; k++)
			x[a] -= mat_get(factor, k, a) * x[k];
		x[a] = pivot > 0.0 ? x[a] / pivot : 0.0;
	}
}

double leverage_of(const struct mat *factor, const double *z)
{
	double *solved = mem_new(factor->rows, sizeof(*solved)), sum = 0.0;

	memcpy(solved, z, factor->rows * sizeof(*z));
	forward(factor, solved);
	for (size_t a = 0; a < factor->rows; a++)
		sum += solved[a] * solved[a];
	free(solved);
	return sum;
}
