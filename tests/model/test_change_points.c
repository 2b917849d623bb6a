/* Change points of drawn series whose changes are known: found, at their place, and none where there is none; spikes and modes. */
#include "base/mem.h"
#include "base/rng.h"
#include "model/change_points.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#ifdef __SANITIZE_ADDRESS__ /* which takes ten times as long, and sees the same code in fewer series */
#define SERIES 20
#else
#define SERIES 100
#endif
#define POINTS 60

static const struct change_points_options options = { .min_effect = .01, .seed = 1 };

/* x[POINTS] around 0 with 1 % noise; from `at` on `step` more. */
static void draw(double *x, size_t at, double step, struct rng *rng)
{
	for (size_t i = 0; i < POINTS; i++)
		x[i] = .01 * rng_normal(rng) + (i >= at ? step : 0);
}

/* The published algorithm in the plainest words: the best border by the divergence of the two samples. */
static size_t best_border(const double *x, size_t n)
{
	double best = -(double)INFINITY;
	size_t at = 0;

	for (size_t m = CHANGE_POINTS_SEGMENT_MIN; m + CHANGE_POINTS_SEGMENT_MIN <= n; m++) {
		double between = 0, left = 0, right = 0, k = (double)(n - m), value;

		for (size_t i = 0; i < n; i++)
			for (size_t j = 0; j < n; j++) {
				double d = fabs(x[i] - x[j]);

				if (i < m && j >= m)
					between += d;
				else if (i < j && j < m)
					left += d;
				else if (i < j && i >= m)
					right += d;
			}
		value = (double)m * k / ((double)m + k) *
			(2 * between / ((double)m * k) - 2 * left / ((double)m * ((double)m - 1)) - 2 * right / (k * (k - 1)));
		if (value > best) {
			best = value;
			at = m;
		}
	}
	return at;
}

static void test_known_changes(void **state)
{
	static const struct {
		size_t at;
		double step;
		size_t found_min, near_min; /* per cent of SERIES; the second one within two points */
	} rows[] = { { 30, .03, 98, 92 }, { 10, .03, 95, 86 }, { 55, .03, 70, 60 }, { 30, .015, 80, 50 }, { 30, -.05, 99, 98 } };
	struct rng rng;

	(void)state;
	rng_seed(&rng, 7);
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		size_t found = 0, near = 0;

		for (int s = 0; s < SERIES; s++) {
			struct change_points changes;
			double x[POINTS];

			draw(x, rows[r].at, rows[r].step, &rng);
			change_points_find(x, POINTS, &options, &changes);
			found += changes.n >= 1;
			near += changes.n == 1 && changes.items[0].at + 2 >= rows[r].at && changes.items[0].at <= rows[r].at + 2;
			if (changes.n == 1 && changes.n_spikes == 0 && fabs(rows[r].step) > .02) /* else the best one may not matter */
				assert_int_equal(changes.items[0].at, best_border(x, POINTS));
			change_points_release(&changes);
		}
		if (100 * found < rows[r].found_min * SERIES || 100 * near < rows[r].near_min * SERIES)
			fail_msg("row %zu: found %zu, near %zu", r, found, near);
	}
}

static void test_nothing_changes(void **state)
{
	size_t series = 0, spikes = 0;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 8);
	for (int s = 0; s < 5 * SERIES; s++) {
		struct change_points changes;
		double x[POINTS];

		draw(x, POINTS, 0, &rng);
		if (s % 5 == 0) /* all the same */
			memset(x, 0, sizeof(x));
		change_points_find(x, POINTS, &options, &changes);
		series += changes.n > 0;
		spikes += changes.n_spikes;
		assert_true(isnan(changes.segments[0].modes[0]) || changes.n > 0);
		change_points_release(&changes);
	}
	assert_in_range(series, 0, 12); /* .01 of 400 is 4 */
	assert_in_range(spikes, 0, 15);
}

