/* Checks the usual speed and the limit from which work counts as slow. */
#include "base/rng.h"
#include "model/variance/usual.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define N 400

static void draw(double *x, size_t n, double noise, uint64_t seed)
{
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t i = 0; i < n; i++)
		x[i] = 1 + noise * rng_normal(&rng);
}

/* Returns the result for blocks of equal weight. */
static struct usual_time usual(const double *x, size_t n, bool naturally)
{
	double weight[N];

	for (size_t i = 0; i < n; i++)
		weight[i] = 3;
	return usual_compute(x, weight, n, .85, naturally);
}

/* Checks that steady work is slow from 1 / 0.85 on, and that neither an outlier nor a half of slow blocks changes the usual value. */
static void steady(void **state)
{
	double x[N];
	struct usual_time u;

	(void)state;
	draw(x, N, .01, 1);
	u = usual(x, N, false);
	assert_float_equal(u.usual, 1, .003);
	assert_float_equal(u.slow, 1.1765F, .015);
	x[17] = .01;
	assert_float_equal(usual(x, N, false).usual, 1, .003);
	for (size_t i = 0; i < N / 2; i++)
		x[i] *= 2;
	u = usual(x, N, false);
	assert_float_equal(u.usual, 1, .01);
	assert_true(u.slow < 1.25);
}

/* Checks that for work that always varies, the limit is beyond this variation: in 100 random rows, hardly any block is slow. */
static void varying(void **state)
{
	size_t slow = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		double x[N];
		struct usual_time u;

		draw(x, N, .2, seed);
		u = usual(x, N, false);
		for (size_t i = 0; i < N; i++)
			slow += x[i] > u.slow;
	}
	assert_true(slow < 100 * N / 100);
}

static void natural(void **state)
{
	double x[N];

	(void)state;
	for (size_t i = 0; i < N; i++)
		x[i] = i < 2 * N / 3 ? 1 : 5;
	assert_true(usual(x, N, true).slow > 5);
	assert_true(usual(x, N, false).slow < 1.2);
	assert_float_equal(usual(x, 1, false).usual, 1, 0);
}

/* Checks calls that return at once or wait, with few records of the many short ones; most blocks then have a large mean. */
static void few_records(void **state)
{
	double x[N], weight[N], sum = 0, weights = 0;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		x[i] = i % 4 ? 1 : .2;
		weight[i] = i % 4 ? 1 : 12;
		sum += weight[i] * x[i];
		weights += weight[i];
	}
	assert_float_equal(usual_compute(x, weight, N, .85, true).usual, (float)(sum / weights), 1e-9);
	x[N / 2] = 100;
	assert_float_equal(usual_compute(x, weight, N, .85, true).usual, (float)(sum / weights), .01);
}

int suite_usual(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(steady), cmocka_unit_test(varying), cmocka_unit_test(natural),
					    cmocka_unit_test(few_records) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
