/* Tests probabilistic bisection: without errors it is exact and needs as few questions as halving; with errors it is mostly right. */
#include "base/rng.h"
#include "gate/commands/cmd_bisect.c" /* the static functions of the bisection */

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define N 64

struct outcome {
	size_t questions, things; /* number of different builds that were tested */
	size_t from, to;
};

/* Searches for `truth`. `error_rate`: probability of wrong answers beyond the assumed one. `skip`: probability that a build is untestable.
 */
static struct outcome search_for(size_t truth, double error_rate, double skip, struct rng *rng)
{
	struct outcome o = { 0 };
	struct bisection b;

	bisection_init(&b, N, .05);
	for (size_t i = 0; i + 1 < N; i++)
		if (rng_double(rng) < skip)
			b.skipped[i] = true;
	while (bisection_best_range(&b, &o.from, &o.to) < .95 && o.questions < 100) {
		size_t at = bisection_next(&b);

		if (at == SIZE_MAX)
			break;
		o.things += !b.n_answers[at];
		o.questions++;
		bisection_update(&b, at, (at >= truth) != (rng_double(rng) < error_rate) ? 1 : 0);
	}
	bisection_release(&b);
	return o;
}

static void test_without_errors(void **state)
{
	struct rng rng;

	(void)state;
	rng_seed(&rng, 1);
	for (size_t truth = 0; truth < N; truth++) {
		struct outcome o = search_for(truth, 0, 0, &rng);

		assert_true(o.from == truth && o.to == truth);
		assert_in_range(o.things, 1, 7); /* at most nine builds with both ends */
		assert_in_range(o.questions, 1, 14);
	}
}

static void test_with_errors(void **state)
{
	size_t right = 0, questions = 0;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 2);
	for (int i = 0; i < 2000; i++) {
		size_t truth = (size_t)rng_below(&rng, N);
		struct outcome o = search_for(truth, .05, 0, &rng);

		right += o.from == truth && o.to == truth;
		questions += o.questions;
	}
	assert_in_range(right, 1880, 2000); /* .95 is requested: 1,900, minus a tolerance for chance */
	assert_in_range(questions, 2000 * 7, 2000 * 16);
}

static void test_skipped(void **state)
{
	size_t wide = 0;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 3);
	for (int i = 0; i < 500; i++) {
		size_t truth = (size_t)rng_below(&rng, N);
		struct outcome o = search_for(truth, 0, .3, &rng);

		assert_true(o.from <= truth && truth <= o.to);
		wide += o.to > o.from;
	}
	assert_in_range(wide, 50, 300); /* the change is next to a build that could not be tested */
}

static void test_one(void **state)
{
	struct bisection b;
	size_t from, to;

	(void)state;
	bisection_init(&b, 1, .05);
	assert_true(bisection_next(&b) == SIZE_MAX && bisection_best_range(&b, &from, &to) > .99 && from == 0 && to == 0);
	bisection_release(&b);
}

/* Checks that an inconclusive comparison counts by the position of its interval. A comparison on a disturbed machine does not count. */
static void test_undecided(void **state)
{
	static const struct {
		struct step step;
		double low, high; /* bounds of the probability of a slowdown above .14; both below 0: unknown */
	} cases[] = {
		{ { .decision = DECISION_REGRESSION, .ratio = 1.3, .low = 1.2, .high = 1.4, .level = .95 }, 1, 1 },
		{ { .decision = DECISION_PASS, .ratio = 1, .low = .98, .high = 1.02, .level = .95 }, 0, 0 },
		{ { .decision = DECISION_INCONCLUSIVE, .ratio = 1.3, .low = 1.02, .high = 1.65, .level = .95 }, .8, .95 },
		{ { .decision = DECISION_INCONCLUSIVE, .ratio = 1.14, .low = .8, .high = 1.6, .level = .95 }, .49, .51 },
		{ { .decision = DECISION_INCONCLUSIVE, .ratio = 1, .low = .85, .high = 1.18, .level = .95 }, .02, .1 },
		{ { .decision = DECISION_INCONCLUSIVE, .ratio = 1.3, .low = (double)NAN, .high = (double)NAN, .level = (double)NAN },
		  -1,
		  -1 },
		{ { .decision = DECISION_ENVIRONMENT, .ratio = 1.3, .low = 1.2, .high = 1.4, .level = .95 }, -1, -1 },
	};
	struct bisection b;
	size_t from, to;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double chance = probability_slower(&cases[i].step, .14);

		if (isnan(chance) ? cases[i].low >= 0 : !(chance >= cases[i].low && chance <= cases[i].high))
			fail_msg("%zu: %g", i, chance);
	}
	bisection_init(&b, 2, .05);
	for (int i = 0; i < 3; i++) /* three comparisons whose interval is above the threshold */
		bisection_update(&b, 0, probability_slower(&cases[2].step, .14));
	assert_true(bisection_best_range(&b, &from, &to) > .95 && from == 0 && to == 0);
	bisection_release(&b);
}

int suite_bisection(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_errors), cmocka_unit_test(test_with_errors),
		cmocka_unit_test(test_skipped),	       cmocka_unit_test(test_one),
		cmocka_unit_test(test_undecided),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