static void test_spikes(void **state)
{
	size_t wrong = 0, seen = 0;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 9);
	for (int s = 0; s < SERIES; s++) {
		struct change_points changes;
		double x[POINTS];

		draw(x, POINTS, 0, &rng);
		x[5] += .5;
		x[40] += .3;
		change_points_find(x, POINTS, &options, &changes);
		wrong += changes.n > 0;
		seen += changes.n_spikes >= 2 && changes.spikes[0] == 5 && changes.spikes[changes.n_spikes - 1] == 40;
		change_points_release(&changes);
	}
	assert_in_range(wrong, 0, 5);
	assert_in_range(100 * seen, 95 * SERIES, 100 * SERIES);
}

static void test_modes(void **state)
{
	size_t wrong = 0, told = 0;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 10);
	for (int s = 0; s < SERIES; s++) {
		struct change_points changes;
		double x[POINTS];

		draw(x, POINTS, 0, &rng);
		for (size_t i = 0; i < POINTS; i++)
			x[i] += rng_below(&rng, 3) == 0 ? .2 : 0;
		change_points_find(x, POINTS, &options, &changes);
		wrong += changes.n > 0;
		told += changes.n == 0 && fabs(changes.segments[0].modes[0]) < .02 && fabs(changes.segments[0].modes[1] - .2) < .02;
		if (changes.n == 0 && !isnan(changes.segments[0].modes[0]))
			assert_int_equal(changes.n_spikes, 0);
		change_points_release(&changes);
	}
	assert_in_range(wrong, 0, 5);
	assert_in_range(100 * told, 93 * SERIES, 100 * SERIES);
}

/* Two changes, one of which does not matter; short series; the same bits again. */
static void test_several(void **state)
{
	struct change_points changes, again;
	double x[POINTS];
	struct rng rng;

	(void)state;
	rng_seed(&rng, 11);
	for (size_t i = 0; i < POINTS; i++)
		x[i] = .0005 * rng_normal(&rng) + (i >= 20 ? .1 : 0) + (i >= 40 ? .005 : 0);
	change_points_find(x, POINTS, &options, &changes);
	assert_int_equal(changes.n, 1);
	assert_int_equal(changes.items[0].at, 20);
	assert_true(fabs(changes.items[0].after - changes.items[0].before - .1) < .006);
	change_points_find(x, POINTS, &options, &again);
	assert_memory_equal(changes.items, again.items, sizeof(*again.items));
	change_points_release(&again);
	change_points_release(&changes);
	change_points_find(x, POINTS, &(struct change_points_options){ .seed = 1 }, &changes);
	assert_true(changes.n == 2 && changes.items[1].at == 40 && changes.segments[2].begin == 40 && changes.segments[2].end == POINTS);
	change_points_release(&changes);
	for (size_t n = 0; n < 2 * CHANGE_POINTS_SEGMENT_MIN; n++) {
		change_points_find(x + 17, n, &options, &changes);
		assert_true(changes.n == 0 && changes.segments[0].end == n);
		change_points_release(&changes);
	}
}

/* Of a long series the last points, and places in all of it. */
static void test_long(void **state)
{
	size_t n = CHANGE_POINTS_MAX + 10;
	double *x = mem_new(n, sizeof(*x));
	struct change_points changes;

	(void)state;
	for (size_t i = 0; i < n; i++)
		x[i] = i >= n - 50 ? 1 : 0;
	change_points_find(x, n, &options, &changes);
	assert_int_equal(changes.n, 1);
	assert_int_equal(changes.items[0].at, n - 50);
	assert_int_equal(changes.segments[0].begin, 10);
	assert_int_equal(changes.segments[1].end, n);
	change_points_release(&changes);
	free(x);
}

int suite_change_points(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_changes), cmocka_unit_test(test_nothing_changes), cmocka_unit_test(test_spikes),
		cmocka_unit_test(test_modes),	      cmocka_unit_test(test_several),	      cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
