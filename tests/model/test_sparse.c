/* Checks cost models on known costs: the model finds the terms and their coefficients, and its error is that of the noise. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "model/sparse/excess.h"
#include "model/sparse/sparse.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define INPUTS 60
#define N      (2 * INPUTS)
#define P      8

enum column { NEVER, BLOCKS, BYTES, DEPTH, FROM_BLOCKS, UNRELATED }; /* columns 6 and 7 are unrelated, too */

/* Makes two runs per input. Cost: 1 ms + 2 us * blocks + 3 ns * bytes + `product` * bytes * depth, with the relative noise `noise`. */
static void make_runs(uint64_t seed, double product, double noise, struct mat *X, double *y, size_t *group)
{
	struct rng rng;

	rng_seed(&rng, seed);
	*X = mat_new(N, P);
	for (size_t i = 0; i < N; i++) {
		double *row = X->at + i * P;

		group[i] = i / 2;
		if (i % 2) {
			for (size_t j = 0; j < P; j++)
				row[j] = row[j - P];
		} else {
			row[NEVER] = 4.0;
			row[BLOCKS] = 100.0 + (double)rng_below(&rng, 10000);
			row[BYTES] = 2e6 + (double)rng_below(&rng, 8000000);
			row[DEPTH] = 1.0 + (double)rng_below(&rng, 20);
			row[FROM_BLOCKS] = 3.0 * row[BLOCKS] + 7.0;
			for (size_t j = UNRELATED; j < P; j++)
				row[j] = (double)rng_below(&rng, 1000);
		}
		y[i] = 1e-3 + 2e-6 * row[BLOCKS] + 3e-9 * row[BYTES] + product * row[BYTES] * row[DEPTH];
		y[i] *= exp(noise * rng_normal(&rng));
	}
}

static double coefficient(const struct sparse *model, size_t degree, size_t a, size_t b)
{
	for (size_t t = 0; t < model->terms; t++) {
		const struct sparse_term *term = &model->term[t];

		if (term->degree == degree && term->column[0] == a && (degree == 1 || term->column[1] == b))
			return term->coefficient;
	}
	return 0.0;
}

static void test_linear(void **state)
{
	double y[N];
	size_t group[N];
	struct sparse model;
	struct mat X;

	(void)state;
	make_runs(1, 0.0, .02, &X, y, group);
	sparse_fit(&X, y, group, INPUTS, &(struct sparse_options){ .degree = 2 }, &model);
	assert_int_equal(model.column[NEVER].same_as, NEVER);
	assert_int_equal(model.column[FROM_BLOCKS].same_as, BLOCKS);
	assert_true(fabs(model.column[FROM_BLOCKS].slope - 3.0) < 1e-9 && fabs(model.column[FROM_BLOCKS].offset - 7.0) < 1e-6);
	assert_true(model.column[UNRELATED].same_as == SIZE_MAX);
	assert_true(fabs(coefficient(&model, 1, BLOCKS, 0) / 2e-6 - 1.0) < .05);
	assert_true(fabs(coefficient(&model, 1, BYTES, 0) / 3e-9 - 1.0) < .05);
	assert_int_equal(model.term[0].column[0], BYTES); /* the term with the largest part of the cost */
	assert_true(model.error_mean < .03 && model.error_median < .025);
	assert_true(model.interval > 1.02 && model.interval < 1.06);
	sparse_release(&model);
	mat_release(&X);
}

/* Checks a cost that grows faster than linearly from 0. A straight line would start below 0 and predict costs of small inputs hundreds
 * of times too low. */
static void test_intercept(void **state)
{
	double y[N];
	size_t group[N];
	struct mat X = mat_new(N, 1);
	struct sparse model;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 3);
	for (size_t i = 0; i < N; i++) {
		X.at[i] = 1e4 * exp(4.0 * rng_double(&rng));
		y[i] = 1e-9 * pow(X.at[i], 1.5) * exp(.02 * rng_normal(&rng));
		group[i] = i / 2;
	}
	sparse_fit(&X, y, group, INPUTS, &(struct sparse_options){ .degree = 1 }, &model);
	assert_true(model.intercept == 0.0);
	assert_true(model.error_mean < 1.0 && model.interval < 5.0);
	sparse_release(&model);
	mat_release(&X);
}

