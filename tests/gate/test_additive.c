/* Tests the additive time model, boosted stumps with shared ties, and their blend. */
#include "model/profile/additive.c" /* BEAM, the number of models that are extended */
#include "model/profile/blend.c"    /* the static functions of stumps */
#include "model/profile/shares.h"
#include "tests/gate/made_up_machines.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const double two[MADE_FEATURES] = { [1] = .7, [7] = .3 };
static const double ones[20] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

static struct blend_data data_of(struct profile_rows *r)
{
	struct blend_data d;

	blend_data_init(&r->rates, r->cost, r->type, r->types, &d);
	return d;
}

/* Checks that each model is the least squares solution over its columns, and that its error is that of refits without each type. */
static void test_models_are_minima(void **state)
{
	struct profile_rows r = made_rows(8, two, .03, 5);
	struct blend_data d = data_of(&r);
	struct additive fit;

	(void)state;
	additive_fit(&d.sums, ones, ADDITIVE_SIZE_MAX, &fit);
	assert_true(fit.n > 50);
	for (size_t i = 0; i < fit.n; i++) {
		const struct additive_model *m = &fit.models[i];

		assert_true(m->held_out_error > 0.0 && m->held_out_error < 2.0);
		for (size_t a = 0; a < m->size; a++) {
			double gradient = 0.0, scale = 0.0;

			assert_true(m->w[a] > 0.0);
			for (size_t t = 0; t < 8; t++) {
				gradient += mat_get(&d.sums.h, t, m->col[a]);
				scale += mat_get(&d.sums.h, t, m->col[a]);
				for (size_t b = 0; b < m->size; b++)
					gradient -= mat_get(&d.sums.G[t], m->col[a], m->col[b]) * m->w[b];
			}
			assert_true(fabs(gradient) < 1e-8 * scale);
		}
	}
	additive_release(&fit);
	blend_data_release(&d);
	profile_rows_release(&r);
}

static bool has_both(const struct additive_model *m, const struct additive_model *pair)
{
	size_t found = 0;

	for (size_t i = 0; i < m->size; i++)
		found += m->col[i] == pair->col[0] || m->col[i] == pair->col[1];
	return found == 2;
}

/* Checks that models of three columns are grown from the BEAM_WIDTH models of two columns with the smallest errors, and from no others. */
static void test_best_are_grown(void **state)
{
	static const double all[MADE_FEATURES] = { .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1 };
	struct profile_rows r = made_rows(14, all, .03, 5);
	struct blend_data d = data_of(&r);
	size_t pairs = 0, from = 0, threes = 0;
	struct additive fit;

	(void)state;
	additive_fit(&d.sums, ones, 3, &fit);
	for (size_t i = 0; i < fit.n; i++) {
		from += fit.models[i].size == 1;
		pairs += fit.models[i].size == 2;
		threes += fit.models[i].size == 3;
	}
	assert_true(pairs > BEAM_WIDTH + 5 && threes > BEAM_WIDTH);
	for (size_t i = from; i + 1 < from + pairs; i++)
		assert_true(fit.models[i].held_out_error <= fit.models[i + 1].held_out_error);
	for (size_t k = from + pairs; k < fit.n; k++) {
		bool of_a_best = false;

		for (size_t i = from; i < from + BEAM_WIDTH; i++)
			of_a_best = of_a_best || has_both(&fit.models[k], &fit.models[i]);
		assert_true(of_a_best);
	}
	additive_release(&fit);
	blend_data_release(&d);
	profile_rows_release(&r);
}

