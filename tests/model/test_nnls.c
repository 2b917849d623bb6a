/* Checks that non-negative least squares finds a minimum, by the conditions of Karush, Kuhn and Tucker. */
#include "base/mem.h"
#include "base/rng.h"
#include "model/profile/range.c" /* for access to non-negative least squares */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define CASES 300

/* Makes G = A'A and h = A'y for a random A [n x p] with some equal or nearly equal columns. */
static void make_case(struct rng *rng, size_t n, size_t p, struct mat *G, double *h)
{
	struct mat A = mat_new(n, p);
	double *y = mem_new(n, sizeof(*y));

	for (size_t i = 0; i < n; i++) {
		y[i] = rng_normal(rng) + 1.0;
		for (size_t j = 0; j < p; j++)
			mat_set(&A, i, j,
				j % 5 == 4 ? mat_get(&A, i, j - 1) * (1.0 + (p % 2 ? 1e-4 * rng_normal(rng) : 0.0)) : rng_double(rng) + .1);
	}
	for (size_t a = 0; a < p; a++) {
		h[a] = 0.0;
		for (size_t i = 0; i < n; i++)
			h[a] += mat_get(&A, i, a) * y[i];
		for (size_t b = 0; b < p; b++) {
			double sum = 0.0;

			for (size_t i = 0; i < n; i++)
				sum += mat_get(&A, i, a) * mat_get(&A, i, b);
			mat_set(G, a, b, sum);
		}
	}
	mat_release(&A);
	free(y);
}

/* Checks that w >= 0, and that the gradient h - Gw is zero where w > 0 and not positive elsewhere. */
static void assert_minimum(const struct mat *G, const double *h, const double *w)
{
	double scale = 0.0;

	for (size_t j = 0; j < G->cols; j++)
		scale = fmax(scale, fabs(h[j]));
	for (size_t j = 0; j < G->cols; j++) {
		double gradient = h[j];

		for (size_t k = 0; k < G->cols; k++)
			gradient -= mat_get(G, j, k) * w[k];
		assert_true(w[j] >= 0.0);
		if (w[j] > 0.0)
			assert_true(fabs(gradient) <= 1e-8 * scale);
		else
			assert_true(gradient <= 1e-8 * scale);
	}
}

static void test_minimum(void **state)
{
	struct rng rng;
	size_t bound = 0;

	(void)state;
	rng_seed(&rng, 1);
	for (size_t c = 0; c < CASES; c++) {
		size_t n = 2 + rng_below(&rng, 30), p = 1 + rng_below(&rng, 45);
		struct mat G = mat_new(p, p);
		double h[64], w[64];
		struct nnls *nnls = nnls_new(p + 3);

		make_case(&rng, n, p, &G, h);
		nnls_solve(nnls, &G, h, w);
		assert_minimum(&G, h, w);
		for (size_t j = 0; j < p; j++)
			bound += w[j] == 0.0 ? 1 : 0;
		nnls_free(nnls);
		mat_release(&G);
	}
	assert_true(bound > CASES); /* otherwise, no case would have tested the bounds */
}

/* Checks Lawson and Hanson's algorithm on a problem with an obvious solution: [1 0; 0 1; 1 1] w = [1, -1, 0.5]. */
static void test_by_hand(void **state)
{
	double g[] = { 2, 1, 1, 2 }, h[] = { 1.5, -.5 }, w[2];
	struct mat G = { 2, 2, g };
	struct nnls *nnls = nnls_new(2);

	(void)state;
	nnls_solve(nnls, &G, h, w);
	assert_true(fabs(w[0] - .75) < 1e-14);
	assert_true(w[1] == 0.0);
	assert_true(fabs(nnls_objective(&G, h, w) + 1.125) < 1e-14);
	nnls_free(nnls);
}

/* Checks that all weights are zero if no gradient is positive, and that of two equal columns one suffices. */
static void test_edges(void **state)
{
	double g[] = { 1, 1, 1, 1 }, down[] = { -1, -1 }, up[] = { 2, 2 }, w[2];
	struct mat G = { 2, 2, g };
	struct nnls *nnls = nnls_new(2);

	(void)state;
	nnls_solve(nnls, &G, down, w);
	assert_true(w[0] == 0.0 && w[1] == 0.0);
	nnls_solve(nnls, &G, up, w);
	assert_true(w[0] == 2.0 && w[1] == 0.0);
	nnls_free(nnls);
}

int suite_nnls(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_minimum), cmocka_unit_test(test_by_hand), cmocka_unit_test(test_edges) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
