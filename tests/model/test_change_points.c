/* Checks change points on series with known changes: found at the right position, none in constant series, spikes and modes. */
#include "base/mem.h"
#include "base/rng.h"
#include "model/change_points.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SERIES 100
#define POINTS 60

static const struct change_points_options options = { .min_effect = .01 };

/* Draws x[POINTS] around 0 with 1 % noise, plus `step` from `first_after` on. */
static void draw(double *x, size_t at, double step, struct rng *rng)
{
	for (size_t i = 0; i < POINTS; i++)
		x[i] = .01 * rng_normal(rng) + (i >= at ? step : 0);
}

/* Returns the sum of squares of x[begin, end) around their mean. */
static double squares(const double *x, size_t begin, size_t end)
{
	double mean = 0, sum = 0;

	for (size_t i = begin; i < end; i++)
		mean += x[i] / (double)(end - begin);
	for (size_t i = begin; i < end; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	return sum;
}

/* Checks that no other two positions divide the series better. */
static void test_best(void **state)
{
	struct rng rng;
	int two = 0;

	(void)state;
	rng_seed(&rng, 6);
	for (int s = 0; s < SERIES; s++) {
		struct change_points changes;
		double x[POINTS], found;

		draw(x, 15 + (size_t)s % 20, .05, &rng);
		for (size_t i = 45; i < POINTS; i++)
			x[i] -= .08;
		change_points_find(x, POINTS, &options, &changes);
		if (changes.n == 2 && !changes.n_spikes) {
			two++;
			found = squares(x, 0, changes.items[0].first_after) +
				squares(x, changes.items[0].first_after, changes.items[1].first_after) +
				squares(x, changes.items[1].first_after, POINTS);
			for (size_t i = 1; i < POINTS; i++)
				for (size_t j = i + 1; j < POINTS; j++)
					assert_true(found < squares(x, 0, i) + squares(x, i, j) + squares(x, j, POINTS) + 1e-12);
		}
		change_points_release(&changes);
	}
	assert_true(two > SERIES / 2);
}

static void test_known_changes(void **state)
{
	static const struct {
		size_t at;
		double step;
		size_t found_min, near_min; /* percentage of the series; found, and found within two points */
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
			near += changes.n == 1 && changes.items[0].first_after + 2 >= rows[r].at &&
				changes.items[0].first_after <= rows[r].at + 2;
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
		if (s % 5 == 0) /* every fifth series is constant */
			memset(x, 0, sizeof(x));
		change_points_find(x, POINTS, &options, &changes);
		series += changes.n > 0;
		spikes += changes.n_spikes;
		assert_true(isnan(changes.segments[0].modes[0]) || changes.n > 0);
		change_points_release(&changes);
	}
	assert_in_range(series, 0, 12); /* expected: 0.01 of 400 series, that is 4 */
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

/* Checks two changes of which one is too small to matter, short series, and that repeated calls give the same bits. */
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
	assert_int_equal(changes.items[0].first_after, 20);
	assert_true(fabs(changes.items[0].after - changes.items[0].before - .1) < .006);
	change_points_find(x, POINTS, &options, &again);
	assert_memory_equal(changes.items, again.items, sizeof(*again.items));
	change_points_release(&again);
	change_points_release(&changes);
	change_points_find(x, POINTS, &(struct change_points_options){ .min_effect = 0 }, &changes);
	assert_true(changes.n == 2 && changes.items[1].first_after == 40 && changes.segments[2].begin == 40 &&
		    changes.segments[2].end == POINTS);
	change_points_release(&changes);
	for (size_t n = 0; n < CHANGE_POINTS_MIN; n++) {
		change_points_find(x + 17, n, &options, &changes);
		assert_true(changes.n == 0 && changes.segments[0].end == n && isinf(changes.detectable_difference));
		change_points_release(&changes);
	}
}

/* Sets x to consecutive levels plus 1 % noise; level i ends at ends[i], and ends[i] == 0 marks the last level. */
static void put_levels(double *x, const double *levels, const size_t *ends, struct rng *rng)
{
	for (size_t i = 0, k = 0; i < POINTS; i++) {
		k += ends[k] && i == ends[k];
		x[i] = levels[k] + .01 * rng_normal(rng);
	}
}

/* Checks the positions of changes that are reverted, near an end, or between two other levels. */
static void test_places(void **state)
{
	static const struct {
		const char *what;
		double levels[4];
		size_t ends[4];
	} rows[] = {
		{ "taken back after three points", { 0, .1, 0 }, { 20, 23 } },
		{ "taken back after ten points", { 0, 1.1, 0 }, { 33, 43 } },
		{ "taken back twice", { 0, -.2, 0, .2 }, { 8, 14, 40 } },
		{ "the last two points", { 0, .2 }, { 58 } },
		{ "the last three points, cheaper", { 0, -.1 }, { 57 } },
		{ "the first two points", { .2, 0 }, { 2 } },
		{ "two points between two steps", { 0, .26, .4 }, { 30, 32 } },
		{ "two points that were taken back", { 0, .3, 0 }, { 25, 27 } },
	};
	struct rng rng;

	(void)state;
	rng_seed(&rng, 12);
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		size_t exact = 0, n = 0;

		while (n < 4 && rows[r].ends[n])
			n++;
		for (int s = 0; s < SERIES; s++) {
			struct change_points changes;
			double x[POINTS];
			bool same;

			put_levels(x, rows[r].levels, rows[r].ends, &rng);
			change_points_find(x, POINTS, &options, &changes);
			same = changes.n == n;
			for (size_t i = 0; same && i < n; i++)
				same = changes.items[i].first_after == rows[r].ends[i];
			exact += same;
			change_points_release(&changes);
		}
		if (exact < 95)
			fail_msg("%s: %zu", rows[r].what, exact);
	}
}

