/* What is usual, and from when on work is slow. */
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

/* Steady work is slow from 1 / .85 on; neither one freak nor a half of slow blocks changes what is usual. */
static void steady(void **state)
{
	double x[N];
	struct usual u;

	(void)state;
	draw(x, N, .01, 1);
	u = usual_of(x, N, .85, false);
	assert_float_equal(u.usual, 1, .003);
	assert_float_equal(u.slow, 1.1765F, .015);
	x[17] = .01;
	assert_float_equal(usual_of(x, N, .85, false).usual, 1, .003);
	for (size_t i = 0; i < N / 2; i++)
		x[i] *= 2;
	u = usual_of(x, N, .85, false);
	assert_float_equal(u.usual, 1, .01);
	assert_true(u.slow < 1.25);
}

/* Work that always varies is slow only beyond that: of 100 drawn rows, hardly a block is. */
static void varying(void **state)
{
	size_t slow = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		double x[N];
		struct usual u;

		draw(x, N, .2, seed);
		u = usual_of(x, N, .85, false);
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
	assert_true(usual_of(x, N, .85, true).slow > 5);
	assert_true(usual_of(x, N, .85, false).slow < 1.2);
	assert_float_equal(usual_of(x, 1, .85, false).usual, 1, 0);
}

int suite_usual(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(steady), cmocka_unit_test(varying), cmocka_unit_test(natural) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
