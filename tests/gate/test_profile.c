/* Tests properties of profiles that hold for all data. */
#include "tests/gate/made_up_machines.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const double two[MADE_FEATURES] = { [1] = .7, [7] = .3 };
static const double small_third[MADE_FEATURES] = { [1] = .65, [7] = .28, [9] = .07 };
static const struct profile_options options = { 40, 1, 1 };

static const struct profile_group *group_of(const struct profile *p, const char *feature)
{
	for (size_t g = 0; g < p->n_groups; g++) {
		for (size_t i = 0; i < p->groups[g].n; i++) {
			if (strcmp(p->rows->features[p->groups[g].members[i]], feature) == 0)
				return &p->groups[g];
		}
	}
	return NULL;
}

static bool has_reason(const struct profile *p, const char *code)
{
	for (size_t i = 0; i < p->n_reasons; i++) {
		if (strcmp(p->reasons[i].code, code) == 0)
			return true;
	}
	return false;
}

/* Checks that a group's rank is one more than the number of groups with a larger share, counting only shares above a tenth. */
static void assert_ranks(const struct profile *p, size_t ranked)
{
	assert_int_equal(p->n_ranked, ranked);
	for (size_t g = 0; g < p->n_groups; g++) {
		size_t larger = 0;

		for (size_t k = 0; k < p->n_groups; k++)
			larger += p->groups[k].share >= .1 && p->groups[k].share > p->groups[g].share ? 1 : 0;
		assert_int_equal(p->groups[g].rank, larger + 1);
	}
}

static void test_sums_to_one(void **state)
{
	struct profile_rows r = made_rows(12, two, .02, 11);
	struct profile p;
	double sum, importance = 0.0, first = 0.0;

	(void)state;
	profile_compute(&r, &options, &p);
	sum = p.shares.share[p.shares.groups];
	for (size_t g = 0; g < p.n_groups; g++) {
		const struct profile_group *group = &p.groups[g];

		assert_true(group->low <= group->share && group->share <= group->high);
		assert_true(group->least <= group->share && group->share <= group->most);
		sum += group->share;
		importance += group->importance;
		first += group->first;
	}
	assert_true(fabs(sum - 1.0) < 1e-12);
	assert_true(fabs(importance - 1.0) < 1e-12);
	assert_true(fabs(first - 1.0) < 1e-12);
	for (size_t t = 0; t < r.types; t++) {
		sum = 0.0;
		for (size_t g = 0; g <= p.shares.groups; g++)
			sum += mat_get(&p.shares.by_type, t, g);
		assert_true(fabs(sum - 1.0) < 1e-12);
	}
	assert_string_equal(p.groups[0].name, "cpu: bsearch, cpu and 2 more");
	assert_int_equal(p.verdict, PROFILE_TRUSTED);
	assert_true(p.n_groups > 3);
	assert_ranks(&p, 2);
	profile_release(&p);
	profile_rows_release(&r);
}

/* Checks a group that is found but too small to be ranked. */
static void test_small_share(void **state)
{
	struct profile_rows r = made_rows(16, small_third, .0, 11);
	struct profile p;

	(void)state;
	profile_compute(&r, &options, &p);
	assert_true(p.groups[2].share > .03 && p.groups[2].share < .1);
	assert_ranks(&p, 2);
	profile_release(&p);
	profile_rows_release(&r);
}

/* Checks equal cost everywhere: the constant explains it, no group has a notable share, and all are tied. */
static void test_nothing_ranked(void **state)
{
	struct profile_rows r = made_rows(9, two, .02, 18);
	struct profile p;

	(void)state;
	for (size_t i = 0; i < r.rates.rows; i++)
		r.cost[i] = 1.0;
	profile_compute(&r, &options, &p);
	assert_ranks(&p, 0);
	assert_int_equal(p.groups[p.n_groups - 1].rank, 1);
	profile_release(&p);
	profile_rows_release(&r);
}

