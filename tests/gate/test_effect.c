/* Tests effect, decision and power against reference numbers from scipy 1.10, and against rates in seeded simulations. */
#include "gate/decide/effect.c" /* static functions are tested, too */
#include "gate/decide/effect.h"

#include "base/rng.h"
#include "base/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct effect_request asked = { .03, EFFECT_LEVEL };

#define UNKNOWN	    ((double)NAN)
#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static void assert_near(const char *what, double got, double expected, double tolerance)
{
	if (fabs(got - expected) <= tolerance)
		return;
	fail_msg("%s: %.12g, expected %.12g within %.3g", what, got, expected, tolerance);
}

static void test_decision_rows(void **state)
{
	static const struct {
		const char *what;
		double ratio, low, high;
		enum decision expected;
	} rows[] = {
		{ "clearly slower", 1.10, 1.05, 1.15, DECISION_REGRESSION },
		{ "exactly the smallest that matters", 1.03, 1.01, 1.05, DECISION_REGRESSION },
		{ "the same, off in the last bits", 1.03 - 4e-16, 1.01, 1.05, DECISION_REGRESSION },
		{ "large but not detected", 1.10, .99, 1.22, DECISION_INCONCLUSIVE },
		{ "interval begins at 1", 1.10, 1, 1.22, DECISION_INCONCLUSIVE },
		{ "begins at 1 but for the last bits", 1.10, 1 + 4e-16, 1.22, DECISION_INCONCLUSIVE },
		{ "detected, too small to matter", 1.01, 1.005, 1.015, DECISION_PASS },
		{ "detected, may be large", 1.02, 1.005, 1.035, DECISION_INCONCLUSIVE },
		{ "no change", 1, .98, 1.02, DECISION_PASS },
		{ "interval ends at the smallest that matters", 1, .97, 1.03, DECISION_INCONCLUSIVE },
		{ "clearly faster", .90, .85, .95, DECISION_IMPROVED },
		{ "exactly the mirror", 1 / 1.03, .95, .99, DECISION_IMPROVED },
		{ "faster, too little to matter", .98, .97, .99, DECISION_PASS },
		{ "maybe faster, not slower", .95, .90, 1.002, DECISION_PASS },
		{ "anything goes", 1, .5, 2, DECISION_INCONCLUSIVE },
		{ "no interval", 1.5, UNKNOWN, UNKNOWN, DECISION_INCONCLUSIVE },
		{ "no ratio", UNKNOWN, .9, 1.01, DECISION_INCONCLUSIVE },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		enum decision got = effect_decide(rows[i].ratio, rows[i].low, rows[i].high, .03);

		if (got != rows[i].expected)
			fail_msg("%s: %s", rows[i].what, decision_text(got));
	}
}

