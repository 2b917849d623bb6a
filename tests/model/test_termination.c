/* Checks how many runs are sufficient, on sequences with a known answer. */
#include "model/anomaly/detector.c" /* for access to termination_of() */

#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define RUNS	    200

static struct termination after(const double *error, size_t n)
{
	struct termination t;

	termination_compute(error, n, &termination_defaults, &t);
	return t;
}

/* Checks termination against manual calculation, with a goal of 1. Errors 1 3 1 3 1 3 1 3 have these standard deviations after 1, 2, ...
 * runs: 0, 1.4142, 1.1547, 1.1547, 1.0954, 1.0954, 1.0690, 1.0690. After 4 runs: last quarter 1.1547, last half 1.1547. After 8: 1.0690
 * and 1.0822, mean error 2, scale 2 + 2 * 1.0690: 0.0032. */
static void test_by_hand(void **state)
{
	static const double same[] = { 1, 3, 1, 3, 1, 3, 1, 3 };
	static const double early[] = {
		1, 1, 1, 5, 1, 1, 1, 1
	}; /* after 4 runs: 2 and 1, scale 6: 0.1667; after 5: 1.7889 and 1.8944, scale 5.3777: 0.0196 */
	static const double apart[] = { 1, 3, 1, 3, 4, 3, 2, 2 };
	struct termination_options o = { .eps = .0001, .goal = 1, .max = 100 };
	struct termination t;

	(void)state;
	termination_compute(same, 4, &o, &t);
	assert_true(t.is_sufficient && t.chosen == 4 && t.n_runs_missing == 0);
	o.eps = .0195;
	termination_compute(early, 5, &o, &t);
	assert_false(t.is_sufficient);
	assert_int_equal(t.n_runs_missing, 1); /* 5 (0.0196 / 0.0195)^2 = 5.07 */
	o.eps = .01;
	termination_compute(early, 5, &o, &t);
	assert_int_equal(t.n_runs_missing, 15); /* 5 (0.0196 / 0.01)^2 = 19.27 */
	o.eps = .0197;
	termination_compute(early, 5, &o, &t);
	assert_true(t.is_sufficient && t.chosen == 5);
	o.goal = 5; /* runs 4 to 8 have to be below eps */
	o.eps = .0074;
	termination_compute(same, 8, &o, &t);
	assert_false(t.is_sufficient); /* only three are below: after 5 runs, 1.0954 and 1.1251, scale 3.9909: 0.00743 */
	o.eps = .0075;
	termination_compute(same, 8, &o, &t);
	assert_true(t.is_sufficient && t.chosen == 8);
	o.goal = 2; /* the sequence of values: 0, 0.0184, 0.0032, 0.0212, 0.0207 */
	o.eps = .01;
	termination_compute(apart, 8, &o, &t);
	assert_false(t.is_sufficient);
}

static void test_sequences(void **state)
{
	double same[RUNS], none[RUNS], drift[RUNS], jump[RUNS], growing[RUNS];
	struct termination_options o = termination_defaults;
	struct termination t;

	(void)state;
	for (size_t i = 0; i < RUNS; i++) {
		same[i] = 5.0;
		none[i] = 0.0;
		drift[i] = 1.0 + (double)i;
		jump[i] = i < 5 ? 1.0 : 2.0;
		growing[i] = pow(1.1, (double)i);
	}
	assert_true(after(same, RUNS).is_sufficient);
	assert_int_equal(after(same, RUNS).chosen, 6); /* the fourth run is the first that can count */
	assert_true(after(none, 6).is_sufficient);
	assert_false(after(same, 5).is_sufficient);
	for (size_t n = 0; n < 6; n++)
		assert_int_equal(after(same, n).n_runs_missing, 6 - n);
	assert_false(after(drift, 99).is_sufficient);
	assert_int_equal(after(drift, 99).n_runs_missing, 1);
	assert_int_equal(after(drift, 50).n_runs_missing, 50); /* limited by the maximum number of runs */
	assert_false(after(drift, RUNS).is_sufficient);
	assert_int_equal(after(drift, RUNS).chosen, 100);
	assert_int_equal(after(drift, RUNS).n_runs_missing, 0);
	assert_false(after(growing, 99).is_sufficient);
	o.least = 1e6; /* errors of up to 12,500 count as small */
	termination_compute(growing, 99, &o, &t);
	assert_true(t.is_sufficient && t.chosen == 6);
	o.least = 1e-6;
	termination_compute(growing, 99, &o, &t);
	assert_false(t.is_sufficient);
	assert_false(after(jump, 6).is_sufficient); /* the count starts again after the jump */
	assert_true(after(jump, RUNS).is_sufficient);
	assert_true(after(jump, RUNS).chosen > 10);
}

