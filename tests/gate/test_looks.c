/* Tests interim analyses: the error that each of them may spend, and the error rate of the whole, by simulation. */

#include "base/rng.h"
#include "base/stats.h"
#include "gate/decide/effect.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define NIGHTS 800
#define TYPES  6
#define NOISE  .08

static void test_spending(void **state)
{
	(void)state;
	/* The total error that was spent is 5 %, whichever analysis is the last. */
	for (int last = 1; last <= ANALYSES_MAX; last++) {
		double spent = 0;

		for (int look = 1; look < last; look++)
			spent += 1 - analysis_level(look, false);
		assert_true(fabs(spent + 1 - analysis_level(last, true) - (1 - EFFECT_LEVEL)) < 1e-12);
	}
	assert_true(analysis_level(ANALYSES_MAX, false) == analysis_level(ANALYSES_MAX, true));
	assert_int_equal(analysis_repetitions(3, 1), 3);
	assert_int_equal(analysis_repetitions(3, ANALYSES_MAX), 48);
}

struct rates {
	double regression, pass, missed; /* missed: rate of final intervals without the truth */
	double repetitions;
};

/* Simulates nights with a change of `effect`. `looks` 1: one decision at the end. `corrected`: each analysis has its own level. */
static struct rates simulate(double effect, int looks, bool corrected, uint64_t seed)
{
	struct rates r = { 0 };
	struct rng rng;

	rng_seed(&rng, seed);
	for (int night = 0; night < NIGHTS; night++) {
		double type[TYPES], sum[TYPES] = { 0 };
		struct effect e = { .decision = DECISION_INCONCLUSIVE };
		int64_t n = 0;

		for (int t = 0; t < TYPES; t++)
			type[t] = log1p(effect) + .005 * rng_normal(&rng);
		for (int look = looks > 1 ? 1 : ANALYSES_MAX; look <= ANALYSES_MAX && e.decision == DECISION_INCONCLUSIVE; look++) {
			struct effect_request asked = { .03, corrected ? analysis_level(look, false) : EFFECT_LEVEL };
			struct effect_pair pairs[TYPES];

			for (; n < analysis_repetitions(4, look); n++)
				for (int t = 0; t < TYPES; t++)
					sum[t] += NOISE * (rng_normal(&rng) - rng_normal(&rng));
			for (int t = 0; t < TYPES; t++)
				pairs[t] = (struct effect_pair){ (size_t)t, type[t] + sum[t] / (double)n, 0, 0, false };
			e = effect_compute(pairs, TYPES, TYPES, &asked, NULL);
		}
		r.regression += e.decision == DECISION_REGRESSION;
		r.pass += e.decision == DECISION_PASS;
		r.missed += e.low > 1 + effect || e.high < 1 + effect;
		r.repetitions += (double)n;
	}
	r.regression /= NIGHTS;
	r.pass /= NIGHTS;
	r.missed /= NIGHTS;
	r.repetitions /= NIGHTS;
	return r;
}

static void test_error_rates(void **state)
{
	static const double effects[] = { 0, .05 };
	const double limit = .05 + 3 * sqrt(.05 * .95 / NIGHTS); /* tolerance for chance */

	(void)state;
	for (size_t i = 0; i < sizeof(effects) / sizeof(effects[0]); i++) {
		struct rates fixed = simulate(effects[i], 1, false, 1), naive = simulate(effects[i], ANALYSES_MAX, false, 1),
			     r = simulate(effects[i], ANALYSES_MAX, true, 1);

		print_message(
		    "%+.0f %%: regression %.4f (once %.4f, uncorrected %.4f), missed %.4f (%.4f, %.4f), repetitions %.1f of %.0f\n",
		    100 * effects[i], r.regression, fixed.regression, naive.regression, r.missed, fixed.missed, naive.missed, r.repetitions,
		    fixed.repetitions);
		assert_true(r.missed <= limit);
		if (effects[i] <= 0) {
			assert_true(r.regression <= .01 && naive.regression > 2 * r.regression);
			assert_true(naive.missed > r.missed + .01); /* the correction is necessary */
		}
		if (effects[i] >= .05)
			assert_true(r.regression > fixed.regression - .02 && r.repetitions <= .5 * fixed.repetitions);
	}
}

int suite_looks(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spending),
		cmocka_unit_test(test_error_rates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