/* Checks the names and exit statuses that commands promise. */
static void test_decision_words(void **state)
{
	static const struct {
		enum decision decision;
		const char *text;
		int exit_status;
	} rows[] = {
		{ DECISION_PASS, "pass", 0 },
		{ DECISION_IMPROVED, "improved", 0 },
		{ DECISION_REGRESSION, "regression", 3 },
		{ DECISION_INCONCLUSIVE, "inconclusive", 4 },
		{ DECISION_ENVIRONMENT, "environment", 5 },
		{ DECISION_NOTHING_MEASURED, "nothing_measured", 6 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_string_equal(decision_text(rows[i].decision), rows[i].text);
		assert_int_equal(decision_exit_status(rows[i].decision), rows[i].exit_status);
	}
}

/* Checks against scipy.stats.t.interval of the logs .02 .05 .04 .09. Type 2 is in the inventory but did not run. */
static void test_interval(void **state)
{
	static const struct effect_pair pairs[] = {
		{ 0, .02, 0, 0, false }, { 1, .05, 0, 0, false }, { 3, .04, 0, 0, false }, { 4, .09, 0, 0, false }
	};
	struct effect e = effect_compute(pairs, 4, 5, &asked, NULL);

	(void)state;
	assert_int_equal(e.types, 4);
	assert_near("ratio", e.ratio, 1.051271096376024, 1e-14);
	assert_near("low", e.low, 1.0031606431023754, 1e-10);
	assert_near("high", e.high, 1.1016888727390612, 1e-10);
	assert_int_equal(e.decision, DECISION_REGRESSION);
	assert_true(isnan(e.pattern_p)); /* the noise is unknown */
}

/* Checks against numpy and scipy, by the formulas in docs/evidence/statistics.md. Types have equal weights, whatever the number of their
 * machines. The noise of one machine is unknown. */
static void test_machines_within_types(void **state)
{
	static const struct effect_pair pairs[] = {
		{ 0, .02, .01, 4, false }, { 0, .04, .02, 4, false }, { 1, .10, .015, 4, false },
		{ 2, .01, .03, 4, false }, { 2, .03, 0, 0, false },   { 2, .05, .02, 4, false },
	};
	struct effect e = effect_compute(pairs, 6, 3, &asked, NULL);

	(void)state;
	assert_int_equal(e.types, 3);
	assert_near("ratio", e.ratio, 1.054781180253663, 1e-14);
	assert_near("low", e.low, 0.9540283442405272, 1e-10);
	assert_near("high", e.high, 1.166174301774009, 1e-10);
	assert_near("shape_p", e.pattern_p, 0.0125415041884257, 1e-12);
	assert_int_equal(e.decision, DECISION_INCONCLUSIVE);
	assert_near("minimum detectable", e.minimum_detectable,
		    effect_minimum_detectable(sqrt(.0049 / 3) / sqrt(3), 2, &(struct effect_request){ .03, EFFECT_LEVEL }),
		    1e-12); /* the logs are .03, .10 and .03 */
}

/* Checks two machines with three results per version: of 400 divisions, 8 have the candidate above in at least 16 of 18 pairs (.02), and 18
 * in at least 15 pairs (.045). */
static void test_ranks(void **state)
{
	static const struct effect_pair pairs[] = { { 0, .08, .01, 4, false }, { 1, .08, .01, 4, false } };
	static const struct {
		double level, above;
		bool decides;
	} rows[] = { { EFFECT_LEVEL, 16, true }, { EFFECT_LEVEL, 15, false }, { .999, 17, false }, { .999, 18, true } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct effect_common common = { .ranks = { rows[i].above - 9, 9, 10.5 } };
		struct effect e = effect_compute(pairs, 2, 2, &(struct effect_request){ .03, rows[i].level }, &common);

		assert_true(e.within && e.high > 1.08);
		assert_int_equal(e.low > 1, rows[i].decides);
		assert_int_equal(e.decision, rows[i].decides ? DECISION_REGRESSION : DECISION_INCONCLUSIVE);
	}
}

static void test_too_little(void **state)
{
	static const struct effect_pair pairs[] = { { 1, .02, .01, 4, false }, { 1, .06, 0, 0, false } },
					few[] = { { 0, .08, .01, 3, false } };
	struct effect none = effect_compute(NULL, 0, 3, &asked, NULL), one = effect_compute(pairs, 2, 3, &asked, NULL);

	(void)state;
	assert_int_equal(none.decision, DECISION_NOTHING_MEASURED);
	assert_int_equal(none.types, 0);
	assert_int_equal(one.types, 1);
	assert_near("ratio of one type", one.ratio, exp(.04), 1e-15);
	assert_true(isnan(one.low) && isnan(one.high) && isnan(one.minimum_detectable) && isnan(one.pattern_p));
	assert_int_equal(one.decision, DECISION_INCONCLUSIVE);
	assert_true(isnan(effect_compute(few, 1, 1, &asked, NULL).low)); /* two repetitions and three are too few to estimate the noise */
}

/* Checks against numpy and scipy, by the formulas in docs/evidence/statistics.md. */
static void test_within_machines(void **state)
{
	static const struct effect_pair pairs[] = { { 0, .02, .01, 4, false }, { 0, .04, .02, 4, false }, { 1, .10, .015, 6, false } },
					three[] = { { 0, .02, .01, 4, false }, { 1, .04, .02, 4, false }, { 2, .10, .015, 6, false } },
					one[] = { { 0, .08, .01, 4, false } };
	struct effect e = effect_compute(pairs, 3, 2, &asked, NULL), single = effect_compute(one, 1, 1, &asked, NULL);

	(void)state;
	assert_true(e.within);
	assert_near("ratio", e.ratio, 1.0671590243841926, 1e-14);
	assert_near("low", e.low, 1.0427331354575406, 1e-10);
	assert_near("high", e.high, 1.0921570866019479, 1e-10);
	assert_int_equal(e.decision, DECISION_REGRESSION);
	assert_true(single.within && isnan(single.pattern_p));
	assert_near("low", single.low, 1.0512921343597863, 1e-10);
	assert_near("high", single.high, 1.1162557320058828, 1e-10);
	assert_near("minimum detectable", single.minimum_detectable,
		    effect_minimum_detectable(sqrt(2e-4), 16, &(struct effect_request){ .03, EFFECT_LEVEL }), 1e-12);
	assert_false(effect_compute(three, 3, 3, &asked, NULL).within);
}

/* Checks that exchanging the versions inverts the ratio and its interval, and does not change the shape test. */
static void test_mirror(void **state)
{
	struct effect_pair pairs[] = {
		{ 0, .21, .01, 4, false }, { 1, .25, .01, 4, false }, { 2, .2, .01, 4, false }, { 3, .23, .01, 4, false }
	};
	struct effect e = effect_compute(pairs, 4, 4, &asked, NULL), back;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		pairs[i].log_ratio = -pairs[i].log_ratio;
	back = effect_compute(pairs, 4, 4, &asked, NULL);
	assert_near("ratio", back.ratio * e.ratio, 1, 1e-14);
	assert_near("interval", back.low * e.high, 1, 1e-14);
	assert_near("shape", back.pattern_p, e.pattern_p, 1e-12);
	assert_int_equal(e.decision, DECISION_REGRESSION);
	assert_int_equal(back.decision, DECISION_IMPROVED);
}

struct rates {
	double covered, regression, improved, uniform_rejected;
};

static double median3(const double *x)
{
	return fmax(fmin(x[0], x[1]), fmin(fmax(x[0], x[1]), x[2]));
}

/* Returns the log of the median of 3 repetitions and adds its variance to *variance. The median of 3 normal numbers has 1.3455 times the
 * variance of their mean (numpy, 4 million draws: 1.34554). */
static double measure(struct rng *rng, double noise, double *variance)
{
	double x[3];

	for (size_t i = 0; i < 3; i++)
		x[i] = noise * rng_normal(rng);
	*variance += 1.3455 * stats_sd(x, 3) * stats_sd(x, 3) / 3;
	return median3(x);
}

struct world {
	size_t types, machines;	      /* machines per type */
	double effect, spread;	      /* logs; each type's true effect is normal around `effect` */
	double noise_low, noise_high; /* sd of a repetition, log-uniform over machines */
};

#define WORLD_MACHINES_MAX 100

static struct effect simulate(struct rng *rng, const struct world *w)
{
	struct effect_pair pairs[WORLD_MACHINES_MAX];
	size_t n = 0;

	for (size_t t = 0; t < w->types; t++) {
		double truth = w->effect + w->spread * rng_normal(rng);

		for (size_t k = 0; k < w->machines; k++) {
			double noise = w->noise_low * exp(rng_double(rng) * log(w->noise_high / w->noise_low)), variance = 0;
			double candidate = measure(rng, noise, &variance), baseline = measure(rng, noise, &variance);

			pairs[n++] = (struct effect_pair){ t, truth + candidate - baseline, sqrt(variance), 4, false };
		}
	}
	return effect_compute(pairs, n, w->types, &asked, NULL);
}

static struct rates rates_of(const struct world *w, size_t runs, uint64_t seed)
{
	struct rates r = { 0, 0, 0, 0 };
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t i = 0; i < runs; i++) {
		struct effect e = simulate(&rng, w);

		r.covered += (e.low <= exp(w->effect) && exp(w->effect) <= e.high) / (double)runs;
		r.regression += (e.decision == DECISION_REGRESSION) / (double)runs;
		r.improved += (e.decision == DECISION_IMPROVED) / (double)runs;
		r.uniform_rejected += (stats_round(e.pattern_p) < .05) / (double)runs;
	}
	return r;
}

