#include "model/pca.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/stats.h"
#include "model/lapack.h"

#include <math.h>
#include <stdlib.h>

#define ROUNDING_LIMIT 1e-10 /* largest rounding error, relative to the largest eigenvalue or to a column's mean */

static struct mat standardise(const struct mat *X, double *mean, double *sd)
{
	struct mat z = mat_new(X->cols, X->rows); /* transposed: row j of z is column j of X */
	double *column = mem_new(X->rows, sizeof(*column));

	for (size_t j = 0; j < X->cols && X->rows; j++) {
		for (size_t i = 0; i < X->rows; i++)
			column[i] = mat_get(X, i, j);
		mean[j] = stats_mean(column, X->rows);
		sd[j] = stats_sd(column, X->rows);
		if (!(sd[j] > ROUNDING_LIMIT * fmax(1, fabs(mean[j]))))
			sd[j] = 0;
		for (size_t i = 0; i < X->rows; i++)
			mat_set(&z, j, i, sd[j] > 0 ? (column[i] - mean[j]) / sd[j] : 0);
	}
	free(column);
	return z;
}

static struct mat correlations(const struct mat *z)
{
	struct mat r = mat_new(z->rows, z->rows);

	for (size_t a = 0; a < z->rows; a++) {
		for (size_t b = a; b < z->rows; b++) {
			double sum = 0;

			for (size_t i = 0; i < z->cols; i++)
				sum += mat_get(z, a, i) * mat_get(z, b, i);
			sum = z->cols > 1 ? sum / (double)(z->cols - 1) : 0;
			mat_set(&r, a, b, sum);
			mat_set(&r, b, a, sum);
		}
	}
	return r;
}

/* Makes the largest element of a component's vector positive, because both directions are the same component. Sets the elements of constant
 * columns to 0, because rounding may have left a remainder there. */
static void orient_vector(double *vector, const double *sd, size_t n)
{
	size_t largest = 0;

	for (size_t j = 0; j < n; j++) {
		vector[j] = sd[j] > 0 ? vector[j] : 0;
		if (fabs(vector[j]) > fabs(vector[largest]) + 1e-9)
			largest = j;
	}
	if (!n || vector[largest] >= 0)
		return;
	for (size_t j = 0; j < n; j++)
		vector[j] = -vector[j];
}

void pca_compute(const struct mat *X, struct pca *out)
{
	size_t p = X->cols, most = X->rows > 1 ? X->rows - 1 : 0;
	struct pca pca = { .eigenvalue = mem_new(p, sizeof(double)),
			   .mean = mem_new(p, sizeof(double)),
			   .sd = mem_new(p, sizeof(double)),
			   .loading = mat_new(p, p) };
	struct mat z = standardise(X, pca.mean, pca.sd), r = correlations(&z);

	lapack_eigen(&r, pca.eigenvalue, &pca.loading);
	while (pca.n < p && pca.n < most && pca.eigenvalue[pca.n] > ROUNDING_LIMIT * fmax(1, pca.eigenvalue[0]))
		pca.n++;
	for (size_t k = 0; k < pca.n; k++)
		orient_vector(&pca.loading.at[k * p], pca.sd, p);
	pca.loading.rows = pca.n;
	mat_release(&z);
	mat_release(&r);
	*out = pca;
}

void pca_release(struct pca *pca)
{
	mem_free(pca->eigenvalue, pca->mean, pca->sd);
	mat_release(&pca->loading);
	*pca = (struct pca){ 0 };
}

double pca_score(const struct pca *pca, size_t component, const double *row)
{
	double sum = 0;

	ASSAY_BUG_IF(component >= pca->n);
	for (size_t j = 0; j < pca->loading.cols; j++) {
		if (pca->sd[j] > 0)
			sum += mat_get(&pca->loading, component, j) * (row[j] - pca->mean[j]) / pca->sd[j];
	}
	return sum;
}
