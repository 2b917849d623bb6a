/* Checks principal components: correlations with a known closed form, and properties for any data. */
#include "base/rng.h"
#include "base/stats.h"
#include "model/pca.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void assert_near(double a, double b, double within)
{
	if (!(fabs(a - b) <= within))
		fail_msg("%.17g is not %.17g within %g", a, b, within);
}

/* Checks two columns with correlation r: eigenvalues 1 + |r| and 1 - |r|, vectors along the diagonals. */
static void two_columns(void **state)
{
	static const double values[2][5] = { { 1, 2, 3, 4, 5 }, { 9, 8, 3, 5, 1 } };
	struct mat X = mat_new(5, 2);
	struct pca pca;
	double r = stats_correlation(values[0], values[1], 5);

	(void)state;
	assert_true(r < -.5);
	for (size_t i = 0; i < 5; i++) {
		mat_set(&X, i, 0, 100 * values[0][i]);
		mat_set(&X, i, 1, values[1][i] - 7);
	}
	pca_compute(&X, &pca);
	assert_int_equal(pca.n, 2);
	assert_near(pca.eigenvalue[0], 1 - r, 1e-12);
	assert_near(pca.eigenvalue[1], 1 + r, 1e-12);
	assert_near(mat_get(&pca.loading, 0, 0), sqrt(.5), 1e-12); /* opposite signs; the first is made positive */
	assert_near(mat_get(&pca.loading, 0, 1), -sqrt(.5), 1e-12);
	pca_release(&pca);
	mat_release(&X);
}

static struct mat made_up(size_t rows, size_t cols, uint64_t seed)
{
	struct mat X = mat_new(rows, cols);
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t i = 0; i < rows; i++) {
		double common = rng_normal(&rng);

		for (size_t j = 0; j < cols; j++)
			mat_set(&X, i, j, j == 2 ? 4 : (double)j * common + (1 + (double)(j % 3)) * rng_normal(&rng));
	}
	return X;
}

/* Checks that scores have mean 0, the eigenvalue as variance, and no correlation, and that loadings are orthonormal. Eigenvalues must
 * sum to the number of columns that vary (column 2 does not). */
static void components_are_right(void **state)
{
	static const size_t sizes[][2] = { { 30, 7 }, { 6, 20 }, { 2, 5 } };

	(void)state;
	for (size_t s = 0; s < 3; s++) {
		size_t rows = sizes[s][0], cols = sizes[s][1];
		struct mat X = made_up(rows, cols, 7 + s), scores;
		struct pca pca;
		double sum = 0;

		pca_compute(&X, &pca);
		assert_int_equal(pca.n, rows - 1 < cols - 1 ? rows - 1 : cols - 1);
		scores = mat_new(pca.n, rows);
		for (size_t k = 0; k < pca.n; k++) {
			double *score = &scores.at[k * rows];

			sum += pca.eigenvalue[k];
			assert_true(k == 0 || pca.eigenvalue[k] <= pca.eigenvalue[k - 1]);
			for (size_t i = 0; i < rows; i++)
				score[i] = pca_score(&pca, k, &X.at[i * cols]);
			assert_near(stats_mean(score, rows), 0, 1e-9);
			assert_near(stats_sd(score, rows) * stats_sd(score, rows), pca.eigenvalue[k], 1e-9);
			for (size_t l = 0; l <= k; l++) {
				double dot = 0;

				for (size_t j = 0; j < cols; j++)
					dot += mat_get(&pca.loading, k, j) * mat_get(&pca.loading, l, j);
				assert_near(dot, k == l, 1e-9);
				assert_near(stats_correlation(score, &scores.at[l * rows], rows), k == l, 1e-7);
			}
			assert_near(mat_get(&pca.loading, k, 2), 0, 0);
		}
		assert_near(sum, (double)(cols - 1), 1e-9);
		pca_release(&pca);
		mat_release(&X);
		mat_release(&scores);
	}
}

static void nothing_to_tell(void **state)
{
	static const size_t sizes[][2] = { { 1, 3 }, { 5, 0 }, { 0, 3 } };
	struct mat same = mat_new(4, 2);
	struct pca pca;

	(void)state;
	for (size_t s = 0; s < 3; s++) {
		struct mat X = mat_new(sizes[s][0], sizes[s][1]);

		pca_compute(&X, &pca);
		assert_int_equal(pca.n, 0);
		pca_release(&pca);
		mat_release(&X);
	}
	for (size_t i = 0; i < 4; i++)
		mat_set(&same, i, 0, i % 2 ? .1 + .2 : .3); /* differs only by rounding */
	pca_compute(&same, &pca);
	assert_int_equal(pca.n, 0);
	pca_release(&pca);
	mat_release(&same);
}

/* Checks that copies of one column count as one component, and uncorrelated columns as one each. */
static void things_are_counted(void **state)
{
	struct mat copies = mat_new(6, 9), apart = mat_new(5, 4);
	struct pca pca;

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		for (size_t j = 0; j < 9; j++)
			mat_set(&copies, i, j, (double)(i * i) * (j % 2 ? -3 : 1));
	}
	pca_compute(&copies, &pca);
	assert_int_equal(pca.n, 1);
	assert_near(pca.eigenvalue[0], 9, 1e-12);
	pca_release(&pca);
	for (size_t j = 0; j < 4; j++) { /* Helmert contrasts are orthogonal */
		for (size_t i = 0; i <= j; i++)
			mat_set(&apart, i, j, 1);
		mat_set(&apart, j + 1, j, -(double)(j + 1));
	}
	pca_compute(&apart, &pca);
	assert_int_equal(pca.n, 4);
	for (size_t k = 0; k < 4; k++)
		assert_near(pca.eigenvalue[k], 1, 1e-12);
	pca_release(&pca);
	mat_release(&copies);
	mat_release(&apart);
}

int suite_pca(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(two_columns), cmocka_unit_test(components_are_right),
					    cmocka_unit_test(nothing_to_tell), cmocka_unit_test(things_are_counted) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