/* Checks the error of one-column models against a computation from the definition. */
static void test_left_out(void **state)
{
	struct profile_rows r = made_rows(7, two, .05, 6);
	struct blend_data d = data_of(&r);
	struct additive fit;

	(void)state;
	additive_fit(&d.sums, ones, 1, &fit);
	assert_int_equal(fit.n, d.sums.cols);
	for (size_t i = 0; i < fit.n; i++) {
		size_t k = fit.models[i].col[0];
		double sum = 0.0;

		for (size_t left = 0; left < 7; left++) {
			double g = 0.0, h = 0.0;

			for (size_t t = 0; t < 7; t++) {
				g += t == left ? 0.0 : mat_get(&d.sums.G[t], k, k);
				h += t == left ? 0.0 : mat_get(&d.sums.h, t, k);
			}
			sum += fmin(fabs(log(h / g * mat_get(&d.sums.h, left, k))), 2.0) / 7.0;
		}
		assert_true(fabs(fit.models[i].held_out_error - sum) < 1e-9);
	}
	additive_release(&fit);
	blend_data_release(&d);
	profile_rows_release(&r);
}

/* Checks that the cost of a type with weight 0 has no influence on the fit. */
static void test_left_out_type_is_not_seen(void **state)
{
	struct profile_rows r = made_rows(8, two, .03, 7), other = made_rows(8, two, .03, 7);
	double count[8] = { 1, 1, 1, 0, 1, 1, 1, 1 }, logs[MADE_FEATURES] = { 0 };
	struct blend_choice choices[2];
	struct blend_data d[2];
	struct blend blend[2];

	(void)state;
	for (size_t k = 0; k < MADE_REPEATS; k++)
		other.cost[3 * MADE_REPEATS + k] *= 10.0;
	d[0] = data_of(&r);
	d[1] = data_of(&other);
	for (size_t i = 0; i < 2; i++) {
		blend_choose(&d[i], count, &choices[i]);
		blend_fit(&d[i], count, &choices[i], &blend[i]);
	}
	assert_true(fabs(choices[0].stumps - choices[1].stumps) < 1e-6);
	assert_true(
	    fabs(blend_predict(&blend[0], logs) + log(d[0].sums.y_scale) - blend_predict(&blend[1], logs) - log(d[1].sums.y_scale)) < 1e-6);
	for (size_t i = 0; i < 2; i++) {
		blend_release(&blend[i]);
		blend_data_release(&d[i]);
	}
	profile_rows_release(&r);
	profile_rows_release(&other);
}

/* Checks that a type's own cost does not influence its predictions. */
static void test_validation_does_not_peep(void **state)
{
	struct profile_rows r = made_rows(8, two, .03, 18), other = made_rows(8, two, .03, 18);
	struct blend_validation v[2];
	struct blend_data d[2];

	(void)state;
	for (size_t k = 0; k < MADE_REPEATS; k++)
		other.cost[5 * MADE_REPEATS + k] *= 10.0;
	d[0] = data_of(&r);
	d[1] = data_of(&other);
	for (size_t i = 0; i < 2; i++)
		blend_validate(&d[i], 1, &v[i]);
	for (size_t k = 5 * MADE_REPEATS; k < 6 * MADE_REPEATS; k++)
		assert_true(fabs(v[0].predicted[k] + log(d[0].sums.y_scale) - v[1].predicted[k] - log(d[1].sums.y_scale)) < 1e-6);
	for (size_t i = 0; i < 2; i++) {
		blend_validation_release(&v[i]);
		blend_data_release(&d[i]);
	}
	profile_rows_release(&r);
	profile_rows_release(&other);
}

/* Checks that an exactly additive cost is found, with its shares, and predicted for types that were held out. */
static void test_finds_the_truth(void **state)
{
	struct profile_rows r = made_rows(14, two, 0, 8);
	struct blend_data d = data_of(&r);
	struct shares_options options = { 20, 1, 2 };
	struct blend_validation v;
	struct blend_choice choice;
	struct blend blend;
	struct shares s;

	(void)state;
	blend_validate(&d, 2, &v);
	assert_true(v.mape < .05);
	assert_true(v.q2 > .98);
	blend_choose(&d, ones, &choice);
	blend_fit(&d, ones, &choice, &blend);
	shares_compute(&d, &blend, NULL, .01, &options, &s);
	assert_true(s.share[0] > s.share[2] && s.share[2] > .15);
	assert_true(s.share[0] + s.share[2] > .9);
	assert_true(s.least[0] > .3 && s.most[2] < .6);
	shares_release(&s);
	blend_release(&blend);
	blend_validation_release(&v);
	blend_data_release(&d);
	profile_rows_release(&r);
}