/* Checks that all numbers are equal bit by bit. */
static void assert_same(const struct profile *a, const struct profile *b)
{
	assert_int_equal(a->n_groups, b->n_groups);
	assert_memory_equal(a->shares.share, b->shares.share, (a->n_groups + 1) * sizeof(double));
	assert_memory_equal(a->shares.low, b->shares.low, (a->n_groups + 1) * sizeof(double));
	assert_memory_equal(a->shares.high, b->shares.high, (a->n_groups + 1) * sizeof(double));
	assert_memory_equal(a->shares.least, b->shares.least, a->n_groups * sizeof(double));
	assert_memory_equal(a->shares.most, b->shares.most, a->n_groups * sizeof(double));
	assert_memory_equal(a->shares.first, b->shares.first, a->n_groups * sizeof(double));
	assert_memory_equal(a->importance, b->importance, a->rows->rates.cols * sizeof(double));
	assert_memory_equal(&a->validation.mape, &b->validation.mape, sizeof(double));
	assert_memory_equal(&a->validation.q2, &b->validation.q2, sizeof(double));
	assert_int_equal(a->verdict, b->verdict);
}

static void test_threads(void **state)
{
	struct profile_rows r = made_rows(9, two, .02, 12);
	struct profile one, many;

	(void)state;
	profile_compute(&r, &options, &one);
	profile_compute(&r, &(struct profile_options){ 40, 1, 7 }, &many);
	assert_same(&one, &many);
	profile_release(&one);
	profile_release(&many);
	profile_rows_release(&r);
}

/* Checks that the units of the cost and of a stressor do not matter. */
static void test_units(void **state)
{
	struct profile_rows r = made_rows(9, two, .02, 13), scaled = made_rows(9, two, .02, 13);
	struct profile a, b;

	(void)state;
	for (size_t i = 0; i < r.rates.rows; i++) {
		scaled.cost[i] *= 3600.0;
		mat_set(&scaled.rates, i, 1, mat_get(&r.rates, i, 1) / 1024.0);
	}
	profile_compute(&r, &options, &a);
	profile_compute(&scaled, &options, &b);
	for (size_t g = 0; g <= a.n_groups; g++)
		assert_true(fabs(a.shares.share[g] - b.shares.share[g]) < 1e-7);
	assert_true(fabs(a.validation.mape - b.validation.mape) < 1e-7);
	assert_int_equal(a.verdict, b.verdict);
	profile_release(&a);
	profile_release(&b);
	profile_rows_release(&r);
	profile_rows_release(&scaled);
}

/* Checks that a duplicate of a stressor changes no group's share. */
static void test_twice(void **state)
{
	struct profile_rows r = made_rows(9, two, .02, 14), wide = made_rows(9, two, .02, 14);
	struct profile a, b;

	(void)state;
	mat_release(&wide.rates);
	wide.rates = mat_new(r.rates.rows, MADE_FEATURES + 1);
	wide.features = mem_resize(wide.features, MADE_FEATURES + 1, sizeof(char *));
	wide.features[MADE_FEATURES] = "zero";
	for (size_t i = 0; i < r.rates.rows; i++) {
		for (size_t j = 0; j < MADE_FEATURES; j++)
			mat_set(&wide.rates, i, j, mat_get(&r.rates, i, j));
		mat_set(&wide.rates, i, MADE_FEATURES, mat_get(&r.rates, i, 1));
	}
	profile_compute(&r, &options, &a);
	profile_compute(&wide, &options, &b);
	assert_int_equal(a.n_groups, b.n_groups);
	assert_ptr_equal(group_of(&b, "zero"), group_of(&b, "cpu"));
	for (size_t j = 0; j < MADE_FEATURES; j++) {
		const struct profile_group *x = group_of(&a, made_names[j]), *y = group_of(&b, made_names[j]);

		assert_true(fabs(x->share - y->share) < 1e-9 && fabs(x->importance - y->importance) < 1e-9);
		assert_true(fabs(x->low - y->low) < 1e-9 && fabs(x->most - y->most) < 1e-9);
	}
	assert_true(b.importance[MADE_FEATURES] == b.importance[1]);
	profile_release(&a);
	profile_release(&b);
	profile_rows_release(&r);
	profile_rows_release(&wide);
}

