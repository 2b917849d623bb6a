/* Tests average linkage against scipy and against the textbook's cubic algorithm, and tests its invariances. */
#include "base/linkage.h"

#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>

#include <cmocka.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum { N = 24 };

/* Thousandths of the distances between 24 items in 6 groups, upper triangle by rows, from numpy 1.24.2, default_rng(20261120). */
static const unsigned short thousandths[N * (N - 1) / 2] = {
	713, 185, 800, 581, 638, 420, 883, 409, 97,  138, 383, 417, 823, 240, 729, 209, 833, 776, 683, 55,  761, 908, 194, 845, 645, 716,
	247, 732, 226, 846, 221, 128, 156, 623, 931, 305, 220, 375, 244, 505, 570, 900, 270, 122, 197, 108, 32,	 565, 832, 687, 189, 940,
	851, 745, 430, 266, 312, 568, 20,  187, 122, 802, 124, 807, 421, 280, 614, 371, 301, 879, 279, 341, 794, 105, 897, 469, 290, 515,
	908, 431, 223, 194, 388, 605, 65,  73,	499, 356, 152, 78,  545, 667, 759, 495, 250, 92,  351, 220, 462, 240, 443, 208, 776, 451,
	514, 749, 701, 66,  240, 883, 223, 429, 878, 719, 57,  300, 183, 382, 226, 948, 174, 119, 354, 109, 780, 899, 723, 100, 24,  180,
	120, 883, 62,  97,  309, 480, 411, 353, 694, 870, 281, 674, 590, 530, 142, 412, 125, 433, 86,  398, 113, 571, 938, 190, 392, 616,
	730, 70,  515, 88,  116, 234, 817, 160, 230, 183, 579, 193, 292, 302, 389, 314, 243, 681, 248, 140, 298, 614, 191, 605, 195, 884,
	232, 32,  893, 388, 70,	 217, 524, 831, 435, 152, 525, 629, 690, 262, 740, 254, 138, 292, 897, 530, 381, 36,  204, 428, 870, 34,
	199, 86,  460, 241, 754, 840, 697, 309, 663, 771, 248, 783, 354, 755, 202, 222, 715, 72,  570, 40,  928, 664, 736, 276, 735, 681,
	786, 912, 60,  184, 823, 548, 329, 156, 436, 886, 390, 412, 762, 946, 191, 81,	889, 142, 371, 453, 842, 179, 707, 538, 206, 272,
	117, 741, 51,  263, 408, 790, 396, 673, 377, 216, 927, 879, 854, 61,  703, 882,
};

static struct mat planted_distances(void)
{
	struct mat d = mat_new(N, N);
	size_t k = 0;

	for (size_t i = 0; i < N; i++) {
		for (size_t j = i + 1; j < N; j++, k++) {
			mat_set(&d, i, j, thousandths[k] / 1000.);
			mat_set(&d, j, i, thousandths[k] / 1000.);
		}
	}
	return d;
}

/* Checks against fcluster(linkage(d, "average"), cut, criterion="distance") of scipy 1.10, renumbered in the order of first appearance. */
static void test_scipy(void **state)
{
	static const struct {
		double cut;
		size_t count, cluster[N];
	} rows[] = {
		{ 0, 24, { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23 } },
		{ 0.1, 14, { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 10, 6, 11, 4, 5, 2, 12, 11, 13, 11, 10, 9, 3 } },
		{ 0.2, 10, { 0, 1, 2, 3, 4, 5, 6, 6, 7, 1, 7, 8, 6, 2, 4, 5, 2, 8, 2, 9, 2, 8, 1, 3 } },
		{ 0.3, 5, { 0, 1, 2, 3, 4, 1, 4, 4, 0, 1, 0, 1, 4, 2, 4, 1, 2, 1, 2, 3, 2, 1, 1, 3 } },
		{ 0.4, 4, { 0, 1, 0, 2, 3, 1, 3, 3, 0, 1, 0, 1, 3, 0, 3, 1, 0, 1, 0, 2, 0, 1, 1, 2 } },
		{ 0.45, 3, { 0, 1, 0, 2, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 2, 0, 1, 1, 2 } },
		{ 0.5, 2, { 0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1 } },
		{ 0.6, 1, { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } },
	};
	struct mat d = planted_distances();
	size_t cluster[N];

	(void)state;
	for (size_t r = 0; r < COUNT(rows); r++) {
		assert_int_equal(linkage_cut(&d, rows[r].cut, cluster), rows[r].count);
		assert_memory_equal(cluster, rows[r].cluster, sizeof(cluster));
	}
	mat_release(&d);
}

