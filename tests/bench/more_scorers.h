/* Two more scorers, for comparison in bench_scorers.c. */
#ifndef TESTS_BENCH_MORE_SCORERS_H
#define TESTS_BENCH_MORE_SCORERS_H

#include "base/mem.h"
#include "model/anomaly/detector_parts.h"
#include "model/anomaly/scorer.h"
#include "model/pca.h"
#include "tests/bench/rivals.h"

/* Scores by the squared residual of a row after subtracting the principal components that explain 90 % of the variance (Jackson and
 * Mudholkar, Technometrics 21(3), 1979). */
struct components {
	struct scorer scorer;
	struct pca pca;
	size_t kept;
};
static const struct scorer_kind scorer_components;

static struct scorer *components_fit(const struct mat *rows, const size_t *run, uint64_t seed)
{
	struct components *c = mem_new(1, sizeof(*c));
	double sum = 0.0, all = 0.0;

	(void)run;
	(void)seed;
	c->scorer.kind = &scorer_components;
	pca_compute(rows, &c->pca);
	for (size_t k = 0; k < c->pca.n; k++)
		all += c->pca.eigenvalue[k];
	while (c->kept < c->pca.n && sum < .9 * all)
		sum += c->pca.eigenvalue[c->kept++];
	return &c->scorer;
}

static void components_parts(const struct scorer *scorer, const struct mat *rows, struct mat *parts, struct mat *expected)
{
	const struct components *c = (const struct components *)scorer;

	for (size_t i = 0; i < rows->rows; i++) {
		size_t p = rows->cols;
		double *left = parts->at + i * p;

		for (size_t j = 0; j < p; j++)
			left[j] = c->pca.sd[j] > 0.0 ? (mat_get(rows, i, j) - c->pca.mean[j]) / c->pca.sd[j] : 0.0;
		for (size_t k = 0; k < c->kept; k++) {
			double score = pca_score(&c->pca, k, rows->at + i * p);

			for (size_t j = 0; j < p; j++)
				left[j] -= score * mat_get(&c->pca.loading, k, j);
		}
		for (size_t j = 0; j < p; j++)
			left[j] *= left[j];
		if (expected)
			memcpy(expected->at + i * p, c->pca.mean,
			       p * sizeof(double)); /* approximate; callers use only the sign of the difference */
	}
}

static void components_free(struct scorer *scorer)
{
	struct components *c = (struct components *)scorer;

	pca_release(&c->pca);
	free(c);
}

static const struct scorer_kind scorer_components = {
	.name = "components", .fit = components_fit, .parts = components_parts, .free = components_free
};

/* Clusters rows by k-means and scores by the Mahalanobis distance to the nearest cluster. */
enum { HEAPS = 4 };
struct heaps {
	struct scorer scorer;
	struct kmeans kmeans;
	struct scorer *of[HEAPS];
};
static const struct scorer_kind scorer_heaps;

static struct scorer *heaps_fit(const struct mat *rows, const size_t *run, uint64_t seed)
{
	struct heaps *h = mem_new(1, sizeof(*h));
	size_t k = rows->rows < HEAPS ? rows->rows : HEAPS;

	(void)run;
	h->scorer.kind = &scorer_heaps;
	kmeans_fit(rows, k, 10, seed, 1, &h->kmeans);
	for (size_t c = 0; c < k; c++) {
		struct mat own = mat_new(rows->rows, rows->cols);
		size_t n = 0, p = rows->cols;

		for (size_t i = 0; i < rows->rows; i++)
			if (h->kmeans.cluster[i] == c)
				memcpy(own.at + p * n++, rows->at + i * p, p * sizeof(double));
		own.rows = n;
		if (n > 0)
			h->of[c] = scorer_mahalanobis.fit(&own, NULL, 0);
		mat_release(&own);
	}
	return &h->scorer;
}

static double row_sum(const struct mat *parts, size_t i)
{
	double sum = 0.0;

	for (size_t j = 0; j < parts->cols; j++)
		sum += mat_get(parts, i, j);
	return sum;
}

static void heaps_parts(const struct scorer *scorer, const struct mat *rows, struct mat *parts, struct mat *expected)
{
	const struct heaps *h = (const struct heaps *)scorer;
	size_t p = rows->cols;
	struct mat one = mat_new(rows->rows, p), normal = mat_new(rows->rows, p);

	for (size_t c = 0; c < HEAPS && h->of[c]; c++) { /* only the last clusters can be empty */
		scorer_mahalanobis.parts(h->of[c], rows, &one, &normal);
		for (size_t i = 0; i < rows->rows; i++) {
			if (c > 0 && row_sum(&one, i) >= row_sum(parts, i))
				continue;
			memcpy(parts->at + i * p, one.at + i * p, p * sizeof(double));
			if (expected)
				memcpy(expected->at + i * p, normal.at + i * p, p * sizeof(double));
		}
	}
	mat_release(&one);
	mat_release(&normal);
}

static void heaps_free(struct scorer *scorer)
{
	struct heaps *h = (struct heaps *)scorer;

	for (size_t c = 0; c < HEAPS; c++)
		scorer_mahalanobis.free(h->of[c]);
	kmeans_release(&h->kmeans);
	free(h);
}

static const struct scorer_kind scorer_heaps = { .name = "heaps", .fit = heaps_fit, .parts = heaps_parts, .free = heaps_free };

#endif
