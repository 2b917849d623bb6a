/* Checks change points: the partition is optimal, injected change points are found, and data without phases have none. */
#include "base/mem.h"
#include "base/rng.h"
#include "model/segments.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Draws `samples` samples per row; the column of each follows the shares. */
static void draw(struct mat *counts, size_t from, size_t to, const double *shares, int samples, struct rng *rng)
{
	for (size_t i = from; i < to; i++) {
		for (int n = 0; n < samples; n++) {
			double at = rng_double(rng);
			size_t c = 0;

			while (c + 1 < counts->cols && at >= shares[c])
				at -= shares[c++];
			mat_set(counts, i, c, mat_get(counts, i, c) + 1);
		}
	}
}

/* Returns the least cost over all 2^(n-1) partitions; this function computes the cost independently. */
static double best_of_all(const struct mat *counts)
{
	double best = (double)INFINITY, penalty = segments_penalty(counts);
	size_t n = counts->rows;

	for (unsigned cuts = 0; cuts < 1u << (n - 1); cuts++) {
		double total = 0, sum[3] = { 0 };

		for (size_t i = 0; i < n; i++) {
			for (size_t c = 0; c < 3; c++)
				sum[c] += mat_get(counts, i, c);
			if (i + 1 < n && !(cuts >> i & 1))
				continue;
			total += penalty;
			for (size_t c = 0; c < 3; c++) {
				total -= sum[c] > 0 ? sum[c] * log(sum[c] / (sum[0] + sum[1] + sum[2])) : 0;
			}
			sum[0] = sum[1] = sum[2] = 0;
		}
		best = fmin(best, total);
	}
	return best;
}

static void best_partition(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct mat counts = mat_new(11, 3);
		double total = 0;
		size_t ends[11], n, from = 0;
		struct rng rng;

		rng_seed(&rng, seed);
		draw(&counts, 0, seed % 11, (const double[]){ .7, .2, .1 }, 12, &rng);
		draw(&counts, seed % 11, 11, (const double[]){ .2, .2, .6 }, 12, &rng);
		n = segments_find(&counts, ends);
		assert_int_equal(ends[n - 1], 11);
		for (size_t i = 0; i < n; from = ends[i++])
			total += segments_cost(&counts, from, ends[i]) + segments_penalty(&counts);
		if (fabs(total - best_of_all(&counts)) > 1e-6)
			fail_msg("seed %d: %.9f is not %.9f", (int)seed, total, best_of_all(&counts));
		mat_release(&counts);
	}
}

/* Checks three phases of 8, 12 and 12 slices with 15 samples each: found within a slice, 90 % exactly. One phase stays one in 98 %. */
static void planted_phases(void **state)
{
	size_t right = 0, quiet = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct mat three = mat_new(32, 4), one = mat_new(32, 4);
		size_t ends[32];
		struct rng rng;

		rng_seed(&rng, seed);
		draw(&three, 0, 8, (const double[]){ .9, .05, .05, 0 }, 15, &rng);
		draw(&three, 8, 20, (const double[]){ .1, .8, 0, .1 }, 15, &rng);
		draw(&three, 20, 32, (const double[]){ .1, .2, .6, .1 }, 15, &rng);
		draw(&one, 0, 32, (const double[]){ .4, .3, .2, .1 }, 15, &rng);
		right += segments_find(&three, ends) == 3 && ends[0] == 8 && ends[1] == 20;
		quiet += segments_find(&one, ends) == 1;
		mat_release(&three);
		mat_release(&one);
	}
	assert_in_range(right, 180, 200);
	assert_in_range(quiet, 196, 200);
}

/* Checks that bursts are not phases. Each row has one of two random compositions, so that neighbors differ by more than noise. */
static void bursts_are_no_phases(void **state)
{
	size_t quiet = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct mat counts = mat_new(32, 3);
		size_t ends[32];
		struct rng rng;

		rng_seed(&rng, seed);
		for (size_t i = 0; i < 32; i++) {
			double a = .3 + .4 * rng_double(&rng);

			draw(&counts, i, i + 1, (const double[]){ a, .9 - a, .1 }, 60, &rng);
		}
		quiet += segments_find(&counts, ends) == 1;
		mat_release(&counts);
	}
	assert_in_range(quiet, 90, 100);
}

/* Checks a change from one class to another. The estimate of variation must not include this change. */
static void pure_phases(void **state)
{
	struct mat counts = mat_new(24, 2);
	size_t ends[24];

	(void)state;
	for (size_t i = 0; i < 24; i++)
		mat_set(&counts, i, i >= 10, 30);
	assert_int_equal(segments_find(&counts, ends), 2);
	assert_int_equal(ends[0], 10);
	mat_release(&counts);
}

static void nothing(void **state)
{
	struct mat none = mat_new(0, 3), empty = mat_new(5, 3);
	size_t ends[5];

	(void)state;
	assert_int_equal(segments_find(&none, ends), 0);
	assert_int_equal(segments_find(&empty, ends), 1);
	mat_release(&none);
	mat_release(&empty);
}

int suite_segments(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(best_partition), cmocka_unit_test(planted_phases),
					    cmocka_unit_test(bursts_are_no_phases), cmocka_unit_test(pure_phases),
					    cmocka_unit_test(nothing) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
