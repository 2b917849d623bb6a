/* Columns from which others follow: planted combinations, noise, and what LAPACK's pivoted factorisation chooses. */
#include "base/mem.h"
#include "base/rng.h"
#include "model/pivot.h"

#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define ROWS 14
#define COLS 9

static void fill(struct mat *X, struct rng *rng, size_t from, size_t n, double sd)
{
	for (size_t i = 0; i < X->rows; i++) {
		for (size_t j = from; j < from + n; j++)
			mat_set(X, i, j, mat_get(X, i, j) + sd * rng_normal(rng));
	}
}

/* Three things that move, four that follow from them, two that are noise: three are chosen, and with them nothing is left. */
static void planted(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct mat X = mat_new(ROWS, COLS);
		double noise[COLS], left[COLS];
		size_t chosen[COLS], n;
		struct rng rng;

		rng_seed(&rng, seed);
		fill(&X, &rng, 0, 3, 1);
		for (size_t i = 0; i < ROWS; i++) {
			double a = mat_get(&X, i, 0), b = mat_get(&X, i, 1), c = mat_get(&X, i, 2);

			mat_set(&X, i, 3, a + 7); /* a constant is nothing */
			mat_set(&X, i, 4, a - .5 * b);
			mat_set(&X, i, 5, .4 * (a + b + c));
			mat_set(&X, i, 6, -c);
		}
		fill(&X, &rng, 0, COLS, .02);
		for (size_t j = 0; j < COLS; j++)
			noise[j] = .03;
		n = pivot_columns(&X, noise, chosen, left);
		assert_int_equal(n, 3);
		for (size_t k = 0; k < n; k++)
			assert_true(chosen[k] < 7);
		for (size_t j = 0; j < COLS; j++)
			assert_true(left[j] <= PIVOT_NOISE);
		mat_release(&X);
	}
}

/* LAPACK pivots on the longest column that is left; of equal noise that is the furthest above it. */
static void as_lapack(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct mat X = mat_new(ROWS, COLS), centred = mat_new(ROWS, COLS);
		double noise[COLS], tau[COLS];
		lapack_int pivots[COLS] = { 0 };
		size_t chosen[COLS], n;
		struct rng rng;

		rng_seed(&rng, seed);
		fill(&X, &rng, 0, COLS, 1);
		for (size_t j = 0; j < COLS; j++) {
			double mean = 0;

			noise[j] = 1e-6;
			for (size_t i = 0; i < ROWS; i++)
				mean += mat_get(&X, i, j) / ROWS;
			for (size_t i = 0; i < ROWS; i++)
				mat_set(&centred, i, j, mat_get(&X, i, j) - mean);
		}
		assert_int_equal(LAPACKE_dgeqp3(LAPACK_ROW_MAJOR, ROWS, COLS, centred.at, COLS, pivots, tau), 0);
		n = pivot_columns(&X, noise, chosen, NULL);
		assert_int_equal(n, COLS);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(chosen[k], pivots[k] - 1);
		mat_release(&X);
		mat_release(&centred);
	}
}

/* Rows run out, there are none, nothing moves. */
static void ends(void **state)
{
	const double noise[COLS] = { .1, .1, .1, .1, .1, .1, .1, .1, .1 };
	struct mat few = mat_new(4, COLS), none = mat_new(0, 0), still = mat_new(ROWS, COLS);
	double left[COLS];
	size_t chosen[COLS];
	struct rng rng;

	(void)state;
	rng_seed(&rng, 3);
	fill(&few, &rng, 0, COLS, 1);
	assert_int_equal(pivot_columns(&few, noise, chosen, left), 2);
	assert_int_equal(pivot_columns(&none, noise, chosen, NULL), 0);
	fill(&still, &rng, 0, COLS, .1);
	assert_int_equal(pivot_columns(&still, noise, chosen, left), 0);
	mat_release(&few);
	mat_release(&none);
	mat_release(&still);
}

int suite_pivot(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(planted), cmocka_unit_test(as_lapack), cmocka_unit_test(ends) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