static void test_product(void **state)
{
	double y[N], linear;
	size_t group[N];
	struct sparse model;
	struct mat X;

	(void)state;
	make_runs(2, 2e-9, .01, &X, y, group);
	sparse_fit(&X, y, group, INPUTS, &(struct sparse_options){ .degree = 1 }, &model);
	linear = model.error_mean;
	sparse_release(&model);
	sparse_fit(&X, y, group, INPUTS, &(struct sparse_options){ .degree = 3 }, &model);
	assert_true(fabs(coefficient(&model, 2, BYTES, DEPTH) / 2e-9 - 1.0) < .1);
	assert_true(model.error_mean < .03 && model.error_mean < linear / 2.0);
	sparse_release(&model);
	mat_release(&X);
}

/* Checks nested loops whose counts are inputs, next to the size in bytes, which is the only column that predicts something by itself. */
static void test_rounds_within_rounds(void **state)
{
	enum { RECORDS, FIELDS, CHOICES, OTHER, BYTES_OF, COLUMNS };
	double y[INPUTS];
	size_t group[INPUTS];
	struct mat X = mat_new(INPUTS, COLUMNS);
	struct sparse model[SPARSE_DEGREE_MAX];
	struct rng rng;

	(void)state;
	rng_seed(&rng, 6);
	for (size_t i = 0; i < INPUTS; i++) {
		double *row = X.at + i * COLUMNS;

		group[i] = i;
		row[RECORDS] = 30.0 + (double)rng_below(&rng, 270);
		for (size_t j = FIELDS; j < BYTES_OF; j++)
			row[j] = 1.0 + (double)rng_below(&rng, 9);
		row[BYTES_OF] = row[RECORDS] * row[FIELDS] * (12.0 + row[CHOICES]);
		y[i] = (1e-2 + 1e-4 * row[RECORDS] * row[FIELDS] * row[CHOICES]) * exp(.02 * rng_normal(&rng));
	}
	for (size_t d = 1; d <= SPARSE_DEGREE_MAX; d++)
		sparse_fit(&X, y, group, INPUTS, &(struct sparse_options){ .degree = d }, &model[d - 1]);
	assert_true(model[2].error_mean < .03);
	assert_true(model[1].error_mean > 1.5 * model[2].error_mean);
	assert_int_equal(model[2].term[0].degree, 3);
	assert_true(fabs(model[2].term[0].coefficient / 1e-4 - 1.0) < .05);
	for (size_t d = 0; d < SPARSE_DEGREE_MAX; d++)
		sparse_release(&model[d]);
	mat_release(&X);
}

static void test_unlike(void **state)
{
	double y[N], row[P];
	size_t group[N];
	struct sparse model;
	struct mat X;

	(void)state;
	make_runs(3, 0.0, .01, &X, y, group);
	sparse_fit(&X, y, group, INPUTS, &(struct sparse_options){ .degree = 1 }, &model);
	for (size_t i = 0; i < N; i++)
		assert_true(sparse_find_dissimilar(&model, X.at + i * P, 0.0) == SIZE_MAX);
#define UNLIKE(at_, value)                                                                                                                 \
	do {                                                                                                                               \
		for (size_t j = 0; j < P; j++)                                                                                             \
			row[j] = X.at[j];                                                                                                  \
		row[at_] = (value);                                                                                                        \
		assert_int_equal(sparse_find_dissimilar(&model, row, 0.0), at_);                                                           \
	} while (0)
	UNLIKE(NEVER, 5.0);
	UNLIKE(BYTES, 2e7);
	UNLIKE(FROM_BLOCKS, X.at[FROM_BLOCKS] + 100.0);
	sparse_release(&model);
	mat_release(&X);
}

/* Checks an input with a count hundreds of times higher than in all others. A model without this input predicts far too much and reports
 * it as unlike. This prediction must not count in the model's error. */