/* Checks that an outlier at the last point is reported as open and as a spike, not as a change. */
static void test_open(void **state)
{
	struct change_points changes;
	double x[POINTS];
	struct rng rng;

	(void)state;
	rng_seed(&rng, 13);
	put_levels(x, (const double[]){ 0, .2 }, (const size_t[]){ 59, 0 }, &rng);
	change_points_find(x, POINTS, &options, &changes);
	assert_true(changes.n == 0 && changes.last_is_spike && changes.n_spikes == 1 && changes.spikes[0] == 59);
	change_points_release(&changes);
	change_points_find(x, POINTS - 1, &options, &changes);
	assert_true(changes.n == 0 && !changes.last_is_spike && changes.detectable_difference < .02);
	change_points_release(&changes);
}

/* Checks steps that are each too small to matter but matter together. */
static void test_creep(void **state)
{
	const struct change_points_options coarse = { .min_effect = .03 };
	struct change_points changes;
	double x[POINTS];
	struct rng rng;

	(void)state;
	rng_seed(&rng, 14);
	for (int s = 0; s < 20; s++) {
		for (size_t i = 0; i < POINTS; i++)
			x[i] = .005 * rng_normal(&rng) + .08 * (double)i / POINTS;
		change_points_find(x, POINTS, &coarse, &changes);
		assert_true(changes.n >= 1 && changes.segments[changes.n].median - changes.segments[0].median > .03);
		change_points_release(&changes);
	}
}

/* Checks that changes are only between groups, whatever the noise, and that a known change is reported and can be reverted. */
static void test_groups(void **state)
{
	size_t groups[POINTS];
	bool known[POINTS] = { false };
	struct change_points_options o = { .min_effect = .01, .groups = groups };
	struct change_points changes;
	double x[POINTS];
	size_t exact = 0;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 15);
	for (int s = 0; s < SERIES; s++) {
		for (size_t i = 0; i < POINTS; i++)
			groups[i] = i / 5;
		draw(x, 30, .03, &rng);
		change_points_find(x, POINTS, &o, &changes);
		for (size_t i = 0; i < changes.n; i++)
			assert_int_equal(changes.items[i].first_after % 5, 0);
		exact += changes.n == 1 && changes.items[0].first_after == 30;
		change_points_release(&changes);
	}
	assert_in_range(exact, 97, SERIES);
	known[50] = true;
	o.known = known;
	put_levels(x, (const double[]){ 0, .012, 0 }, (const size_t[]){ 50, 55, 0 }, &rng);
	change_points_find(x, POINTS, &o, &changes);
	assert_true(changes.n >= 1 && changes.items[0].first_after == 50);
	change_points_release(&changes);
	change_points_find(x, 51, &o, &changes); /* even as the last point */
	assert_true(changes.n == 1 && changes.items[0].first_after == 50 && !changes.last_is_spike);
	change_points_release(&changes);
}

/* Checks that 1 % of unchanged series have a change, even if they are short. */
static void test_level(void **state)
{
	static const size_t sizes[] = { 6, 9, 20, 50 };
	const struct change_points_options any = { .min_effect = 0 };
	struct rng rng;

	(void)state;
	rng_seed(&rng, 16);
	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		size_t found = 0;

		for (int s = 0; s < 20 * SERIES; s++) {
			struct change_points changes;
			double x[POINTS];

			draw(x, POINTS, 0, &rng);
			change_points_find(x, sizes[k], &any, &changes);
			found += changes.n > 0;
			change_points_release(&changes);
		}
		if (found > 35) /* expected 20 of 2000; 35 is more than three standard deviations above */
			fail_msg("%zu points: %zu", sizes[k], found);
	}
}

/* Checks that only the last points of a long series are used, and that positions refer to the whole series. */
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
	assert_int_equal(changes.items[0].first_after, n - 50);
	assert_int_equal(changes.segments[0].begin, 10);
	assert_int_equal(changes.segments[1].end, n);
	change_points_release(&changes);
	free(x);
}

int suite_change_points(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_best),   cmocka_unit_test(test_known_changes), cmocka_unit_test(test_nothing_changes),
		cmocka_unit_test(test_spikes), cmocka_unit_test(test_modes),	     cmocka_unit_test(test_several),
		cmocka_unit_test(test_places), cmocka_unit_test(test_open),	     cmocka_unit_test(test_creep),
		cmocka_unit_test(test_groups), cmocka_unit_test(test_level),	     cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
