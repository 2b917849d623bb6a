/* Checks k-means against scikit-learn, and properties for any data. */
#include "model/anomaly/clusters.c" /* for access to a start from given centers, and to the functions of a cluster */

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* Four groups of random rows (numpy 1.24.2, default_rng(20261120)). */
/* Runs k-means only from the given centers [k x p]; tests use it for cases such as a cluster that becomes empty. */
static void kmeans_from(const struct mat *rows, const struct mat *centers, struct kmeans *out)
{
	struct kmeans_start s;

	ASSAY_BUG_IF(centers->rows == 0 || centers->rows > rows->rows || centers->cols != rows->cols);
	start_init(&s, rows, centers->rows, 0);
	for (size_t c = 0; c < s.k; c++)
		for (size_t j = 0; j < rows->cols; j++)
			s.centers[j * s.k + c] = mat_get(centers, c, j);
	start_run(&s);
	*out = start_result(&s);
	start_release(&s);
}

static const signed char points[][2] = {
	{ 17, -4 }, { 12, 7 },	{ 47, 9 },  { 85, 94 }, { 77, 12 }, { 94, 93 }, { 22, 71 }, { 80, 75 },	 { 62, 18 }, { 97, 97 }, { 88, 75 },
	{ 0, 7 },   { -7, -3 }, { 40, 69 }, { -2, 10 }, { 5, 7 },   { 37, 64 }, { 86, 77 }, { 14, -21 }, { 85, 76 }, { 64, 11 }, { 48, 20 },
	{ 27, 73 }, { 35, 73 }, { 19, 18 }, { 54, 2 },	{ 7, 53 },  { 88, 95 }, { 71, 12 }, { 34, 79 },	 { 10, 87 }, { 55, 31 },
};

static struct mat planted(void)
{
	struct mat rows = mat_new(COUNT(points), 2);

	for (size_t i = 0; i < rows.rows; i++)
		for (size_t j = 0; j < 2; j++)
			mat_set(&rows, i, j, points[i][j]);
	return rows;
}

static double squared(const struct mat *a, size_t i, const struct mat *b, size_t k)
{
	double sum = 0.0;

	for (size_t j = 0; j < a->cols; j++)
		sum += (mat_get(a, i, j) - mat_get(b, k, j)) * (mat_get(a, i, j) - mat_get(b, k, j));
	return sum;
}

/* Checks against inertia_ of KMeans(k, n_init=200, tol=0) of scikit-learn 1.2.1. */
static void test_scikit_learn(void **state)
{
	static const double within[] = { 76476.4375,	    32298.172549019608, 17271.25,	   5694.0,
					 4816.191666666666, 4016.0666666666666, 3224.5249999999996 };
	static const size_t labels[] = { 0, 0, 1, 2, 1, 2, 3, 2, 1, 2, 2, 0, 0, 3, 0, 0, 3, 2, 0, 2, 1, 1, 3, 3, 0, 1, 3, 2, 1, 3, 3, 1 };
	struct mat rows = planted();
	struct kmeans kmeans;
	size_t place[4] = { 9, 9, 9, 9 }, next = 0;

	(void)state;
	for (size_t k = 1; k <= COUNT(within); k++) {
		kmeans_fit(&rows, k, 200, 1, 1, &kmeans);
		assert_true(fabs(kmeans.within - within[k - 1]) < 1e-9 * within[k - 1]);
		if (k == 4) {
			for (size_t i = 0; i < rows.rows; i++) {
				if (place[kmeans.cluster[i]] == 9)
					place[kmeans.cluster[i]] = next++;
				assert_int_equal(place[kmeans.cluster[i]], labels[i]);
			}
		}
		kmeans_release(&kmeans);
	}
	mat_release(&rows);
}

/* Checks that each row has a nearest center, each center is the mean of its rows, and the sum is right. Counts nonempty clusters. */
static size_t assert_fitted(const struct mat *rows, const struct kmeans *kmeans)
{
	size_t k = kmeans->centers.rows, filled = 0, *count = mem_new(k, sizeof(*count));
	struct mat sum = mat_new(k, rows->cols);
	double within = 0.0;

	for (size_t i = 0; i < rows->rows; i++) {
		double own = squared(rows, i, &kmeans->centers, kmeans->cluster[i]);

		for (size_t c = 0; c < k; c++)
			assert_true(own <= squared(rows, i, &kmeans->centers, c) + 1e-9);
		for (size_t j = 0; j < rows->cols; j++)
			sum.at[kmeans->cluster[i] * rows->cols + j] += mat_get(rows, i, j);
		count[kmeans->cluster[i]]++;
		within += own;
	}
	assert_true(fabs(within - kmeans->within) <= 1e-9 * (1.0 + within));
	for (size_t c = 0; c < k; c++) {
		filled += count[c] > 0;
		for (size_t j = 0; count[c] && j < rows->cols; j++)
			assert_true(fabs(mat_get(&sum, c, j) / (double)count[c] - mat_get(&kmeans->centers, c, j)) < 1e-9);
	}
	free(count);
	mat_release(&sum);
	return filled;
}

