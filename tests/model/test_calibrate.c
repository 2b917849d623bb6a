/* Checks scales, thresholds from held-out runs, and causes, against manual counts and known rates. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "model/anomaly/detector_judge.c" /* for access to internals */
#include "model/anomaly/held_out.c"
#include "model/anomaly/models.c"
#include "model/published/published.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void assert_near(double a, double b, double within)
{
	if (!(fabs(a - b) <= within))
		fail_msg("%.17g is not %.17g within %g", a, b, within);
}

/* ---- scale ---- */

/* Checks that a difference of `min_relevant_delta` near zero, and a relative difference of `tolerance` far from it, are both one unit. */
static void one_unit_is_what_matters(void **state)
{
	static const double tolerances[] = { .01, .05, .2 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		double t = tolerances[i], a = detector_stretch(.3, t);

		assert_near((asinh(.3 / a) - asinh(0)) / t, 1, 1e-12);
		assert_near((asinh(1e6 * (1 + t) / a) - asinh(1e6 / a)) / log(1 + t), 1, 1e-6);
	}
}

#define RUNS	12
#define PER_RUN 40

struct made {
	struct mat z;
	struct row_group groups[2 * RUNS];
	bool use[RUNS];
};

/* Makes two functions. Function 0: column 0 has offsets of 10 between runs and a standard deviation of 0.3 within a run, column 1 is 5,
 * column 2 is 0 except in one sample of 50. Function 1 is 7 everywhere. */
static void make(struct made *m, uint64_t seed)
{
	struct rng rng;

	rng_seed(&rng, seed);
	m->z = mat_new((size_t)2 * RUNS * PER_RUN, 3);
	for (size_t g = 0; g < 2 * (size_t)RUNS; g++) {
		m->groups[g] = (struct row_group){ .function = g / RUNS, .run = g % RUNS, .first = g * PER_RUN, .n = PER_RUN };
		m->use[g % RUNS] = true;
		for (size_t i = g * PER_RUN; i < (g + 1) * PER_RUN; i++) {
			mat_set(&m->z, i, 0, g < RUNS ? 10 * (double)(g % 3) + .3 * rng_normal(&rng) : 7);
			mat_set(&m->z, i, 1, g < RUNS ? 5 : 7);
			mat_set(&m->z, i, 2, g < RUNS ? (double)(i % 50 == 0) : 7);
		}
	}
}

static void the_unit_is_the_spread_within_runs(void **state)
{
	struct scale s;
	struct made m;
	struct rows rows;
	double units[3];

	(void)state;
	make(&m, 3);
	rows = (struct rows){ .z = m.z, .groups = m.groups, .n_groups = 2 * (size_t)RUNS };
	s = scale_new(3, 3);
	scale_learn(&rows, m.use, .05, &s);
	assert_true(s.known[0] && s.known[1] && !s.known[2]);
	assert_near(s.unit[0], .3, .03); /* the spread within runs, not between them */
	assert_near(s.unit[1], .05, 0);	 /* the minimum is the tolerance */
	assert_near(s.unit[2], .05, 0);	 /* one sample of 50 does not affect the spread */
	assert_near(s.high[2] * s.unit[2], 1, 1e-12);
	assert_near(s.center[1], 5, 0);
	assert_false(scale_is_constant(&s, 0, 0));
	assert_true(scale_is_constant(&s, 0, 1));
	assert_false(scale_is_constant(&s, 0, 2));
	assert_true(scale_is_constant(&s, 1, 2));
	scale_row(&s, 0, (const double[]){ s.center[0] + s.unit[0], 5, .05 }, units);
	assert_near(units[0], 1, 1e-9);
	assert_near(units[1], 0, 0);
	assert_near(units[2], 1, 1e-9);
	scale_release(&s);
	/* Runs that are not used have no effect. */
	for (size_t r = 0; r < RUNS; r++)
		m.use[r] = r % 3 == 1;
	s = scale_new(3, 3);
	scale_learn(&rows, m.use, .05, &s);
	assert_near(s.center[0], 10, .1);
	assert_true(s.low[0] * s.unit[0] > -3 && s.high[0] * s.unit[0] < 3);
	scale_release(&s);
	s = scale_new(3, 3);
	detector_range.learn(&rows, m.use, .05, &s); /* the paper's method: all functions together */
	assert_near(s.center[1], 5, 0);
	assert_near(s.unit[1], 2, 0);
	assert_near(s.center[3 + 1], 5, 0);
	scale_release(&s);
	mat_release(&m.z);
}