static void test_unlike_left_out(void **state)
{
	double y[N];
	size_t group[N];
	struct mat X = mat_new(N, 2);
	struct sparse model;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 5);
	for (size_t i = 0; i < N; i++) {
		group[i] = i / 2;
		mat_set(&X, i, 0, i % 2 ? mat_get(&X, i - 1, 0) : 2000.0 + (double)rng_below(&rng, 8000));
		mat_set(&X, i, 1, i / 2 == 7 ? 400.0 : (double)(i / 2 % 9));
		y[i] = (1e-6 * mat_get(&X, i, 0) + 2e-4 * fmin(mat_get(&X, i, 1), 8.0)) * exp(.01 * rng_normal(&rng));
	}
	sparse_fit(&X, y, group, INPUTS, &(struct sparse_options){ .degree = 2 }, &model);
	assert_true(model.n_dissimilar >= 2 && model.n_dissimilar < N / 10);
	assert_true(isnan(model.log_errors[14]) && isnan(model.log_errors[15]) && !isnan(model.log_errors[16]));
	assert_true(model.error_mean < .2);
	sparse_release(&model);
	mat_release(&X);
}

/* Checks that counts without a term are weighed together: one more event than ever before is negligible below 1 % of all events. */
static void test_unlike_counts(void **state)
{
	const bool counted[P] = { [NEVER] = true, [BLOCKS] = true, [FROM_BLOCKS] = true };
	double y[N], row[P], all;
	size_t group[N];
	struct sparse model;
	struct mat X;

	(void)state;
	make_runs(3, 0.0, .01, &X, y, group);
	sparse_fit(&X, y, group, INPUTS, &(struct sparse_options){ .degree = 1, .counted = counted }, &model);
	memcpy(row, X.at, sizeof(row));
	all = row[NEVER] + row[BLOCKS] + row[FROM_BLOCKS];
	assert_true(all > 1000.0);
	row[NEVER] += 1.0;
	assert_true(sparse_find_dissimilar(&model, row, 0.0) == SIZE_MAX);
	row[FROM_BLOCKS] += 1.0;
	assert_true(sparse_find_dissimilar(&model, row, 0.0) == SIZE_MAX);
	row[NEVER] = X.at[NEVER] + .009 * all;
	assert_true(sparse_find_dissimilar(&model, row, 0.0) == SIZE_MAX);
	assert_int_equal(sparse_find_dissimilar(&model, row, .005 * all), NEVER);
	assert_int_equal(sparse_find_dissimilar(&model, row, .02 * all), P);
	row[FROM_BLOCKS] += .009 * all;
	assert_true(sparse_find_dissimilar(&model, row, 0.0) < P);
	sparse_release(&model);
	mat_release(&X);
}

/* Checks two correlated columns whose values are each in the learned range but no longer go together. */
static void test_unlike_together(void **state)
{
	double y[N], row[2];
	size_t group[N];
	struct sparse model;
	struct mat X = mat_new(N, 2);
	struct rng rng;

	(void)state;
	rng_seed(&rng, 4);
	for (size_t i = 0; i < N; i++) {
		double a = 100.0 + (double)rng_below(&rng, 10000), b = a + (double)rng_below(&rng, 200);

		mat_set(&X, i, 0, a);
		mat_set(&X, i, 1, b);
		y[i] = (1000.0 + a + 3.0 * b) * exp(.01 * rng_normal(&rng));
		group[i] = i / 2;
	}
	sparse_fit(&X, y, group, INPUTS, &(struct sparse_options){ .degree = 1 }, &model);
	assert_int_equal(model.terms, 2);
	row[0] = 4000.0;
	row[1] = 4100.0;
	assert_true(sparse_find_dissimilar(&model, row, 0.0) == SIZE_MAX);
	row[0] = 1000.0;
	row[1] = 9000.0;
	assert_true(sparse_find_dissimilar(&model, row, 0.0) < 2);
	sparse_release(&model);
	mat_release(&X);
}