/* Draws errors like those of runs: lognormal with a given coefficient of variation. */
static void random_errors(struct rng *rng, double variation, double *error)
{
	for (size_t i = 0; i < RUNS; i++)
		error[i] = exp(sqrt(log(1.0 + variation * variation)) * rng_normal(rng));
}

static void test_properties(void **state)
{
	double error[RUNS], other[RUNS], chosen[3][100];
	static const double variations[] = { .1, .3, 1.0 };
	struct rng rng;

	(void)state;
	rng_seed(&rng, 1);
	for (size_t i = 0; i < 300; i++) {
		struct termination t, u;

		random_errors(&rng, variations[i % 3], error);
		t = after(error, RUNS);
		for (size_t k = 0; k < RUNS; k++)
			other[k] = error[k] * 1024.0; /* the unit does not affect the result */
		u = after(other, RUNS);
		assert_true(t.is_sufficient == u.is_sufficient && t.chosen == u.chosen);
		for (size_t k = t.chosen; k < RUNS; k++)
			other[k] *= (double)k; /* errors after the chosen run do not affect the result */
		u = after(other, RUNS);
		assert_true(t.is_sufficient == u.is_sufficient && t.chosen == u.chosen);
		if (t.is_sufficient) { /* one run less is not sufficient, and the estimate of missing runs is at least 1 */
			assert_false(after(error, t.chosen - 1).is_sufficient);
			assert_true(after(error, t.chosen - 1).n_runs_missing >= 1);
			assert_true(after(error, t.chosen).is_sufficient);
		}
		chosen[i % 3][i / 3] = (double)t.chosen;
	}
	assert_true(stats_median(chosen[0], 100) < stats_median(chosen[1], 100)); /* noisier errors need more runs */
	assert_true(1.5 * stats_median(chosen[1], 100) < stats_median(chosen[2], 100));
	print_message("runs, median, by variation .1, .3, 1: %g, %g, %g\n", stats_median(chosen[0], 100), stats_median(chosen[1], 100),
		      stats_median(chosen[2], 100));
}

/* Checks that the median estimate of the number of missing runs is right within a factor of three. */
static void test_estimate(void **state)
{
	double error[RUNS], ratio[300];
	size_t n = 0;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 2);
	for (size_t i = 0; i < 300; i++) {
		struct termination early, end;

		random_errors(&rng, .6, error);
		early = after(error, 8);
		end = after(error, RUNS);
		if (!early.is_sufficient && end.is_sufficient)
			ratio[n++] = (double)(8 + early.n_runs_missing) / (double)end.chosen;
	}
	assert_true(n > 150);
	print_message("said / needed, of %zu: lower quartile %.2f, median %.2f, upper quartile %.2f\n", n, stats_quantile(ratio, n, .25),
		      stats_median(ratio, n), stats_quantile(ratio, n, .75));
	assert_true(stats_median(ratio, n) > 1.0 / 3.0 && stats_median(ratio, n) < 3.0);
}

int suite_termination(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_sequences),
		cmocka_unit_test(test_properties),
		cmocka_unit_test(test_estimate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
