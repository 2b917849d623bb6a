/* Tests the walk down the ranking, as published, on synthetic profiles. */
#include "base/mem.h"
#include "tests/bench/walk.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const char *abcd[] = { "a", "b", "c", "d" };
static const char *bcde[] = { "b", "c", "d", "e" };

static void test_where_it_stops(void **state)
{
	static const struct {
		const char *what;
		double baseline[4], candidate[4], epsilon;
		size_t stopped; /* step at which the walk stopped; 4: it did not stop */
		const char *at;
		double distance;
		enum decision decision;
	} rows[] = {
		{ "the same", { 10, 100, 50, 0 }, { 10, 100, 50, 0 }, 0, 4, NULL, 0, DECISION_PASS },
		{ "within epsilon", { 10, 100, 50, 0 }, { 19, 100, 41, 9 }, 10, 4, NULL, 9, DECISION_PASS },
		{ "exactly epsilon is within", { 10, 100, 50, 0 }, { 20, 100, 50, 0 }, 10, 4, NULL, 10, DECISION_PASS },
		{ "the most important", { 10, 100, 50, 0 }, { 10, 80, 100, 0 }, 10, 0, "b", 50, DECISION_REGRESSION },
		{ "the second of the ranking, though a later one differs more",
		  { 10, 100, 50, 0 },
		  { 10, 100, 70, 60 },
		  10,
		  1,
		  "c",
		  60,
		  DECISION_REGRESSION },
		{ "the last", { 10, 100, 50, 0 }, { 10, 100, 50, 11 }, 10, 3, "d", 11, DECISION_REGRESSION },
		{ "a larger epsilon lets it pass", { 10, 100, 50, 0 }, { 10, 100, 70, 60 }, 60, 4, NULL, 60, DECISION_PASS },
		{ "a uniform slowdown changes no importance", { 30, 100, 30, 30 }, { 30, 100, 30, 30 }, 10, 4, NULL, 0, DECISION_PASS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double points[2][4];
		struct walk_profile a = { abcd, points[0], 4 }, b = { abcd, points[1], 4 };
		struct walk walk;

		memcpy(points[0], rows[i].baseline, sizeof(points[0]));
		memcpy(points[1], rows[i].candidate, sizeof(points[1]));
		walk_of(&a, &b, rows[i].epsilon, &walk);
		print_message("%s\n", rows[i].what);
		assert_int_equal(walk.n, 4);
		assert_int_equal(walk.stopped, rows[i].stopped);
		assert_true(fabs(walk.distance - rows[i].distance) < 1e-12);
		assert_int_equal(walk.decision, rows[i].decision);
		if (rows[i].at)
			assert_string_equal(walk.steps[walk.stopped].feature, rows[i].at);
		walk_release(&walk);
	}
}

/* Checks the order of steps: by the baseline's points, then by name. */
static void test_order(void **state)
{
	double points[] = { 7, 100, 7, 40 }, none[4] = { 0 };
	struct walk_profile a = { abcd, points, 4 }, b = { abcd, none, 4 };
	struct walk walk;

	(void)state;
	walk_of(&a, &b, 10, &walk);
	assert_string_equal(walk.steps[0].feature, "b");
	assert_string_equal(walk.steps[1].feature, "d");
	assert_string_equal(walk.steps[2].feature, "a");
	assert_string_equal(walk.steps[3].feature, "c");
	walk_release(&walk);
}

/* Checks that a stressor that a profile lacks has no importance there. */
static void test_other_stressors(void **state)
{
	double points[2][4] = { { 60, 100, 3, 2 }, { 100, 3, 2, 40 } };
	struct walk_profile a = { abcd, points[0], 4 }, b = { bcde, points[1], 4 };
	struct walk walk;

	(void)state;
	walk_of(&a, &b, 50, &walk);
	assert_int_equal(walk.n, 5);
	assert_string_equal(walk.steps[walk.stopped].feature, "a");
	assert_true(fabs(walk.distance - 60) < 1e-12);
	assert_string_equal(walk.steps[4].feature, "e");
	assert_true(walk.steps[4].baseline == 0 && fabs(walk.steps[4].candidate - 40) < 1e-12);
	walk_release(&walk);
}

/* Checks that release zeroes a profile, and may be repeated. */
static void test_profile_release(void **state)
{
	struct walk_profile profile = { mem_new(1, sizeof(char *)), mem_new(1, sizeof(double)), 1 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		walk_profile_release(&profile);
		assert_true(!profile.features && !profile.points && profile.n == 0);
	}
}

int suite_walk(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_where_it_stops),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_other_stressors),
		cmocka_unit_test(test_profile_release),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