/* Returns distances between random points in the plane if `plane`, else random numbers without any geometry. */
static struct mat random_distances(struct rng *rng, size_t n, bool plane)
{
	struct mat d = mat_new(n, n), point = mat_new(n, 2);

	for (size_t i = 0; i < 2 * n; i++)
		point.at[i] = rng_double(rng);
	for (size_t i = 0; i < n; i++) {
		for (size_t j = i + 1; j < n; j++) {
			double dx = mat_get(&point, i, 0) - mat_get(&point, j, 0);
			double dy = mat_get(&point, i, 1) - mat_get(&point, j, 1);

			mat_set(&d, i, j, plane ? hypot(dx, dy) : rng_double(rng));
			mat_set(&d, j, i, mat_get(&d, i, j));
		}
	}
	mat_release(&point);
	return d;
}

/* Returns the mean distance between the items of clusters `a` and `b`, by the definition. */
static double mean_between(const struct mat *d, const size_t *cluster, size_t a, size_t b)
{
	double sum = 0;
	size_t pairs = 0;

	for (size_t i = 0; i < d->rows; i++) {
		for (size_t j = 0; j < d->rows; j++) {
			if (cluster[i] != a || cluster[j] != b)
				continue;
			sum += mat_get(d, i, j);
			pairs++;
		}
	}
	return pairs ? sum / (double)pairs : HUGE_VAL;
}

/* Merges the closest pair of clusters as long as a pair is within `cut`. A cluster's number is its lowest item. */
static void reference_cut(const struct mat *d, double cut, size_t *cluster)
{
	for (size_t i = 0; i < d->rows; i++)
		cluster[i] = i;
	for (;;) {
		double least = HUGE_VAL;
		size_t low = 0, high = 0;

		for (size_t a = 0; a < d->rows; a++) {
			for (size_t b = a + 1; b < d->rows; b++) {
				double mean = mean_between(d, cluster, a, b);

				if (mean < least) {
					least = mean;
					low = a;
					high = b;
				}
			}
		}
		if (!(least <= cut))
			return;
		for (size_t i = 0; i < d->rows; i++)
			cluster[i] = cluster[i] == high ? low : cluster[i];
	}
}

static void assert_same_partition(const size_t *a, const size_t *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			assert_true((a[i] == a[j]) == (b[i] == b[j]));
}

static void test_textbook(void **state)
{
	struct rng rng;
	size_t expected[16], got[16];

	(void)state;
	rng_seed(&rng, 5);
	for (size_t trial = 0; trial < 60; trial++) {
		size_t n = 1 + (size_t)rng_below(&rng, 16);
		double cut = rng_double(&rng);
		struct mat d = random_distances(&rng, n, trial % 2 == 0);

		reference_cut(&d, cut, expected);
		linkage_cut(&d, cut, got);
		assert_same_partition(expected, got, n);
		mat_release(&d);
	}
}

static void test_order_of_items(void **state)
{
	struct mat d = planted_distances(), shuffled = mat_new(N, N);
	size_t order[N], plain[N], got[N], back[N];
	struct rng rng;

	(void)state;
	rng_seed(&rng, 11);
	for (size_t i = 0; i < N; i++)
		order[i] = i;
	for (size_t trial = 0; trial < 50; trial++) {
		double cut = .1 + .009 * (double)trial;

		rng_shuffle(&rng, order, N);
		for (size_t i = 0; i < N; i++)
			for (size_t j = 0; j < N; j++)
				mat_set(&shuffled, i, j, mat_get(&d, order[i], order[j]));
		assert_int_equal(linkage_cut(&d, cut, plain), linkage_cut(&shuffled, cut, got));
		for (size_t i = 0; i < N; i++)
			back[order[i]] = got[i];
		assert_same_partition(plain, back, N);
	}
	mat_release(&d);
	mat_release(&shuffled);
}

/* Checks many equal distances: the algorithm ends, numbers clusters in the order of first appearance, and returns the same result twice. */
static void test_ties(void **state)
{
	enum { TIED = 40 };
	struct rng rng;

	(void)state;
	rng_seed(&rng, 2);
	for (size_t trial = 0; trial < 200; trial++) {
		struct mat d = mat_new(TIED, TIED);
		size_t first[TIED], second[TIED], count, next = 0;
		double cut;

		for (size_t i = 0; i < TIED; i++) {
			for (size_t j = i + 1; j < TIED; j++) {
				mat_set(&d, i, j, .1 * (double)(1 + rng_below(&rng, 3)));
				mat_set(&d, j, i, mat_get(&d, i, j));
			}
		}
		cut = .1 + .2 * rng_double(&rng);
		count = linkage_cut(&d, cut, first);
		assert_int_equal(linkage_cut(&d, cut, second), count);
		assert_memory_equal(first, second, sizeof(first));
		for (size_t i = 0; i < TIED; i++) {
			assert_true(first[i] <= next);
			next += first[i] == next;
		}
		assert_int_equal(next, count);
		mat_release(&d);
	}
}