static size_t distinct(const struct mat *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < rows->rows; i++) {
		size_t same = 0;

		for (size_t k = 0; k < i; k++)
			same += squared(rows, i, rows, k) <= 0.0;
		n += same == 0;
	}
	return n;
}

/* Checks small integers: many equal rows and distances, and clusters that become empty. */
static void test_any(void **state)
{
	struct rng rng;
	size_t short_of_rows = 0;

	(void)state;
	rng_seed(&rng, 1);
	for (size_t i = 0; i < 1000; i++) {
		size_t n = 1 + (size_t)rng_below(&rng, 30), k = 1 + (size_t)rng_below(&rng, n), different;
		struct mat rows = mat_new(n, 1 + (size_t)rng_below(&rng, 3));
		struct kmeans kmeans;
		size_t filled;

		for (size_t v = 0; v < n * rows.cols; v++)
			rows.at[v] = (double)rng_below(&rng, 5);
		kmeans_fit(&rows, k, 1 + i % 3, i, 1, &kmeans);
		filled = assert_fitted(&rows, &kmeans);
		different = distinct(&rows);
		assert_int_equal(filled, different < k ? different : k);
		if (different < k) {
			assert_true(kmeans.within <= 0.0);
			short_of_rows++;
		}
		for (size_t c = 0; c < k; c++) { /* even the center of an empty cluster is at a row */
			double least = squared(&kmeans.centers, c, &kmeans.centers, kmeans.cluster[0]);

			for (size_t r = 0; r < n; r++)
				least = fmin(least, squared(&kmeans.centers, c, &kmeans.centers, kmeans.cluster[r]));
			assert_true(least <= 0.0);
		}
		kmeans_release(&kmeans);
		mat_release(&rows);
	}
	assert_true(short_of_rows > 50);
}

/* Checks a cluster that becomes empty: the middle center gets 0 and 10 and moves between them, where both have a nearer one. The cluster
 * then gets the row that is farthest from its center. */
static void test_runs_empty(void **state)
{
	double at[24], first[] = { -8, 0, 21 };
	struct mat rows = { 24, 1, at }, centers = { 3, 1, first };
	struct kmeans kmeans;

	(void)state;
	for (size_t i = 0; i < 20; i++)
		at[i] = i < 10 ? -4.1 : 10.6;
	memcpy(at + 20, (double[]){ -8, 0, 10, 21 }, 4 * sizeof(double));
	kmeans_from(&rows, &centers, &kmeans);
	assert_int_equal(assert_fitted(&rows, &kmeans), 3);
	for (size_t c = 0, alone = 0; c < 3; c++) {
		alone += fabs(mat_get(&kmeans.centers, c, 0) - 21.0) < 1e-9;
		assert_true(c < 2 || alone == 1);
	}
	kmeans_release(&kmeans);
}

static void test_threads(void **state)
{
	struct mat rows = mat_new(2000, 7);
	struct kmeans one, many;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 3);
	for (size_t i = 0; i < rows.rows * rows.cols; i++)
		rows.at[i] = rng_normal(&rng) + (double)rng_below(&rng, 3);
	for (uint64_t seed = 0; seed < 3; seed++) {
		kmeans_fit(&rows, 6, 5, seed, 1, &one);
		kmeans_fit(&rows, 6, 5, seed, 4, &many);
		assert_memory_equal(one.centers.at, many.centers.at, 6 * 7 * sizeof(double));
		assert_memory_equal(one.cluster, many.cluster, rows.rows * sizeof(size_t));
		assert_memory_equal(&one.within, &many.within, sizeof(double));
		assert_int_equal(one.iterations, many.iterations);
		assert_int_equal(assert_fitted(&rows, &one), 6);
		kmeans_release(&one);
		kmeans_release(&many);
	}
	mat_release(&rows);
}

static void test_functions(void **state)
{
	static size_t cluster[] = { 2, 2, 0, 4, 4, 0, 2, 2, 2 };
	static const size_t function[] = { 0, 0, 0, 1, 1, 1, 2, 3, 3 };
	struct kmeans kmeans = { .centers = { 5, 1, NULL }, .n = COUNT(cluster), .cluster = cluster };
	size_t of[5];

	(void)state;
	assert_int_equal(assign_functions(&kmeans, function, 4, of), 2); /* clusters 2 and 4 remain */
	assert_int_equal(of[0], 0);
	assert_int_equal(of[1], 1);
	assert_int_equal(of[2], 0);
	assert_int_equal(of[3], 0);
	cluster[0] = 0; /* now the other cluster has two of three samples */
	cluster[4] = 3; /* three clusters with one sample each: the first wins */
	assert_int_equal(assign_functions(&kmeans, function, 5, of), 2);
	assert_int_equal(of[0], 0);
	assert_int_equal(of[1], 0);
	assert_int_equal(of[2], 1);
	assert_int_equal(of[4], 0); /* no samples */
}

int suite_kmeans(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scikit_learn), cmocka_unit_test(test_any),	cmocka_unit_test(test_threads),
		cmocka_unit_test(test_functions),    cmocka_unit_test(test_runs_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
