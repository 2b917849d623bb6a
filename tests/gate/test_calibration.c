/* Tests the calibration of decisions: replayed pairs with simulated noise, the stored calibration, and the quotes from it. */
#include "gate/nightly/replay.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MACHINES    4
#define REPETITIONS 64

/* Makes repetitions on a few machines, with relative noise `noise` and a relative slowdown `slower`. */
static void make(struct run_set *set, const char *version, double slower, double noise, uint64_t seed)
{
	struct rng rng;

	rng_seed(&rng, seed);
	*set = (struct run_set){ .application = mem_string("app"),
				 .version = mem_string(version),
				 .items = mem_new(MACHINES * REPETITIONS, sizeof(struct run)) };
	for (int m = 0; m < MACHINES; m++) {
		for (int64_t r = 1; r <= REPETITIONS; r++) {
			double s = .1 * (1 + m) * (1 + slower) * exp(noise * rng_normal(&rng));

			set->items[set->n++] = (struct run){ .machine = mem_format("m%d", m),
							     .repetition = r,
							     .recorded = 1,
							     .metric = s,
							     .plan = "p",
							     .usage = { (int64_t)(s * 1e9), (int64_t)(s * 1e6), 0 },
							     .withheld_ns = { 0, -1, -1, -1, -1 } };
			set->items[set->n - 1].metric = (double)set->items[set->n - 1].usage.wall_ns / 1e9;
		}
	}
}

static struct replay_counts replayed(double slower, bool identical)
{
	static const struct evidence evidence;
	static const struct lab_config config;
	struct run_set sets[2];
	struct replay replay = {
		.sides = { &sets[0], &sets[1] }, .repetitions = REPETITIONS, .first = 4, .min_effect = .03, .identical = identical
	};
	struct replay_counts c;
	struct rng rng;

	make(&sets[0], "v", 0, .01, 1);
	make(&sets[1], "w", slower, .01, 2);
	rng_seed(&rng, 3);
	assert_true(replay_pairs(&evidence, &config, &replay, 40, &rng, &c));
	run_set_release(&sets[0]);
	run_set_release(&sets[1]);
	return c;
}

static void test_replay(void **state)
{
	struct replay_counts same = replayed(0, true), slower = replayed(.1, false), faster = replayed(-.1, false);

	(void)state;
	assert_true(same.pairs == 40 && same.distinct == REPETITIONS / 32);
	assert_int_equal(same.decision[DECISION_PASS], 40);
	assert_int_equal(slower.decision[DECISION_REGRESSION], 40);
	assert_int_equal(slower.confirmed[DECISION_REGRESSION], 40);
	assert_true(slower.mean_repetitions >= 4 && slower.mean_repetitions <= 32);
	assert_int_equal(faster.decision[DECISION_IMPROVED], 40);
	assert_int_equal(faster.confirmed[DECISION_IMPROVED], 40);
	assert_int_equal(faster.confirmed[DECISION_REGRESSION], 0);
}

/* Checks a slowdown below the smallest effect that matters. Intervals of early interim analyses are wide, but none of them reports it. */
static void test_early_looks(void **state)
{
	struct replay_counts slower = replayed(.025, false), faster = replayed(1 / 1.025 - 1, false);

	(void)state;
	assert_int_equal(slower.decision[DECISION_REGRESSION], 0);
	assert_true(slower.mean_repetitions > 8);
	assert_int_equal(faster.decision[DECISION_IMPROVED], 0);
}

static void test_too_few(void **state)
{
	static const struct evidence evidence;
	static const struct lab_config config;
	struct run_set set;
	struct replay_counts c;
	struct replay replay = { .sides = { &set, &set }, .repetitions = REPETITIONS, .first = REPETITIONS / 2 + 1, .min_effect = .03 };
	struct rng rng;

	(void)state;
	make(&set, "v", 0, .01, 1);
	rng_seed(&rng, 3);
	assert_false(replay_pairs(&evidence, &config, &replay, 1, &rng, &c));
	run_set_release(&set);
}

#define COUNTS(called)                                                                                                                     \
	"{\"pairs\": 120, \"resampled\": 110, \"pass\": 118, \"improved\": 2, \"regression\": " called                                     \
	", \"inconclusive\": 1, \"environment\": 0, \"seen_again\": 0, \"improved_again\": 1, \"repetitions\": 7.5"
#define ENTRY(name, called)                                                                                                                \
	"{\"application\": \"" name                                                                                                        \
	"\", \"version\": \"v\", \"plan\": \"p\", \"taken_ms\": 86400000, \"repetitions\": 40, \"min_effect\": 0.03, \"waited\": null, "   \
	"\"machines\": [\"m1\", \"m2\"], \"identical\": " COUNTS(called) "}, \"planted\": [" COUNTS(                                       \
	    "117") ", \"kind\": \"cpu\", \"percent\": 5, \"measured\": 0.051}]}"

static void test_text(void **state)
{
	static const char text[] = "{\"applications\": [" ENTRY("a", "1") ", " ENTRY("b", "0") "]}";
	struct calibration c, again;
	struct assay_error err;
	char *first, *second;

	(void)state;
	assert_int_equal(calibration_parse("c", text, strlen(text), &c, &err), ASSAY_OK);
	assert_true(c.n == 2 && c.items[0].identical.distinct == 10 && isnan(c.items[0].run_delay_share) && c.items[1].n_machines == 2);
	first = calibration_to_json(&c);
	assert_int_equal(calibration_parse("c", first, strlen(first), &again, &err), ASSAY_OK);
	second = calibration_to_json(&again);
	assert_string_equal(first, second);
	free(first);
	free(second);
	calibration_release(&again);
	calibration_release(&c);
}

/* Checks a quote. Counts of an application that was calibrated are those of its entry; other applications have the sum of both entries. */
static void expect_quote(const struct calibration *c, const char *application, char *machine, double days, int64_t entries,
			 const char *stale)
{
	struct calibration_quote q = calibration_quote_make(c, application, &machine, 1, (int64_t)((1 + days) * 86400000), 30);
	bool own = entries == 1;

	assert_true(q.is_application_specific == own && q.taken_ms == 86400000 && q.identical == 120 * entries &&
		    q.distinct == 10 * entries);
	assert_true(q.slower == 1 && q.percent == 5 && q.injected == 120 * entries);
	assert_true(!own || (q.faster == 2 && q.found == 117));
	assert_non_null(*stale ? strstr(q.stale, stale) : *q.stale ? NULL : q.stale);
	free(q.stale);
}

static void test_quote(void **state)
{
	static const char text[] = "{\"applications\": [" ENTRY("a", "1") ", " ENTRY("b", "0") "]}";
	char m1[] = "m1", m3[] = "m3";
	struct calibration c, none = { NULL, 0 };
	struct assay_error err;
	struct calibration_quote quote = calibration_quote_make(&none, "a", NULL, 0, 0, 30);

	(void)state;
	assert_true(!quote.identical && !quote.stale);
	assert_int_equal(calibration_parse("c", text, strlen(text), &c, &err), ASSAY_OK);
	expect_quote(&c, "a", m1, 1, 1, "");
	expect_quote(&c, "z", m1, 1, 2, "");
	expect_quote(&c, "a", m1, 31, 1, "older than allowed");
	expect_quote(&c, "a", m3, 1, 1, "'m3' was not among its machines");
	calibration_release(&c);
}

int suite_calibration(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replay), cmocka_unit_test(test_early_looks), cmocka_unit_test(test_too_few),
		cmocka_unit_test(test_text),   cmocka_unit_test(test_quote),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