/* Counts how often the interval of the excess contains the truth, on rows of make_runs(); `large`: more blocks for some rows. */
static size_t excesses_that_hold(uint64_t seeds, double large)
{
	size_t group[N], holds = 0;
	double y[N], ratio[N];
	struct mat learned, X;

	for (uint64_t seed = 0; seed < seeds; seed++) {
		struct sparse_excess excess;
		struct sparse model;
		size_t n = 0;

		make_runs(300 + seed, 0.0, .05, &learned, y, group);
		sparse_fit(&learned, y, group, INPUTS, &(struct sparse_options){ .degree = 1 }, &model);
		make_runs(900 + seed, 0.0, .05, &X, y, group);
		for (size_t i = 0; i < N; i++) {
			if (mat_get(&X, i, BLOCKS) < large)
				continue;
			memmove(X.at + n * P, X.at + i * P, P * sizeof(double));
			y[n++] = 1.1 * y[i];
		}
		X.rows = n;
		excess = sparse_excess_compute(&model, &X, y, ratio);
		holds += fabs(excess.log_ratio - log(1.1)) < stats_t_quantile(.975, excess.df) * excess.noise;
		sparse_release(&model);
		mat_release(&learned);
		mat_release(&X);
	}
	return holds;
}

static void test_excess(void **state)
{
	(void)state;
	assert_in_range(excesses_that_hold(60, 0.0), 54, 60);
	assert_in_range(excesses_that_hold(60, 8000.0), 54, 60);
}

/* Checks that errors of the model along the input size, for a nonlinear cost, do not count as an excess of small inputs. */
static void test_usual_of_small_ones(void **state)
{
	size_t group[INPUTS], holds = 0, seeds = 40;
	double y[2][INPUTS], ratio[INPUTS];

	(void)state;
	for (size_t seed = 0; seed < seeds; seed++) {
		struct mat X[2] = { mat_new(INPUTS, 1), mat_new(INPUTS, 1) };
		struct sparse_excess excess;
		struct sparse model;
		struct rng rng;

		rng_seed(&rng, 500 + seed);
		for (size_t i = 0; i < 2 * INPUTS; i++) {
			double bytes = floor(1e3 * pow(i < INPUTS ? 1e3 : 1e2, rng_double(&rng)));

			mat_set(&X[i / INPUTS], i % INPUTS, 0, bytes);
			y[i / INPUTS][i % INPUTS] = 1e-5 * pow(bytes, .8) * exp(.02 * rng_normal(&rng));
			group[i % INPUTS] = i % INPUTS;
		}
		sparse_fit(&X[0], y[0], group, INPUTS, &(struct sparse_options){ .degree = 1 }, &model);
		excess = sparse_excess_compute(&model, &X[1], y[1], ratio);
		holds += fabs(excess.log_ratio) < stats_t_quantile(.975, excess.df) * excess.noise;
		sparse_release(&model);
		mat_release(&X[0]);
		mat_release(&X[1]);
	}
	assert_in_range(holds, 34, seeds);
}

/* Checks two terms that become slower at once, by different factors. */
static void test_terms(void **state)
{
	double y[N], excess[N];
	size_t group[N];
	struct sparse model;
	struct sparse_part parts[P + 1];
	struct mat X;

	(void)state;
	make_runs(7, 0.0, .01, &X, y, group);
	sparse_fit(&X, y, group, INPUTS, &(struct sparse_options){ .degree = 1 }, &model);
	mat_release(&X);
	make_runs(8, 0.0, .01, &X, y, group);
	for (size_t i = 0; i < N; i++) {
		y[i] += .2 * 2e-6 * mat_get(&X, i, BLOCKS) + .1 * 3e-9 * mat_get(&X, i, BYTES);
		excess[i] = y[i] / sparse_predict(&model, X.at + i * P) - 1.0;
	}
	assert_true(model.terms >= 2 && model.terms <= P);
	sparse_terms_compute(&model, &X, excess, .01, parts);
	for (size_t t = 0; t < model.terms; t++) {
		const struct sparse_part *part = &parts[t + 1];
		size_t column = model.term[t].column[0];
		double slower = column == BLOCKS ? .2 : column == BYTES ? .1 : 0.0;

		if (fabs(part->added_share - slower * part->was) > 3.0 * part->error || part->error > .02)
			fail_msg("term %zu: slower by %.3f, with an error of %.3f", t, part->added_share / part->was,
				 part->error / part->was);
	}
	sparse_release(&model);
	mat_release(&X);
}

