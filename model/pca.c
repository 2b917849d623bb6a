#include "model/pca.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SWEEPS_MAX 64	 /* Jacobi converges quadratically: ten are enough for any size that occurs */
#define NOTHING	   1e-10 /* of the largest eigenvalue, or of a column's mean: only rounding */

/* ---- eigenvalues ---- */

/* What stands beside the diagonal is rounding. */
static bool is_diagonal(const struct mat *a)
{
	double beside = 0, all = 0;

	for (size_t i = 0; i < a->rows; i++) {
		for (size_t j = 0; j < a->cols; j++) {
			double square = mat_get(a, i, j) * mat_get(a, i, j);

			all += square;
			beside += i == j ? 0 : square;
		}
	}
	return beside <= 1e-30 * all;
}

static void rotate(struct mat *m, size_t p, size_t q, double c, double s, bool columns)
{
	for (size_t k = 0; k < m->rows; k++) {
		double *x = columns ? &m->at[k * m->cols + p] : &m->at[p * m->cols + k];
		double *y = columns ? &m->at[k * m->cols + q] : &m->at[q * m->cols + k];
		double old = *x;

		*x = c * old - s * *y;
		*y = s * old + c * *y;
	}
}

/* Turns the plane of p and q so that a[p][q] becomes 0; v gathers the turns, vectors as its rows. */
static void annihilate(struct mat *a, struct mat *v, size_t p, size_t q)
{
	double apq = mat_get(a, p, q), theta, t, c;

	if (apq == 0)
		return;
	theta = (mat_get(a, q, q) - mat_get(a, p, p)) / (2 * apq);
	t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
	c = 1 / sqrt(t * t + 1);
	rotate(a, p, q, c, t * c, true);
	rotate(a, p, q, c, t * c, false);
	rotate(v, p, q, c, t * c, false);
	mat_set(a, p, q, 0);
	mat_set(a, q, p, 0);
}

/* Largest first; n is small beside what came before. */
static void sort_out(const struct mat *a, const struct mat *v, double *values, struct mat *vectors)
{
	bool *taken = mem_new(a->rows, sizeof(bool));

	for (size_t k = 0; k < a->rows; k++) {
		size_t best = a->rows;

		for (size_t i = 0; i < a->rows; i++) {
			if (!taken[i] && (best == a->rows || mat_get(a, i, i) > mat_get(a, best, best)))
				best = i;
		}
		taken[best] = true;
		values[k] = mat_get(a, best, best);
		memcpy(&vectors->at[k * vectors->cols], &v->at[best * v->cols], v->cols * sizeof(double));
	}
	free(taken);
}

void pca_eigen(const struct mat *symmetric, double *values, struct mat *vectors)
{
	size_t n = symmetric->rows;
	struct mat a = mat_new(n, n), v = mat_new(n, n);

	ASSAY_BUG_IF(symmetric->cols != n || vectors->rows != n || vectors->cols != n);
	memcpy(a.at, symmetric->at, n * n * sizeof(double));
	for (size_t i = 0; i < n; i++)
		mat_set(&v, i, i, 1);
	for (int sweep = 0; sweep < SWEEPS_MAX && !is_diagonal(&a); sweep++) {
		for (size_t p = 0; p < n; p++) {
			for (size_t q = p + 1; q < n; q++)
				annihilate(&a, &v, p, q);
		}
	}
	sort_out(&a, &v, values, vectors);
	mat_release(&a);
	mat_release(&v);
}

/* ---- components ---- */

static struct mat standardise(const struct mat *X, double *mean, double *sd)
{
	struct mat z = mat_new(X->cols, X->rows); /* columns as rows */
	double *column = mem_new(X->rows, sizeof(*column));

	for (size_t j = 0; j < X->cols && X->rows; j++) {
		for (size_t i = 0; i < X->rows; i++)
			column[i] = mat_get(X, i, j);
		mean[j] = stats_mean(column, X->rows);
		sd[j] = stats_sd(column, X->rows);
		if (!(sd[j] > NOTHING * fmax(1, fabs(mean[j]))))
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

/* Both directions are the same component. */
static void turn(double *vector, size_t n)
{
	size_t largest = 0;

	for (size_t j = 1; j < n; j++) {
		if (fabs(vector[j]) > fabs(vector[largest]) + 1e-9)
			largest = j;
	}
	if (!n || vector[largest] >= 0)
		return;
	for (size_t j = 0; j < n; j++)
		vector[j] = -vector[j];
}

static double participation(const double *eigenvalue, size_t n)
{
	double sum = 0, squares = 0;

	for (size_t k = 0; k < n; k++) {
		sum += eigenvalue[k];
		squares += eigenvalue[k] * eigenvalue[k];
	}
	return squares > 0 ? sum * sum / squares : 0;
}

void pca_of(const struct mat *X, struct pca *out)
{
	size_t p = X->cols, most = X->rows > 1 ? X->rows - 1 : 0;
	struct pca pca = { .eigenvalue = mem_new(p, sizeof(double)),
			   .mean = mem_new(p, sizeof(double)),
			   .sd = mem_new(p, sizeof(double)),
			   .loading = mat_new(p, p) };
	struct mat z = standardise(X, pca.mean, pca.sd), r = correlations(&z);

	pca_eigen(&r, pca.eigenvalue, &pca.loading);
	while (pca.n < p && pca.n < most && pca.eigenvalue[pca.n] > NOTHING * fmax(1, pca.eigenvalue[0]))
		pca.n++;
	for (size_t k = 0; k < pca.n; k++)
		turn(&pca.loading.at[k * p], p);
	pca.loading.rows = pca.n;
	pca.effective_rank = participation(pca.eigenvalue, pca.n);
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
