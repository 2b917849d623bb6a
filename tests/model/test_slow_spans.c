/* Checks where a row is high: levels and spans by their definitions on random rows, and the probability of a chance result. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "model/variance/slow_spans.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define N 40

static double score_of(double x, const struct slow_span *s)
{
	return isfinite(x) ? fmin(fmax((x - s->level) / s->half, -SLOW_SPANS_WEIGHT_MAX), SLOW_SPANS_WEIGHT_MAX) : 0;
}

/* Returns the best score of consecutive values without a border, by trying all. */
static double plainly(const double *x, size_t n, const struct slow_span *s)
{
	double best = 0;

	for (size_t i = 0; i < n; i++) {
		double sum = 0;

		for (size_t j = i; j < n && !(x[j] < -1e300); j++) {
			sum += score_of(x[j], s);
			best = fmax(best, sum);
		}
	}
	return best;
}

/* Returns how much variance is explained by two groups divided at `level`. */
static double explained(const double *x, size_t n, double level)
{
	double sum[2] = { 0, 0 }, count[2] = { 0, 0 };

	for (size_t i = 0; i < n; i++)
		if (isfinite(x[i])) {
			sum[x[i] > level] += x[i];
			count[x[i] > level]++;
		}
	return count[0] > 0 && count[1] > 0 ? count[0] * count[1] * pow(sum[1] / count[1] - sum[0] / count[0], 2) : 0;
}

static void definition(void **state)
{
	struct slow_span found[SLOW_SPANS_LEVELS];
	struct rng rng;

	(void)state;
	rng_seed(&rng, 4);
	for (int round = 0; round < 200; round++) {
		double x[N];
		size_t n;

		for (size_t i = 0; i < N; i++)
			x[i] = rng_normal(&rng) + (i / 10 == 2 ? 3 : 0);
		x[25] = round % 2 ? -(double)INFINITY : x[25];
		x[3] = (double)NAN;
		n = slow_spans_find(x, N, found);
		assert_true(n > 0);
		for (size_t i = 0; i < N; i++)
			assert_true(!isfinite(x[i]) || explained(x, N, x[i]) <= explained(x, N, found[0].level) * (1 + 1e-12));
		for (size_t k = 0; k < n; k++) {
			double sum = 0;

			assert_true(!k || found[k].level < found[k - 1].level);
			for (size_t i = found[k].from; i < found[k].to; i++)
				sum += score_of(x[i], &found[k]);
			assert_float_equal(sum, found[k].score, 1e-9);
			assert_float_equal(found[k].score, plainly(x, N, &found[k]), 1e-9);
			assert_true(round % 2 == 0 || found[k].to <= 25 || found[k].from >= 25);
		}
	}
}

/* Checks that nearly equal values are not divided, nor are very few values. */
static void nothing(void **state)
{
	struct slow_span found[SLOW_SPANS_LEVELS];
	double x[N];

	(void)state;
	for (size_t i = 0; i < N; i++)
		x[i] = .001 * (double)(i % 7);
	assert_int_equal(slow_spans_find(x, N, found), 0);
	for (size_t i = 0; i < N; i++)
		x[i] = (double)i;
	assert_int_equal(slow_spans_find(x, 7, found), 0);
	assert_int_equal(slow_spans_find(x, 0, found), 0);
}

static struct slow_span_test chance_of(const double *x, const bool *joined, struct slow_span *span)
{
	struct slow_span found[SLOW_SPANS_LEVELS];
	double scratch[N];

	assert_true(slow_spans_find(x, N, found) > 0);
	*span = found[0];
	return slow_span_compute_test(x, joined, N, span, found[0].score, scratch);
}

/* Checks that ten high values in a row are not chance, ten scattered ones are, and one piece of ten scores the same in any order. */
static void chance(void **state)
{
	bool joined[N] = { false };
	struct slow_span_test row, spread, piece;
	struct slow_span span;
	double x[N], y[N];

	(void)state;
	for (size_t i = 0; i < N; i++) {
		x[i] = .01 * (double)(i % 3) + (i >= 10 && i < 20);
		y[i] = .01 * (double)(i % 3) + (i % 4 == 1);
	}
	row = chance_of(x, joined, &span);
	assert_int_equal(span.from, 10);
	assert_int_equal(span.to, 20);
	assert_int_equal(row.n, N);
	assert_int_equal(row.better, 0);
	assert_true(row.beyond > 5);
	spread = chance_of(y, joined, &span);
	assert_true(spread.better > SLOW_SPANS_ORDERS / 2);
	for (size_t i = 11; i < 20; i++)
		joined[i] = true;
	piece = chance_of(x, joined, &span);
	assert_int_equal(piece.n, N - 9);
	assert_int_equal(piece.better, SLOW_SPANS_ORDERS);
}

int suite_slow_spans(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(definition), cmocka_unit_test(nothing), cmocka_unit_test(chance) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