/* Checks one sample per run: the unit is then the spread over all runs. Median and quantiles equal those of base/stats.h. */
static void one_sample_a_run(void **state)
{
	struct row_group groups[101];
	struct mat z = mat_new(101, 1);
	double distance[101];
	bool use[101];
	struct scale s;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 5);
	for (size_t i = 0; i < 101; i++) {
		groups[i] = (struct row_group){ .run = i, .first = i, .n = 1 };
		use[i] = true;
		z.at[i] = floor(8 * rng_normal(&rng)); /* rounded to make ties */
	}
	s = scale_new(1, 1);
	scale_learn(&(struct rows){ .z = z, .groups = groups, .n_groups = 101 }, use, .05, &s);
	assert_near(s.center[0], stats_median(z.at, 101), 0);
	for (size_t i = 0; i < 101; i++)
		distance[i] = fabs(z.at[i] - s.center[0]);
	assert_near(s.unit[0],
		    fmax(1.4826 * stats_median(distance, 101), (stats_quantile(z.at, 101, .95) - stats_quantile(z.at, 101, .05)) / 3.2897),
		    1e-12);
	scale_release(&s);
	mat_release(&z);
}

/* ---- calibration ---- */

static void rates_and_runs(void **state)
{
	(void)state;
	assert_int_equal(detector_runs_needed(.05), 19);
	assert_int_equal(detector_runs_needed(.1), 9);
	assert_int_equal(detector_runs_needed(.5), 1);
	assert_int_equal(detector_runs_needed(.03), 33);
	for (size_t runs = 1; runs < 200; runs++) {
		assert_int_equal(detector_runs_needed(1.0 / (double)(runs + 1)), runs);
		assert_int_equal(calibrate_allowed(1.0 / (double)(runs + 1), runs), 1);
		assert_int_equal(calibrate_allowed(.05, runs), (runs + 1) / 20);
	}
}

/* Checks the probabilities against a count over all orders of 5 normal and 4 new runs, which are equally likely. Counts the orders with
 * at least `anomalous` new runs before the allowed-th normal run. */
static void chance_is_counted(void **state)
{
	(void)state;
	for (size_t allowed = 1; allowed <= 5; allowed++) {
		for (size_t anomalous = 0; anomalous <= 4; anomalous++) {
			double hits = 0, all = 0;

			for (unsigned order = 0; order < 1 << 9; order++) { /* bit i set: the i-th strangest run is new */
				size_t new_ones = 0, normal = 0;

				if (__builtin_popcount(order) != 4)
					continue;
				for (unsigned i = 0; i < 9 && normal < allowed; i++) {
					normal += !(order >> i & 1);
					new_ones += order >> i & 1;
				}
				all++;
				hits += new_ones >= anomalous;
			}
			assert_near(calibrate_chance(5, allowed, 4, anomalous), hits / all, 1e-9);
		}
	}
	assert_near(calibrate_chance(19, 1, 1, 1), .05, 1e-9);
	assert_near(calibrate_chance(39, 2, 1, 1), .05, 1e-9);
}

enum kind { NOISE, HEAVY, TIES, SAME, SMALL };

