/* Tests whether a change is uniform or follows another resource: the rule on data without noise, and its error rates with noise. */
#include "base/rng.h"
#include "gate/decide/effect.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct effect_request asked = { .03, EFFECT_LEVEL };

#define TYPES  10
#define ROUNDS 200

/* Returns the shape of ratio = 1 + all + extra * (time on a resource that differs between types). Noise 0 means that it is unknown. */
static enum effect_pattern say(struct rng *rng, double all, double extra, double noise, size_t types)
{
	struct effect_pair pairs[TYPES];
	struct effect e;

	for (size_t t = 0; t < types; t++)
		pairs[t] = (struct effect_pair){ t, log(1 + all + extra * exp(.5 * rng_normal(rng))) + noise * rng_normal(rng), noise,
						 noise > 0 ? 4 : 0, false };
	e = effect_compute(pairs, types, types, &asked, NULL);
	return effect_pattern_classify(&e);
}

static const struct {
	double all, extra;
	enum effect_pattern effect_pattern;
	size_t least;
} rows[] = {
	{ 0, 0, PATTERN_NO_CHANGE, ROUNDS * 85 / 100 },	       { .2, 0, PATTERN_UNIFORM, ROUNDS * 88 / 100 },
	{ -.2, 0, PATTERN_UNIFORM, ROUNDS * 88 / 100 },	       { 0, .5, PATTERN_OTHER_RESOURCE, ROUNDS * 98 / 100 },
	{ .3, .5, PATTERN_OTHER_RESOURCE, ROUNDS * 95 / 100 },
};

static void test_without_doubt(void **state)
{
	struct rng rng;

	(void)state;
	rng_seed(&rng, 11);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_string_equal(effect_pattern_code(say(&rng, rows[i].all, rows[i].extra, 1e-3, TYPES)),
				    effect_pattern_code(rows[i].effect_pattern));
		assert_int_equal(say(&rng, rows[i].all, rows[i].extra, 0, TYPES), PATTERN_NOT_TESTED); /* the noise is unknown */
		assert_int_equal(say(&rng, rows[i].all, rows[i].extra, 1e-3, 1), PATTERN_NOT_TESTED);
	}
}

/* Checks rates with noise of 2 %. docs/evidence/statistics.md has the rates on recorded machines. */
static void test_rates(void **state)
{
	struct rng rng;

	(void)state;
	rng_seed(&rng, 14);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t right = 0;

		for (size_t k = 0; k < ROUNDS; k++)
			right += say(&rng, rows[i].all, rows[i].extra, .02, TYPES) == rows[i].effect_pattern;
		print_message("%s: %zu of %d\n", effect_pattern_code(rows[i].effect_pattern), right, ROUNDS);
		assert_true(right >= rows[i].least);
	}
}

int suite_shape(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_without_doubt), cmocka_unit_test(test_rates) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