/* Checks that the interval contains the truth in 95 % of the cases, within four standard errors of the simulation, or more often if types
 * differ by little more than their noise, since the interval is never narrower than the noise. */
static void test_coverage(void **state)
{
	static const struct world rows[] = {
		{ 3, 1, .05, .03, .02, .02 }, { 4, 1, .05, .03, .02, .02 },  { 5, 2, 0, .05, .01, .05 },
		{ 9, 1, -.1, .02, .01, .05 }, { 20, 1, .05, .03, .02, .02 },
	};
	enum { RUNS = 4000 };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		double covered = rates_of(&rows[i], RUNS, 100 + i).covered;

		assert_true(covered > .95 - 4 * sqrt(.95 * .05 / RUNS) && covered < .975);
	}
}

/* Checks one or two types: the interval contains the truth of these machines in at least 95 %, and false alarms are at most 2.5 %. */
static void test_coverage_within(void **state)
{
	static const struct world rows[] = {
		{ 1, 1, 0, 0, .01, .01 }, { 1, 1, 0, 0, .05, .05 }, { 1, 2, 0, 0, .02, .1 },
		{ 2, 1, 0, 0, .05, .05 }, { 2, 2, 0, 0, .01, .1 },
	};
	enum { RUNS = 4000 };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct rates r = rates_of(&rows[i], RUNS, 500 + i);

		assert_true(r.covered >= .95 - 4 * sqrt(.95 * .05 / RUNS));
		assert_true(r.regression <= .025 + 4 * sqrt(.025 * .975 / RUNS));
		assert_true(r.improved <= .025 + 4 * sqrt(.025 * .975 / RUNS));
	}
}