/* Draws errors of functions with 1, 5 and 30 samples per run; runs differ, too. The last run is the new one. Returns how many errors. */
static size_t made_up_errors(enum kind kind, size_t runs, struct rng *rng, struct row_group *groups, double *error, double *weight)
{
	static const size_t samples[] = { 1, 5, 30 };
	size_t n = 0;

	for (size_t g = 0; g < 3 * runs; g++) {
		size_t f = g / runs;
		double run = rng_normal(rng);

		groups[g] = (struct row_group){ .function = f, .run = g % runs, .first = n, .n = samples[f] };
		for (size_t i = 0; i < samples[f]; i++, n++) {
			double e = exp(run + rng_normal(rng) + (double)f);

			weight[n] = 1 + (double)rng_below(rng, 4);
			error[n] = kind == NOISE   ? e
				   : kind == HEAVY ? e / pow(rng_double(rng) + 1e-9, 2)
				   : kind == TIES  ? (double)(e > 12) * 3
				   : kind == SMALL ? .01 * fmin(e, 50)
						   : .5;
		}
	}
	return n;
}

#define ERRORS_MAX (40 * 36)

struct verdict {
	bool anomalous, matters;
	double p, strange[3];
};

/* Calibrates on the other runs and judges the last one. Checks that the strangest function is above the limit exactly if p <= rate. */
static struct verdict verdict_on_last(const struct row_group *groups, size_t runs, const double *error, double *weight, double rate,
				      bool single_sample)
{
	struct calibrate_options options = { .rate = rate, .least = 1, .single_sample = single_sample };
	struct calibrate_summary seen[3] = { 0 };
	struct row_group normal[120] = { { .n = 0 } };
	struct verdict verdict = { 0 };
	double *strange = verdict.strange, limit, most;
	struct calibration c;
	size_t n = 0;

	for (size_t g = 0; g < 3 * runs; g++)
		if (groups[g].run + 1 < runs)
			normal[n++] = groups[g];
	calibrate_fit(&(struct rows){ .groups = normal, .n_groups = n, .weight = weight }, error, 3, runs - 1, &options, &c);
	for (size_t g = 0; g < 3 * runs; g++) {
		size_t first = groups[g].first;

		if (groups[g].run + 1 == runs)
			seen[groups[g].function] = calibrate_summarise(&c, groups[g].function, &error[first], &weight[first], groups[g].n);
	}
	limit = calibrate_judge(&c, seen, strange, &verdict.p);
	most = fmax(strange[0], fmax(strange[1], strange[2]));
	verdict.anomalous = most > limit;
	verdict.matters = most >= RELEVANT;
	assert_int_equal(verdict.anomalous, verdict.p <= rate + 1e-9);
	assert_near(verdict.p * (double)runs, round(verdict.p * (double)runs), 1e-9);
	assert_true(verdict.matters == (seen[0].matters || seen[1].matters || seen[2].matters));
	calibration_release(&c);
	return verdict;
}

/* Checks that normal runs are reported as anomalous at the requested rate, over 1,000 new runs. */
static void normal_runs_keep_the_rate(void **state)
{
	static const struct {
		enum kind kind;
		size_t runs;
		double rate;
		bool single, exact;
	} rows[] = {
		{ NOISE, 9, .1, false, true },	{ NOISE, 19, .05, false, true }, { NOISE, 19, .25, false, true },
		{ NOISE, 39, .05, true, true }, { HEAVY, 9, .1, false, true },	 { HEAVY, 39, .05, false, true },
		{ TIES, 9, .1, false, false },	{ TIES, 39, .05, false, false }, { TIES, 19, .1, true, false },
		{ SAME, 19, .2, false, false }, { SMALL, 9, .1, false, true },	 { SMALL, 19, .05, false, true },
	};
	static struct row_group groups[120];
	static double error[ERRORS_MAX], weight[ERRORS_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t blocks = 1000, hits = 0;
		double rate, sd = sqrt(rows[i].rate * (1 - rows[i].rate) / (double)blocks);
		struct rng rng;

		rng_seed(&rng, 100 + i);
		for (size_t b = 0; b < blocks; b++) {
			struct verdict v;

			made_up_errors(rows[i].kind, rows[i].runs + 1, &rng, groups, error, weight);
			v = verdict_on_last(groups, rows[i].runs + 1, error, weight, rows[i].rate, rows[i].single);
			hits += v.anomalous;
			assert_true(rows[i].kind != SMALL || !v.matters);
		}
		rate = (double)hits / (double)blocks;
		print_message("%zu runs, kind %d: asked %g, measured %.4f\n", rows[i].runs, (int)rows[i].kind, rows[i].rate, rate);
		assert_true(rate <= rows[i].rate + 4 * sd);
		assert_true(!rows[i].exact || rate >= rows[i].rate - 4 * sd);
		assert_true(rows[i].kind != SAME || hits == 0);
	}
}