static void test_edges(void **state)
{
	struct mat none = mat_new(0, 0), one = mat_new(1, 1), three = mat_new(3, 3);
	size_t cluster[3] = { 9, 9, 9 };

	(void)state;
	assert_int_equal(linkage_cut(&none, 1, cluster), 0);
	assert_int_equal(linkage_cut(&one, 0, cluster), 1);
	assert_int_equal(cluster[0], 0);
	assert_int_equal(linkage_cut(&three, 0, cluster), 1); /* all distances are 0: the cut is inclusive */
	for (size_t k = 0; k < 9; k++)
		three.at[k] = k % 4 ? .1 : 0;
	mat_set(&three, 0, 1, .1 + 1e-12); /* a difference in the last bits does not matter */
	mat_set(&three, 1, 0, .1 + 1e-12);
	assert_int_equal(linkage_cut(&three, .1, cluster), 1);
	assert_int_equal(linkage_cut(&three, .0999, cluster), 3);
	mat_release(&none);
	mat_release(&one);
	mat_release(&three);
}

/* ---- order ---- */

static void check_permutation(const size_t *order, size_t n)
{
	bool seen[64] = { false };

	for (size_t i = 0; i < n; i++) {
		assert_true(order[i] < n && !seen[order[i]]);
		seen[order[i]] = true;
	}
}

/* Checks that the items of each cluster are contiguous in `order`, for the clusters of this `cut`. */
static void check_contiguous(const struct mat *d, const size_t *order, double cut)
{
	size_t n = d->rows, cluster[64], changes = 0, count = linkage_cut(d, cut, cluster);

	for (size_t i = 1; i < n; i++)
		changes += cluster[order[i]] != cluster[order[i - 1]];
	assert_int_equal(changes, count - 1);
}

static void test_order_keeps_clusters_together(void **state)
{
	struct rng rng;

	(void)state;
	rng_seed(&rng, 8);
	for (int round = 0; round < 60; round++) {
		size_t n = 1 + (size_t)round % 30, order[64];
		struct mat d = random_distances(&rng, n, round % 2 == 0);

		linkage_order(&d, order);
		check_permutation(order, n);
		for (double cut = 0; cut < 1.2; cut += .05)
			check_contiguous(&d, order, cut);
		mat_release(&d);
	}
}

/* Checks that points on a line are ordered as on the line, whatever their order in the input. */
static void test_order_on_a_line(void **state)
{
	enum { POINTS = 17 };
	double at[POINTS], last = -1;
	size_t order[POINTS];
	struct mat d = mat_new(POINTS, POINTS);
	bool up;

	(void)state;
	for (size_t i = 0; i < POINTS; i++)
		at[i] = (double)(i * 7 % POINTS) + .1 * (double)(i % 3);
	for (size_t i = 0; i < POINTS * POINTS; i++)
		d.at[i] = fabs(at[i / POINTS] - at[i % POINTS]);
	linkage_order(&d, order);
	up = at[order[0]] < at[order[POINTS - 1]];
	for (size_t i = 0; i < POINTS; i++) {
		double x = at[order[up ? i : POINTS - 1 - i]];

		assert_true(x > last);
		last = x;
	}
	mat_release(&d);
}

static void test_order_of_few(void **state)
{
	struct mat d = mat_new(2, 2);
	size_t order[2] = { 9, 9 };

	(void)state;
	d.rows = d.cols = 0;
	linkage_order(&d, order);
	assert_int_equal(order[0], 9); /* unchanged */
	d.rows = d.cols = 1;
	linkage_order(&d, order);
	assert_int_equal(order[0], 0);
	d.rows = d.cols = 2;
	d.at[1] = d.at[2] = 1;
	linkage_order(&d, order);
	assert_int_equal(order[0], 0);
	assert_int_equal(order[1], 1);
	mat_release(&d);
}

int suite_linkage(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scipy),		cmocka_unit_test(test_textbook),
		cmocka_unit_test(test_order_of_items),	cmocka_unit_test(test_ties),
		cmocka_unit_test(test_edges),		cmocka_unit_test(test_order_keeps_clusters_together),
		cmocka_unit_test(test_order_on_a_line), cmocka_unit_test(test_order_of_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