/* Checks that 90 % of the intervals contain the cost of a run that was not learned. */
static void test_coverage(void **state)
{
	size_t group[N], inside = 0, all = 0;
	double y[N];
	struct mat X;

	(void)state;
	for (uint64_t seed = 0; seed < 10; seed++) {
		struct sparse model;

		make_runs(100 + seed, 0.0, .05, &X, y, group);
		sparse_fit(&X, y, group, INPUTS, &(struct sparse_options){ .degree = 1 }, &model);
		mat_release(&X);
		make_runs(200 + seed, 0.0, .05, &X, y, group);
		for (size_t i = 0; i < N; i++) {
			double ratio = y[i] / sparse_predict(&model, X.at + i * P);

			inside += ratio < model.interval && ratio > 1.0 / model.interval;
			all++;
		}
		mat_release(&X);
		sparse_release(&model);
	}
	assert_in_range(inside, all * 86 / 100, all * 95 / 100);
}

/* Checks two functions that share the cost: one of them takes 1.5 times as long on other inputs. The excess belongs only to this one. */
static void test_parts(void **state)
{
	size_t group[N], within = 0, all = 0;
	double y[N];

	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct mat X, other, was = mat_new(N, 2), is = mat_new(N, 2);
		struct sparse model;
		struct sparse_part parts[2];
		struct rng rng;

		rng_seed(&rng, 300 + seed);
		make_runs(300 + seed, 0.0, .02, &X, y, group);
		sparse_fit(&X, y, group, INPUTS, &(struct sparse_options){ .degree = 1 }, &model);
		make_runs(400 + seed, 0.0, .02, &other, y, group);
		for (size_t i = 0; i < N; i++) {
			double *old = was.at + 2 * i, *new = is.at + 2 * i;

			old[0] = 2e-6 * mat_get(&X, i, BLOCKS) * exp(.1 * rng_normal(&rng));
			old[1] = 3e-9 * mat_get(&X, i, BYTES) * exp(.1 * rng_normal(&rng));
			mat_set(&other, i, BLOCKS, 2.0 * mat_get(&other, i, BLOCKS)); /* more work */
			new[0] = 2e-6 * mat_get(&other, i, BLOCKS) * exp(.02 * rng_normal(&rng));
			new[1] = 1.5 * 3e-9 * mat_get(&other, i, BYTES) * exp(.02 * rng_normal(&rng));
		}
		sparse_parts_compute(&model, &(struct sparse_parts){ &X, &was }, &(struct sparse_parts){ &other, &is }, NULL, parts);
		within += fabs(parts[0].added_share) < 2.0 * parts[0].error;
		within += fabs(parts[1].added_share - .5 * parts[1].was) < 2.0 * parts[1].error;
		all += 2;
		assert_true(parts[1].added_share > 5.0 * parts[1].error);
		assert_true(fabs(parts[1].is - parts[1].was - parts[1].added_share) < 1e-12);
		mat_release(&was);
		mat_release(&is);
		mat_release(&X);
		mat_release(&other);
		sparse_release(&model);
	}
	assert_in_range(within, all * 85 / 100, all);
}

/* Returns a time as a sampling clock measures it: a random number of samples, each of duration `one`. */
static double sampled(struct rng *rng, double seconds, double one)
{
	double left = rng_double(rng), n = 0.0;

	for (double least = exp(-seconds / one); left > least; n += 1.0)
		left *= rng_double(rng);
	return n * one;
}

/* Makes three places that share the cost: one for the blocks, one for the bytes, one small and without a column. Place j becomes slower
 * by more[j] of the cost. Either side has some hundred samples. */
