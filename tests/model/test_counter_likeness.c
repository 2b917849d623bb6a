/* Stressors as points by their counters, and what looks like them. */
#include "model/profile/counter_likeness.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define STRESSORS 20
#define COUNTERS  5

/* Stressors 0-3 have many events of counter 1, 4-6 of counters 2 and 3; counter 4 is the same for all. */
static struct mat stressors(uint64_t seed)
{
	struct mat m = mat_new(STRESSORS, COUNTERS);
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t i = 0; i < STRESSORS; i++) {
		for (size_t c = 0; c < COUNTERS - 1; c++)
			mat_set(&m, i, c, -10 + .3 * rng_normal(&rng));
		mat_set(&m, i, 4, -3 + .01 * rng_normal(&rng));
		m.at[i * COUNTERS + 1] += i < 4 ? 6 : 0;
		m.at[i * COUNTERS + 2] += i >= 4 && i < 7 ? 4 : 0;
		m.at[i * COUNTERS + 3] += i >= 4 && i < 7 ? 5 : 0;
	}
	return m;
}

static struct counter_likeness_match match(const struct counter_likeness_space *s, const double *rates, size_t first, size_t last)
{
	double similarity[STRESSORS];
	bool member[STRESSORS] = { false };

	counter_likeness_similarities(s, rates, similarity);
	for (size_t i = 0; i < s->n; i++)
		member[i] = s->row[i] >= first && s->row[i] <= last;
	return counter_likeness_match_of(similarity, member, s->n);
}

static void test_groups(void **state)
{
	const double like_first[COUNTERS] = { -10, -3, -10, -10, 7 }, like_second[COUNTERS] = { -10, -10, -6, -5, -3 },
		     beyond[COUNTERS] = { -10, 9, -10, -10, -3 };
	struct mat m = stressors(1);
	struct counter_likeness_space s;
	struct counter_likeness_match found;

	(void)state;
	counter_likeness_space_of(&m, &s);
	assert_int_equal(s.n, STRESSORS);
	assert_int_equal(s.p, COUNTERS - 1); /* what is the same for all tells nothing */
	found = match(&s, like_first, 0, 3);
	assert_true(found.similarity > .8 && found.p < .002 && found.as_similar == 0);
	found = match(&s, beyond, 0, 3);
	assert_true(found.similarity > .8 && found.p < .002);
	found = match(&s, like_first, 4, 6);
	assert_true(found.similarity < .3 && found.p > .3 && found.as_similar >= 4);
	found = match(&s, like_second, 4, 6);
	assert_true(found.similarity > .8 && found.p < .005);
	found = match(&s, like_second, 4, 4); /* one of three that are alike */
	assert_true(found.p > .04 && found.p < .2);
	counter_likeness_space_release(&s);
	mat_release(&m);
}

/* Units of counters, and what comes first, change nothing. */
static void test_invariants(void **state)
{
	double rates[COUNTERS] = { -9, -5, -10, -8, -3 }, turned[COUNTERS], one[STRESSORS], other[STRESSORS];
	struct mat m = stressors(2), t = mat_new(STRESSORS, COUNTERS);
	struct counter_likeness_space a, b;

	(void)state;
	for (size_t c = 0; c < COUNTERS; c++) {
		turned[COUNTERS - 1 - c] = rates[c] + (double)c;
		for (size_t i = 0; i < STRESSORS; i++)
			mat_set(&t, STRESSORS - 1 - i, COUNTERS - 1 - c, mat_get(&m, i, c) + (double)c);
	}
	counter_likeness_space_of(&m, &a);
	counter_likeness_space_of(&t, &b);
	counter_likeness_similarities(&a, rates, one);
	counter_likeness_similarities(&b, turned, other);
	for (size_t i = 0; i < STRESSORS; i++)
		assert_true(fabs(one[i] - other[STRESSORS - 1 - i]) < 1e-8 && fabs(one[i]) <= 1);
	counter_likeness_space_release(&a);
	counter_likeness_space_release(&b);
	mat_release(&m);
	mat_release(&t);
}

static void test_what_is_missing(void **state)
{
	const double nan = (double)NAN, rates[COUNTERS] = { -10, -3, nan, -10, -3 }, nothing[COUNTERS] = { nan, nan, nan, nan, nan };
	struct mat m = stressors(3), empty = mat_new(STRESSORS, COUNTERS);
	double similarity[STRESSORS];
	struct counter_likeness_space s;

	(void)state;
	for (size_t i = 0; i < STRESSORS; i++) {
		if (i % 2)
			mat_set(&m, i, 0, nan); /* half of them lack it: it goes */
		for (size_t c = 0; c < COUNTERS; c++)
			mat_set(&empty, i, c, nan);
	}
	mat_set(&m, 9, 1, nan); /* one lacks it: that one goes */
	counter_likeness_space_of(&m, &s);
	assert_int_equal(s.p, 3);
	assert_int_equal(s.column[0], 1);
	assert_int_equal(s.n, STRESSORS - 1);
	assert_int_equal(s.row[9], 10);
	counter_likeness_similarities(&s, rates, similarity);
	assert_true(similarity[0] > .8);
	counter_likeness_similarities(&s, nothing, similarity);
	assert_true(similarity[0] == 0);
	counter_likeness_space_release(&s);
	counter_likeness_space_of(&empty, &s);
	assert_int_equal(s.n, 0);
	assert_int_equal(s.p, 0);
	counter_likeness_space_release(&s);
	mat_release(&m);
	mat_release(&empty);
}

/* Something that has nothing to do with any group: as often as p says. */
static void test_chance(void **state)
{
	const size_t trials = 400;
	size_t small = 0;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 9);
	for (size_t t = 0; t < trials; t++) {
		double similarity[STRESSORS];
		bool member[STRESSORS] = { [3] = true, [8] = true, [15] = true };

		for (size_t i = 0; i < STRESSORS; i++)
			similarity[i] = 2 * rng_double(&rng) - 1;
		small += counter_likeness_match_of(similarity, member, STRESSORS).p <= .05;
	}
	assert_in_range(small, 8, 34); /* 20 expected, sd 4.4 */
}

int suite_counter_likeness(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_invariants),
		cmocka_unit_test(test_what_is_missing),
		cmocka_unit_test(test_chance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
