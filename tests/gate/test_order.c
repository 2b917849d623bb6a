/* Tests versions that did not take turns: the order of the sides is confounded, and repetitions of one side show its effect. */
#include "base/mem.h"
#include "base/rng.h"
#include "gate/decide/effect.h"
#include "gate/decide/pairing.c" /* static functions are tested, too */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct effect_request asked = { .03, EFFECT_LEVEL };

#define TYPES 8
#define MANY  5

struct sides {
	size_t n[2];
	int64_t repetition[2][MANY];
};

/* Makes one series per type. The cost of repetition r is exp(shift[r]) on all types, with noise. */
static struct order order_with(const struct sides *s, size_t types, bool turns, const double *shift, double noise, uint64_t seed)
{
	struct order_list list = { 0 };
	struct order order;
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t t = 0; t < types; t++) {
		const int64_t *numbers[2] = { s->repetition[0], s->repetition[1] };
		double values[2][MANY];
		const double *costs[2] = { values[0], values[1] };

		for (int side = 0; side < 2; side++) {
			for (size_t i = 0; i < s->n[side]; i++)
				values[side][i] = (double)(t + 1) * exp(shift[numbers[side][i]] + noise * rng_normal(&rng));
		}
		order_add(&list, t, turns, s->n, numbers, costs, false);
	}
	order = order_estimate(&list, types);
	order_release(&list);
	return order;
}

static const double none[MANY + 1];
static const double first_is_slow[MANY + 1] = { 0, .2 };

static void test_places(void **state)
{
	static const struct {
		const char *what;
		struct sides sides;
		bool turns, n_unpaired;
	} rows[] = {
		{ "the same repetitions", { { 3, 3 }, { { 1, 2, 3 }, { 1, 2, 3 } } }, false, false },
		{ "the same ones, otherwise ordered", { { 3, 3 }, { { 1, 2, 3 }, { 3, 1, 2 } } }, false, false },
		{ "after", { { 1, 2 }, { { 1 }, { 2, 3 } } }, false, true },
		{ "before", { { 2, 1 }, { { 2, 3 }, { 1 } } }, false, true },
		{ "in between", { { 1, 2 }, { { 2 }, { 1, 3 } } }, false, true },
		{ "more of them", { { 3, 2 }, { { 1, 2, 3 }, { 1, 2 } } }, false, true },
		{ "one in both", { { 2, 2 }, { { 1, 2 }, { 2, 3 } } }, false, true },
		{ "they took turns", { { 1, 2 }, { { 1 }, { 2, 3 } } }, true, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct order o = order_with(&rows[i].sides, TYPES, rows[i].turns, none, 0, 4);

		if (o.n_unpaired != (rows[i].n_unpaired ? TYPES : 0))
			fail_msg("%s: apart %zu", rows[i].what, o.n_unpaired);
		assert_true(o.error == 0 && o.spread == 0);
	}
}

/* Checks a slow repetition 1: its effect is seen if a side has other repetitions, too, and is added where the sides do not share it. */
static void test_common_effect(void **state)
{
	static const struct sides between = { { 1, 2 }, { { 2 }, { 1, 3 } } }, after = { { 1, 2 }, { { 1 }, { 2, 3 } } };
	struct order o = order_with(&between, TYPES, false, first_is_slow, 0, 4);
	size_t nothing = 0;

	(void)state;
	/* Deviations of +- .1 from the mean of two: variance .02 with one degree of freedom, of which the ratio contains 1/1 + 1/2. */
	assert_true(fabs(o.spread - sqrt(.02)) < 1e-7);
	assert_true(fabs(o.error - sqrt(.02 * 1.5)) < 1e-7 && o.df == 1);
	/* A side with only repetition 1 shows nothing, and the other side does not contain it. */
	assert_true(order_with(&after, TYPES, false, first_is_slow, 0, 4).error == 0);
	/* Two types, or sides with the same repetitions: nothing is added. */
	assert_true(order_with(&between, 2, false, first_is_slow, 0, 4).error == 0);
	assert_true(order_with(&between, TYPES, true, first_is_slow, 0, 4).error == 0);
	/* The noise of machines is subtracted, since the spread over types contains it already. */
	o = order_with(&between, TYPES, false, first_is_slow, .02, 4);
	assert_true(fabs(o.spread - sqrt(.02)) < .03);
	for (uint64_t seed = 0; seed < 40; seed++)
		nothing += order_with(&between, TYPES, false, none, .1, seed).spread == 0;
	assert_true(nothing > 15); /* out of 40: without an effect, the estimate is below 0 in more than half of the cases */
}

/* Checks that the cost is linear in the repetitions: for thousands of them, a cubic algorithm would take minutes. */
static void test_many(void **state)
{
	enum { LONG = 4000 };
	static int64_t numbers[2][LONG];
	static double costs[LONG];
	const int64_t *repetition[2] = { numbers[0], numbers[1] };
	const double *cost[2] = { costs, costs };
	const size_t n[2] = { LONG, LONG };
	struct order_list list = { 0 };
	struct order order;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 4);
	for (size_t i = 0; i < LONG; i++) {
		numbers[0][i] = (int64_t)i;
		numbers[1][i] = (int64_t)(i + LONG);
	}
	for (size_t t = 0; t < 3; t++) {
		for (size_t i = 0; i < LONG; i++)
			costs[i] = exp(.1 * rng_normal(&rng));
		order_add(&list, t, false, n, repetition, cost, false);
	}
	order = order_estimate(&list, 3);
	assert_true(order.n_unpaired == 3 && order.spread < .05);
	order_release(&list);
}

/* Checks against numpy and scipy, computed from the definition. */
static void test_interval(void **state)
{
	static const struct effect_pair pairs[] = {
		{ 0, .10, 0, 0, false }, { 1, .12, 0, 0, false }, { 2, .08, 0, 0, false }, { 3, .11, 0, 0, false }
	};
	const struct effect_common more = { .error = .02, .df = 2 };
	struct effect plain = effect_compute(pairs, 4, 4, &asked, NULL), wider = effect_compute(pairs, 4, 4, &asked, &more),
		      few = effect_compute(pairs, 2, 4, &asked, &more);

	(void)state;
	assert_true(wider.ratio == plain.ratio);
	assert_true(fabs(wider.low - 1.0297751367505323) < 1e-9 && fabs(wider.high - 1.1920321448395497) < 1e-9);
	assert_true(wider.minimum_detectable > plain.minimum_detectable);
	assert_true(isnan(few.low)); /* two types with unknown noise */
}

int suite_order(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_common_effect),
		cmocka_unit_test(test_interval),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