static void several(uint64_t seed, const double more[3], struct sparse_part parts[3])
{
	static const size_t column[] = { BLOCKS, BYTES, SIZE_MAX };
	struct mat X, other, was = mat_new(N, 3), is = mat_new(N, 3);
	size_t group[N];
	double y[N], excess[N], expects[N], one = 0.0, mean[3] = { 0.0, 0.0, 0.0 };
	struct sparse model;
	struct rng rng;

	rng_seed(&rng, seed);
	make_runs(500 + seed, 0.0, .02, &X, y, group);
	sparse_fit(&X, y, group, INPUTS, &(struct sparse_options){ .degree = 1 }, &model);
	for (size_t i = 0; i < N; i++)
		one += y[i] / 400.0;
	for (size_t i = 0; i < N; i++) {
		double blocks = 2e-6 * mat_get(&X, i, BLOCKS), bytes = 3e-9 * mat_get(&X, i, BYTES);

		mat_set(&was, i, 0, sampled(&rng, blocks, one));
		mat_set(&was, i, 1, sampled(&rng, bytes, one));
		mat_set(&was, i, 2, sampled(&rng, fmax(0.0, y[i] - blocks - bytes), one));
	}
	make_runs(700 + seed, 0.0, .02, &other, y, group);
	for (size_t i = 0; i < N; i++) {
		double *part = is.at + 3 * i;

		expects[i] = sparse_predict(&model, other.at + i * P);
		part[0] = 2e-6 * mat_get(&other, i, BLOCKS);
		part[1] = 3e-9 * mat_get(&other, i, BYTES);
		part[2] = fmax(0.0, y[i] - part[0] - part[1]);
		for (size_t j = 0; j < 3; j++)
			mean[j] += part[j] / expects[i] / N;
	}
	for (size_t i = 0; i < N; i++) {
		for (size_t j = 0; j < 3; j++) {
			double *part = is.at + 3 * i + j, added = *part * more[j] / mean[j];

			y[i] += added;
			*part = sampled(&rng, *part + added, one);
		}
		excess[i] = y[i] / expects[i] - 1.0;
	}
	sparse_parts_compute(&model, &(struct sparse_parts){ &X, &was }, &(struct sparse_parts){ &other, &is },
			     &(struct sparse_costs){ column, excess, .02, 1.0 / 400.0 }, parts);
	mat_release(&X);
	mat_release(&other);
	mat_release(&was);
	mat_release(&is);
	sparse_release(&model);
}

/* Checks that exactly the one or two places that became 10 % slower are reported, with valid intervals. */
static void test_several(void **state)
{
	static const double cases[][3] = { { .1, 0, 0 }, { 0, .1, 0 }, { .1, .1, 0 }, { .08, .12, 0 }, { .15, -.05, 0 }, { 0, 0, 0 } };
	size_t within = 0, all = 0;

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		for (uint64_t seed = 0; seed < 8; seed++) {
			struct sparse_part parts[3];

			several(8 * c + seed, cases[c], parts);
			for (size_t j = 0; j < 3; j++) {
				within += fabs(parts[j].added_share - cases[c][j]) < 2.0 * parts[j].error;
				all++;
				if (cases[c][j] > .05 && parts[j].added_share < 3.0 * parts[j].error)
					fail_msg("case %zu: place %zu adds %.3f with an error of %.3f", c, j, parts[j].added_share,
						 parts[j].error);
			}
		}
	}
	if (within < all * 85 / 100)
		fail_msg("intervals hold %zu of %zu", within, all);
}

int suite_sparse(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_linear),	  cmocka_unit_test(test_intercept),
					    cmocka_unit_test(test_product),	  cmocka_unit_test(test_rounds_within_rounds),
					    cmocka_unit_test(test_unlike),	  cmocka_unit_test(test_unlike_left_out),
					    cmocka_unit_test(test_unlike_counts), cmocka_unit_test(test_unlike_together),
					    cmocka_unit_test(test_excess),	  cmocka_unit_test(test_usual_of_small_ones),
					    cmocka_unit_test(test_terms),	  cmocka_unit_test(test_coverage),
					    cmocka_unit_test(test_parts),	  cmocka_unit_test(test_several) };

	return cmocka_run_group_tests_name("sparse", tests, NULL, NULL);
}