/* Checks that features that split equally well share prediction and credit. */
static void test_stumps(void **state)
{
	double rates[] = { 1, 1, 5, 1, 1.2, 1, 2, 2, 3, 2, 2.5, 9 }; /* columns 0 and 1 split alike, column 2 does not */
	size_t type[] = { 0, 1, 2, 3 };
	struct mat X = { 4, 3, rates };
	double y[] = { 2, 2, 0, 0 }, low[] = { -.3, -.3, 0 }, high[] = { .3, .3, 0 }, torn[] = { -.3, .3, 0 }, left;
	struct features f;
	struct stumps s;

	(void)state;
	features_select(&X, type, 4, &f);
	assert_int_equal(f.groups, 3);
	stumps_fit(&f, y, ones, &s);
	assert_true(fabs(s.importance[0] - .5) < 1e-12 && fabs(s.importance[1] - .5) < 1e-12);
	assert_true(fabs(s.tied - 2.0) < 1e-12);
	left = pow(1.0 - STUMPS_RATE, STUMPS_STAGES); /* remaining part of the residuals, which start as 1 and -1 */
	assert_true(fabs(stumps_predict(&s, low) - (2.0 - left)) < 1e-12);
	assert_true(fabs(stumps_predict(&s, high) - left) < 1e-12);
	assert_true(fabs(stumps_predict(&s, torn) - 1.0) < 1e-12);
	stumps_release(&s);
	features_release(&f);
}

/* Checks three columns that tie, two of them in one group: each of the two groups gets one half of the credit. */
static void test_credit_by_group(void **state)
{
	double rates[] = { 1, 1, 7, 1.1, 1.1, 5, 1.2, 1.3, 6, 2, 2, 1, 2.1, 2.1, 3, 2.2, 2.4, 2 };
	size_t type[] = { 0, 1, 2, 3, 4, 5 };
	struct mat X = { 6, 3, rates };
	double y[] = { 2, 2, 2, 0, 0, 0 };
	struct features f;
	struct stumps s;

	(void)state;
	features_select(&X, type, 6, &f);
	assert_int_equal(f.groups, 2);
	stumps_fit(&f, y, ones, &s);
	assert_true(fabs(s.tied - 3.0) < 1e-12);
	assert_true(fabs(s.importance[0] - .25) < 1e-12 && fabs(s.importance[1] - .25) < 1e-12 && fabs(s.importance[2] - .5) < 1e-12);
	stumps_release(&s);
	features_release(&f);
}

/* Checks that the ends of a range are shares of equally good fits, and that the range contains the share of each such fit. */
static void test_range(void **state)
{
	struct profile_rows r = made_rows(9, two, .05, 9);
	struct blend_data d = data_of(&r);
	double least[6], most[6], once[6], twice[6];
	struct mat groups;

	(void)state;
	assert_int_equal(d.features.groups, 6);
	groups = mat_new(d.sums.cols, 6);
	for (size_t k = 0; k < d.features.n; k++)
		mat_set(&groups, k, d.features.group[k], 1.0);
	range_compute(&d, &groups, &groups, .01, 2, least, most);
	range_compute(&d, &groups, &groups, .2, 1, once, twice);
	mat_release(&groups);
	for (size_t g = 0; g < 6; g++) {
		assert_true(least[g] >= 0.0 && least[g] <= most[g] && most[g] <= 1.0);
		assert_true(once[g] <= least[g] + 1e-9 && twice[g] >= most[g] - 1e-9); /* more noise allows a wider range */
	}
	assert_true(most[0] > .5 && least[0] < .9);
	blend_data_release(&d);
	profile_rows_release(&r);
}

int suite_additive(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_models_are_minima),
		cmocka_unit_test(test_best_are_grown),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_left_out_type_is_not_seen),
		cmocka_unit_test(test_finds_the_truth),
		cmocka_unit_test(test_stumps),
		cmocka_unit_test(test_credit_by_group),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_validation_does_not_peep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