/* Checks that a much larger error in one sample of a function is found by either statistic, and that the levels give the reason. */
static void strange_runs_are_found(void **state)
{
	static struct row_group groups[120];
	static double error[ERRORS_MAX], weight[ERRORS_MAX];
	struct rng rng;

	(void)state;
	rng_seed(&rng, 8);
	for (size_t i = 0; i < 50; i++) {
		size_t n = made_up_errors(NOISE, 20, &rng, groups, error, weight);

		for (size_t k = 0; k < 30; k++) /* the last run of the last function */
			error[n - 1 - k] *= 1e4;
		assert_true(verdict_on_last(groups, 20, error, weight, .05, false).anomalous);
		assert_true(verdict_on_last(groups, 20, error, weight, .05, true).anomalous);
	}
}

/* Checks the bound on one outlier's effect: its function's strangeness is at most the root of the number of runs, or twice that if no
 * run has several samples. Such a normal run hides no fault. Of two such functions, the one with a single sample is stranger. */
static void one_sample_is_bounded(void **state)
{
	static const double factors[] = { 1, 1e3, 1e9, 1e30, 1e100 };
	static struct row_group groups[120];
	static double error[ERRORS_MAX], weight[ERRORS_MAX];
	const size_t runs = 20;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 11);
	for (size_t i = 0; i < 50; i++) {
		size_t n = made_up_errors(NOISE, runs, &rng, groups, error, weight);
		double *one = &error[groups[runs - 1].first]; /* in the new run; the next two are in the run before it */
		double *hidden = &error[groups[runs - 2].first], *of_five = &error[groups[2 * runs - 2].first];
		double before = STRANGENESS_ABSENT, root = sqrt((double)runs);
		struct verdict v;

		for (size_t k = 0; k < n; k++)
			weight[k] = 1;
		for (size_t k = 0; k < sizeof(factors) / sizeof(factors[0]); k++) {
			*one = factors[k];
			v = verdict_on_last(groups, runs, error, weight, .05, false);
			assert_true(v.strange[0] <= 2 * root && v.strange[0] >= before);
			before = v.strange[0];
		}
		assert_true(before > 1.8 * root);
		*of_five = 1e200;
		assert_true(verdict_on_last(groups, runs, error, weight, .05, false).anomalous);
		*one = 1;
		*hidden = 1e200;
		assert_false(verdict_on_last(groups, runs, error, weight, .05, false).anomalous);
		for (size_t k = groups[3 * runs - 1].first; k < n; k++)
			error[k] *= 1e4;
		assert_true(verdict_on_last(groups, runs, error, weight, .05, false).anomalous);
	}
}

