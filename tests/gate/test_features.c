/* Tests columns of a fingerprint matrix: which are used and why others are not, duplicates, and groups. */
#include "tests/gate/made_up_machines.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const double even[MADE_FEATURES] = { 1 };

static void test_groups(void **state)
{
	struct profile_rows r = made_rows(14, even, 0, 3);
	struct features f;

	(void)state;
	features_select(&r.rates, r.type, r.types, &f);
	assert_int_equal(f.n, MADE_FEATURES);
	assert_int_equal(f.groups, 6);
	for (size_t j = 0; j < MADE_FEATURES; j++) {
		assert_int_equal(f.state[j], FEATURE_USED);
		assert_int_equal(f.group[f.distinct[j]], made_group[j]);
	}
	assert_true(f.effective_rank > 2.5 && f.effective_rank < 6.0);
	features_release(&f);
	profile_rows_release(&r);
}

static void test_states(void **state)
{
	struct profile_rows r = made_rows(5, even, 0, 4);
	struct features f;

	(void)state;
	mat_set(&r.rates, 7, 2, 0);
	mat_set(&r.rates, 8, 5, (double)NAN);
	for (size_t i = 0; i < r.rates.rows; i++) {
		mat_set(&r.rates, i, 9, 42);				  /* a constant column */
		mat_set(&r.rates, i, 10, 1000 * mat_get(&r.rates, i, 3)); /* a duplicate in another unit */
	}
	features_select(&r.rates, r.type, r.types, &f);
	assert_int_equal(f.state[2], FEATURE_MISSING);
	assert_int_equal(f.state[5], FEATURE_MISSING);
	assert_int_equal(f.state[9], FEATURE_CONSTANT);
	assert_int_equal(f.state[10], FEATURE_USED);
	assert_int_equal(f.distinct[10], f.distinct[3]);
	assert_int_equal(f.copies[f.distinct[3]], 2);
	assert_int_equal(f.n, MADE_FEATURES - 4);
	assert_true(f.distinct[2] == FEATURES_NONE);
	features_release(&f);
	profile_rows_release(&r);
}

/* Checks that a type's mean counts once, whatever the number of its rows, and that centred logs sum to zero over types. */
static void test_centre(void **state)
{
	double rates[] = { 1, 1, 1, 1, 8 };
	size_t type[] = { 0, 0, 0, 0, 1 };
	struct mat X = { 5, 1, rates };
	struct features f;
	double row;

	(void)state;
	features_select(&X, type, 2, &f);
	assert_true(fabs(f.centre[0] - .5 * log(8)) < 1e-12);
	assert_true(fabs(mat_get(&f.type_logs, 0, 0) + mat_get(&f.type_logs, 1, 0)) < 2e-9);
	features_convert_row(&f, &(double){ 8 }, &row);
	assert_true(row == mat_get(&f.logs, 4, 0));
	features_convert_row(&f, &(double){ 0 }, &row);
	assert_true(row == 0.0);
	features_release(&f);
}

int suite_features(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_groups), cmocka_unit_test(test_states), cmocka_unit_test(test_centre) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