/* Checks versions without a change: "regression" and "improved" are each reported in at most 2.5 % of the cases. */
static void test_false_alarms(void **state)
{
	static const struct world rows[] = {
		{ 3, 1, 0, 0, .02, .02 },   { 3, 1, 0, .05, .02, .02 }, { 5, 2, 0, .03, .01, .05 },
		{ 9, 1, 0, .05, .05, .05 }, { 20, 1, 0, .2, .02, .02 },
	};
	enum { RUNS = 4000 };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct rates r = rates_of(&rows[i], RUNS, 200 + i);

		assert_true(r.regression <= .025 + 4 * sqrt(.025 * .975 / RUNS));
		assert_true(r.improved <= .025 + 4 * sqrt(.025 * .975 / RUNS));
		if (rows[i].spread >= .2) /* the spread exceeds the smallest effect that matters, so the error rate is the nominal level */
			assert_near("level", r.regression + r.improved, .05, 4 * sqrt(.05 * .95 / RUNS));
	}
}

/* Checks equal ratios on all types: from 3 repetitions on, "not uniform" is reported in at most 6 % of the cases. */
static void test_shape_level(void **state)
{
	static const struct world rows[] = {
		{ 3, 1, .05, 0, .05, .05 }, { 5, 1, .05, 0, .05, .05 },	 { 9, 1, .05, 0, .05, .05 },  { 20, 1, .05, 0, .05, .05 },
		{ 3, 1, .05, 0, .01, .05 }, { 20, 1, .05, 0, .01, .05 }, { 5, 3, .05, 0, .05, .05 },  { 9, 1, .05, 0, .02, .02 },
		{ 9, 1, .05, 0, .01, .01 }, { 9, 1, .05, 0, .01, .2 },	 { 20, 3, .05, 0, .05, .05 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_true(rates_of(&rows[i], 4000, 300 + i).uniform_rejected <= .06);
}

/* Checks the rate of "not uniform" if the ratios differ, against a python simulation of the same statistic (.55, .95, .71). */
static void test_shape_power(void **state)
{
	static const struct {
		struct world world;
		double expected;
	} rows[] = {
		{ { 3, 1, .05, .05, .02, .02 }, .547 },
		{ { 9, 1, .05, .05, .02, .02 }, .948 },
		{ { 20, 1, .05, .05, .05, .05 }, .705 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_near("power", rates_of(&rows[i].world, 4000, 400 + i).uniform_rejected, rows[i].expected, .035);
}

/* Checks min_effect 0 against the noncentral t distribution (scipy.stats.nct), others against scipy.integrate.quad. */
static void test_minimum_detectable(void **state)
{
	static const struct {
		double sd;
		size_t types;
		double min_effect, expected;
	} rows[] = {
		{ .05, 2, 0, 0.7815689734295244 },
		{ .05, 3, 0, 0.17727468407768834 },
		{ .05, 5, 0, 0.08773751432472834 },
		{ .05, 9, 0, 0.054797393038885055 },
		{ .05, 20, 0, 0.03357340213950692 },
		{ .05, 200, 0, 0.010002919004800069 },
		{ .02, 3, .03, 0.06748590136726383 },
		{ .05, 9, .03, 0.05524233255961933 },
		{ .02, 20, .03, 0.033884064839414856 },
		{ .1, 5, .05, 0.18319050744766058 },
		{ .01, 40, .03, 0.03137155398779985 },
		{ .03, 2, .03, 0.4141047609318186 },
		{ .3, 300, .03, 0.0498859708987053 },
		{ 0, 5, .03, .03 },
		{ 1e-15, 5, .03, .03 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_near("minimum detectable",
			    effect_minimum_detectable(rows[i].sd / sqrt((double)rows[i].types), (double)rows[i].types - 1,
						      &(struct effect_request){ rows[i].min_effect, EFFECT_LEVEL }),
			    rows[i].expected, 1e-7);
}

/* Checks that the decision rule finds the minimum detectable effect, on normal log ratios, in 80 % of the cases. */
static void test_power_by_simulation(void **state)
{
	static const struct {
		double sd;
		size_t types;
	} rows[] = { { .02, 3 }, { .05, 9 }, { .02, 20 }, { .03, 2 } };
	enum { RUNS = 20000 };
	struct rng rng;

	(void)state;
	rng_seed(&rng, 8);
	for (size_t r = 0; r < COUNT(rows); r++) {
		double truth = log1p(effect_minimum_detectable(rows[r].sd / sqrt((double)rows[r].types), (double)rows[r].types - 1,
							       &(struct effect_request){ .03, EFFECT_LEVEL })),
		       found = 0;
		double root = sqrt((double)rows[r].types), t = stats_t_quantile(.975, (double)rows[r].types - 1);

		for (size_t i = 0; i < RUNS; i++) {
			double x[20], mean, half;

			for (size_t k = 0; k < rows[r].types; k++)
				x[k] = truth + rows[r].sd * rng_normal(&rng);
			mean = stats_mean(x, rows[r].types);
			half = t * stats_sd(x, rows[r].types) / root;
			found += effect_decide(exp(mean), exp(mean - half), exp(mean + half), .03) == DECISION_REGRESSION;
		}
		assert_near("power", found / RUNS, EFFECT_POWER, 4 * sqrt(.8 * .2 / RUNS));
	}
}

int suite_effect(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decision_rows),
		cmocka_unit_test(test_decision_words),
		cmocka_unit_test(test_interval),
		cmocka_unit_test(test_machines_within_types),
		cmocka_unit_test(test_too_little),
		cmocka_unit_test(test_mirror),
		cmocka_unit_test(test_coverage),
		cmocka_unit_test(test_false_alarms),
		cmocka_unit_test(test_shape_level),
		cmocka_unit_test(test_shape_power),
		cmocka_unit_test(test_within_machines),
		cmocka_unit_test(test_coverage_within),
		cmocka_unit_test(test_minimum_detectable),
		cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_power_by_simulation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