/* Checks that relevant errors outrank irrelevant ones: a normal run with a relevant error is stranger than all runs without one. */
static void what_matters_comes_first(void **state)
{
	static struct row_group groups[120];
	static double error[ERRORS_MAX], weight[ERRORS_MAX];
	struct rng rng;
	struct verdict v;
	size_t n;

	(void)state;
	rng_seed(&rng, 9);
	n = made_up_errors(SMALL, 20, &rng, groups, error, weight);
	for (size_t k = 0; k < 30; k++)
		error[n - 1 - k] = .9;
	v = verdict_on_last(groups, 20, error, weight, .05, false);
	assert_true(v.anomalous && !v.matters);
	for (size_t k = 0; k < 30; k++) /* a small but relevant error in another run */
		error[n - 31 - k] = 1.1;
	v = verdict_on_last(groups, 20, error, weight, .05, false);
	assert_true(!v.anomalous && !v.matters);
	assert_near(v.p, .1, 1e-9);
}

/* Checks that the new run is part of the population with which runs are compared. Otherwise, 0.42 would be found. */
static void the_new_run_is_one_of_all(void **state)
{
	static struct row_group groups[20];
	double error[20], weight[20], found = 0;
	size_t blocks = 1000;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 10);
	for (size_t b = 0; b < blocks; b++) {
		struct calibrate_options options = { .rate = .05, .least = 0 };
		struct calibrate_summary seen;
		struct calibration c;
		double strange, limit, p;

		for (size_t r = 0; r < 20; r++) {
			groups[r] = (struct row_group){ .run = r, .first = r, .n = 1 };
			error[r] = expm1(10 + rng_normal(&rng) + 2 * (r == 19));
			weight[r] = 1;
		}
		calibrate_fit(&(struct rows){ .groups = groups, .n_groups = 19, .weight = weight }, error, 1, 19, &options, &c);
		seen = calibrate_summarise(&c, 0, &error[19], &weight[19], 1);
		limit = calibrate_judge(&c, &seen, &strange, &p);
		found += strange > limit;
		calibration_release(&c);
	}
	print_message("2 standard deviations off, 19 runs: found %.3f\n", found / (double)blocks);
	assert_true(found / (double)blocks > .48);
}

/* ---- causes ---- */

static void causes_are_voted_for(void **state)
{
	double parts_at[] = { 9, 1, 0, 8, 2, 0, 1, 5, 0, 50, 0, 0 }, toward_at[] = { -3, 1, 0, -2, 1, 0, 1, 2, 0, 7, 0, 0 };
	double moved[] = { .5, .5, .5 };
	const struct detection_mean means[] = { { 5, 2, true }, { 10, 10.1, false }, { 4, 4, false } };
	const bool anomalous[] = { true, true, true, false }, none[4] = { false };
	struct cause_samples samples = { { 4, 3, parts_at }, { 4, 3, toward_at }, means, moved, anomalous };
	struct detection_column *columns;

	(void)state;
	assert_int_equal(cause_columns(&samples, &columns), 2);
	assert_int_equal(columns[0].column, 0);
	assert_near(columns[0].votes, 2.0 / 3, 1e-12);
	assert_near(columns[0].part, 18.0 / 26, 1e-12);
	assert_int_equal(columns[0].direction, -1); /* the mean has decreased */
	assert_near(columns[0].now, 2, 0);
	assert_near(columns[0].normal, 5, 0);
	assert_int_equal(columns[1].column, 1);
	assert_int_equal(columns[1].direction, 1); /* the mean is unchanged, but the samples are above the expected value */
	free(columns);
	samples.anomalous = none;
	assert_int_equal(cause_columns(&samples, &columns), 0);
	assert_null(columns);
}

int suite_calibrate(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_unit_is_what_matters), cmocka_unit_test(the_unit_is_the_spread_within_runs),
		cmocka_unit_test(one_sample_a_run),	    cmocka_unit_test(rates_and_runs),
		cmocka_unit_test(chance_is_counted),	    cmocka_unit_test(normal_runs_keep_the_rate),
		cmocka_unit_test(strange_runs_are_found),   cmocka_unit_test(one_sample_is_bounded),
		cmocka_unit_test(what_matters_comes_first), cmocka_unit_test(the_new_run_is_one_of_all),
		cmocka_unit_test(causes_are_voted_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