/* Checks that neither a cost twice as large everywhere nor many more repetitions on one type changes the profile. */
static void test_types_weigh_equally(void **state)
{
	struct profile_rows r = made_rows(9, two, .02, 15), more = made_rows(9, two, .02, 15);
	size_t rows = r.rates.rows, extra = 4 * MADE_REPEATS;
	struct profile a, b;

	(void)state;
	more.rates.at = mem_resize(more.rates.at, (rows + extra) * MADE_FEATURES, sizeof(double));
	more.cost = mem_resize(more.cost, rows + extra, sizeof(double));
	more.type = mem_resize(more.type, rows + extra, sizeof(size_t));
	for (size_t i = 0; i < extra; i++) {
		memcpy(&more.rates.at[(rows + i) * MADE_FEATURES], &more.rates.at[i % MADE_REPEATS * MADE_FEATURES],
		       MADE_FEATURES * sizeof(double));
		more.cost[rows + i] = more.cost[i % MADE_REPEATS];
		more.type[rows + i] = 0;
	}
	more.rates.rows = rows + extra;
	profile_compute(&r, &options, &a);
	profile_compute(&more, &options, &b);
	for (size_t g = 0; g <= a.n_groups; g++)
		assert_true(fabs(a.shares.share[g] - b.shares.share[g]) < 1e-6);
	profile_release(&a);
	profile_release(&b);
	profile_rows_release(&r);
	profile_rows_release(&more);
}

static void test_refusals(void **state)
{
	static const struct {
		size_t types;
		enum profile_verdict at_least;
		bool fitted;
	} rows[] = { { 1, PROFILE_NOT_IDENTIFIABLE, false },
		     { 2, PROFILE_NOT_IDENTIFIABLE, false },
		     { 3, PROFILE_NOT_IDENTIFIABLE, false },
		     { 4, PROFILE_INDICATIVE, true },
		     { 8, PROFILE_INDICATIVE, true } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct profile_rows r = made_rows(rows[i].types, two, .02, 16);
		struct profile p;

		profile_compute(&r, &options, &p);
		assert_true(p.verdict >= rows[i].at_least);
		assert_int_equal(p.fitted, rows[i].fitted);
		assert_true(has_reason(&p, "too_few_types"));
		profile_release(&p);
		profile_rows_release(&r);
	}
}

/* Checks a cost that is equal everywhere, and one that is unrelated to the stressors. */
static void test_nothing_to_infer(void **state)
{
	struct profile_rows flat = made_rows(10, two, .02, 17), random = made_rows(10, two, .02, 17);
	struct profile a, b;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 5);
	for (size_t i = 0; i < flat.rates.rows; i++)
		flat.cost[i] = exp(.01 * rng_normal(&rng));
	for (size_t t = 0; t < 10; t++) {
		double cost = exp(rng_normal(&rng));

		for (size_t k = 0; k < MADE_REPEATS; k++)
			random.cost[t * MADE_REPEATS + k] = cost;
	}
	profile_compute(&flat, &options, &a);
	profile_compute(&random, &options, &b);
	assert_int_equal(a.verdict, PROFILE_NOT_IDENTIFIABLE);
	assert_true(has_reason(&a, "range_below_noise"));
	assert_true(b.verdict != PROFILE_TRUSTED);
	assert_true(has_reason(&b, "q2_low"));
	profile_release(&a);
	profile_release(&b);
	profile_rows_release(&flat);
	profile_rows_release(&random);
}

int suite_profile(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums_to_one),
		cmocka_unit_test(test_small_share),
		cmocka_unit_test(test_nothing_ranked),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_types_weigh_equally),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_nothing_to_infer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
