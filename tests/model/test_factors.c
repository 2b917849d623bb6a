/* Checks least squares against R's published fit of its data set `cars` and against LAPACK, and checks collinear factors. */
#include "base/mem.h"
#include "base/rng.h"
#include "model/variance/factors.h"

#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* Data from Ezekiel, Methods of Correlation Analysis, 1930. */
static const double speed[] = { 4,  4,	7,  7,	8,  9,	10, 10, 10, 11, 11, 12, 12, 12, 12, 13, 13, 13, 13, 14, 14, 14, 14, 15, 15,
				15, 16, 16, 17, 17, 17, 18, 18, 18, 18, 19, 19, 19, 20, 20, 20, 20, 20, 22, 23, 24, 24, 24, 24, 25 };
static const double dist[] = { 2,  10, 4,  22, 16, 10, 18, 26, 34, 17, 28, 14, 20, 24, 28, 26, 34, 34, 46, 26, 36, 60, 80, 20,	26,
			       54, 32, 40, 32, 40, 50, 42, 56, 76, 84, 36, 46, 68, 32, 48, 52, 56, 64, 66, 54, 70, 92, 93, 120, 85 };

/* Checks against R's summary(lm(dist ~ speed, cars)) and confint(). */
static void published(void **state)
{
	struct mat X = mat_new(50, 1);
	struct factors f;

	(void)state;
	for (size_t i = 0; i < 50; i++)
		X.at[i] = speed[i];
	factors_fit(&X, dist, &f);
	assert_true(f.fitted && f.results[0].is_in_fit);
	assert_float_equal(f.results[0].coefficient, 3.932409, 1e-6);
	assert_float_equal(f.results[0].low, 3.096964, 1e-6);
	assert_float_equal(f.results[0].high, 4.767853, 1e-6);
	assert_true(f.results[0].p > 1.4e-12 && f.results[0].p < 1.6e-12);
	mat_release(&X);
}

#define ROWS 60

static void drawn(struct mat *X, double *y, uint64_t seed)
{
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t i = 0; i < X->rows; i++) {
		y[i] = rng_normal(&rng);
		for (size_t j = 0; j < X->cols; j++) {
			mat_set(X, i, j, rng_normal(&rng) * (double)(j + 1));
			y[i] += (double)(j + 1) * mat_get(X, i, j);
		}
	}
}

static void as_lapack(void **state)
{
	struct mat X = mat_new(ROWS, 4);
	double y[ROWS], a[ROWS * 5], b[ROWS];
	struct factors f;

	(void)state;
	drawn(&X, y, 3);
	factors_fit(&X, y, &f);
	for (size_t i = 0; i < ROWS; i++) {
		a[i * 5 + 4] = 1;
		b[i] = y[i];
		for (size_t j = 0; j < 4; j++)
			a[i * 5 + j] = mat_get(&X, i, j);
	}
	assert_int_equal(LAPACKE_dgels(LAPACK_ROW_MAJOR, 'N', ROWS, 5, 1, a, 5, b, 1), 0);
	for (size_t j = 0; j < 4; j++)
		assert_float_equal(f.results[j].coefficient, b[j], 1e-9);
	mat_release(&X);
}

/* Checks that factors that depend on others and constant factors are removed, and independent ones kept, for any number of rows. */
static void collinear(void **state)
{
	struct mat X = mat_new(5000, 4);
	double *y = mem_new(5000, sizeof(*y));
	struct factors f;
	struct rng rng;

	(void)state;
	drawn(&X, y, 8);
	factors_fit(&X, y, &f);
	for (size_t j = 0; j < 4; j++)
		assert_true(f.results[j].is_in_fit);
	rng_seed(&rng, 2);
	for (size_t i = 0; i < X.rows; i++) {
		mat_set(&X, i, 2, 3 * mat_get(&X, i, 0) + .1 * rng_normal(&rng));
		mat_set(&X, i, 3, 7);
	}
	factors_fit(&X, y, &f);
	assert_true(f.results[0].is_in_fit && f.results[1].is_in_fit && !f.results[2].is_in_fit && !f.results[3].is_in_fit);
	for (size_t i = 0; i < X.rows; i++)
		mat_set(&X, i, 2, 3 * mat_get(&X, i, 0)); /* exactly collinear */
	factors_fit(&X, y, &f);
	assert_true(f.fitted && f.results[0].is_in_fit && !f.results[2].is_in_fit);
	mat_release(&X);
	free(y);
}

static void too_little(void **state)
{
	struct mat X = mat_new(4, 2), none = mat_new(0, 1);
	double y[4] = { 1, 2, 3, 4 };
	struct factors f;

	(void)state;
	drawn(&X, y, 1);
	factors_fit(&X, y, &f);
	assert_false(f.fitted || f.results[0].is_in_fit);
	factors_fit(&none, y, &f);
	assert_false(f.fitted);
	mat_release(&X);
	mat_release(&none);
}

int suite_factors(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(published), cmocka_unit_test(as_lapack), cmocka_unit_test(collinear),
					    cmocka_unit_test(too_little) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
