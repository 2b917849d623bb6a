/* Checks the LASSO: optimality by the conditions of Karush, Kuhn and Tucker, and coefficients against scikit-learn 1.2.1's Lasso. */
#include "base/mem.h"
#include "base/rng.h"
#include "model/sparse/lasso.c" /* for access to the active set */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define N 60
#define P 8

#define WAYS 3
static const struct lasso_options ways[WAYS] = {
	{ .smallest = 1e-3 },
	{ .any_sign = true, .smallest = 1e-3 },
	{ .is_intercept_bounded = true, .smallest = 1e-3 },
};

static double drawn(uint32_t *state)
{
	*state = (*state * 1103515245u + 12345u) & 0x7fffffffu;
	return *state / 2147483648.0;
}

/* Makes the same data as the script that computed `oracle`. */
static void make_data(struct mat *X, double *y)
{
	static const double unit[] = { 1.0, 10.0, 100.0, 1000.0 };
	uint32_t state = 12345;

	*X = mat_new(N, P);
	for (size_t i = 0; i < N; i++) {
		for (size_t j = 0; j < P; j++)
			mat_set(X, i, j, drawn(&state) * unit[j % 4] + (j % 3 == 2 ? .5 * mat_get(X, i, j - 1) : 0.0));
		y[i] = 3.0 + 2.0 * mat_get(X, i, 0) + .03 * mat_get(X, i, 3) - .4 * mat_get(X, i, 5) + .002 * mat_get(X, i, 7);
		y[i] += drawn(&state);
	}
}

/* Results of Lasso(positive=..., tol=1e-14) on columns with weighted mean 0 and variance 1, with weights 1 or 1 / y^2. Coefficients and
 * intercept are converted to the original columns. */
static const struct {
	bool any_sign, relative;
	size_t lambda;
	double intercept, beta[P];
} oracle[] = {
	{ false, false, 20, 7.1575201771, { 0, 0, 0, 0.0224984835579, 0, 0, 0, 0 } },
	{ false,
	  false,
	  60,
	  2.18206303042,
	  { 1.18166660706, 0.00848311274214, 0.000725073105166, 0.0292151434531, 0.00738581314951, 0, 0.00191530460334,
	    0.00158220002895 } },
	{ false,
	  false,
	  99,
	  1.03300113113,
	  { 1.62397289004, 0.0438610701791, 0.00513244434675, 0.0294172265559, 0.31966459242, 0, 0.00339088482456, 0.00204469929519 } },
	{ false, true, 20, 2.62154094965, { 0, 0, 0, 0.0248413832319, 0, 0, 0, 0 } },
	{ false, true, 60, -0.0801359746155, { 1.69325555587, 0.141075026578, 0, 0.0297946293021, 0, 0, 0, 0.00346342789124 } },
	{ false, true, 99, -0.37717180843, { 1.94719077841, 0.170428030647, 0, 0.0300158042092, 0, 0, 0, 0.00367619538014 } },
	{ true, false, 20, 7.1575201771, { 0, 0, 0, 0.0224984835579, 0, -0, 0, 0 } },
	{ true, false, 60, 4.05028136202, { 1.4249724729, 0, 0, 0.0295916011507, 0, -0.355974039025, 0, 0.0014461168147 } },
	{ true,
	  false,
	  99,
	  3.69274575064,
	  { 1.95678313439, -0, 0.000396536703512, 0.0300347000442, 0, -0.403062823856, -0.00144883908998, 0.00180318156011 } },
	{ true, true, 20, 2.86667320042, { 0, 0, -0, 0.0246996587906, -0, -0.0309333745917, -0, 0 } },
	{ true, true, 60, 3.51668769822, { 1.71563538555, 0, 0, 0.0295159690292, -0, -0.350803466735, -0, 0.00173842619598 } },
	{ true,
	  true,
	  99,
	  3.37914449736,
	  { 1.95664169878, -0, 0.00227769667976, 0.0297873988353, 0.179970792778, -0.377484758933, -0.00200712839872, 0.00200240588918 } },
};

static void test_oracle(void **state)
{
	double y[N], weight[N];
	struct mat X;

	(void)state;
	make_data(&X, y);
	for (size_t c = 0; c < sizeof(oracle) / sizeof(oracle[0]); c++) {
		size_t k = oracle[c].lambda;
		struct lasso_path path;

		for (size_t i = 0; i < N; i++)
			weight[i] = oracle[c].relative ? 1.0 / (y[i] * y[i]) : 5.0;
		lasso_path_compute(&X, y, weight, &ways[oracle[c].any_sign], NULL, &path);
		assert_true(fabs(path.intercept[k] - oracle[c].intercept) <= 1e-6);
		for (size_t j = 0; j < P; j++)
			assert_true(fabs(mat_get(&path.beta, k, j) - oracle[c].beta[j]) <= 1e-6 * fmax(1e-3, fabs(oracle[c].beta[j])));
		lasso_path_release(&path);
	}
	mat_release(&X);
}

/* Checks optimality. The weighted product of a standardized column with the residual of y is lambda for a positive coefficient, -lambda
 * for a negative one. For a coefficient of 0, it is between them (only at most lambda if coefficients must not be negative). If the
 * intercept is bounded at 0, columns are not centered and a higher one must not help. Returns whether it is bounded. */
static bool assert_minimum(const struct mat *X, const double *y, const double *weight, const struct lasso_options *how,
			   const struct lasso_path *path, size_t k, double enough)
{
	double sum = 0.0, left = 0.0, slack = enough * path->lambda[0];
	bool any_sign = how->any_sign, origin = how->is_intercept_bounded && path->intercept[k] == 0.0;

	for (size_t i = 0; i < X->rows; i++)
		sum += weight[i];
	for (size_t i = 0; i < X->rows; i++) {
		left += weight[i] / sum * (y[i] - path->intercept[k]);
		for (size_t l = 0; l < X->cols; l++)
			left -= weight[i] / sum * mat_get(&path->beta, k, l) * mat_get(X, i, l);
	}
	assert_true(left <= slack + 1e-12 && (origin || left >= -slack - 1e-12));
	assert_true(!how->is_intercept_bounded || path->intercept[k] >= 0.0);
	for (size_t j = 0; j < X->cols; j++) {
		double mean = 0.0, variance = 0.0, correlation = 0.0, beta = mat_get(&path->beta, k, j), lambda = path->lambda[k];

		for (size_t i = 0; i < X->rows; i++)
			mean += weight[i] / sum * mat_get(X, i, j);
		for (size_t i = 0; i < X->rows; i++) {
			double residual = y[i] - path->intercept[k], x = mat_get(X, i, j) - mean;

			for (size_t l = 0; l < X->cols; l++)
				residual -= mat_get(&path->beta, k, l) * mat_get(X, i, l);
			correlation += weight[i] / sum * (origin ? mat_get(X, i, j) : x) * residual;
			variance += weight[i] / sum * x * x;
		}
		if (variance <= 0.0) {
			assert_true(beta == 0.0);
			continue;
		}
		correlation /= sqrt(variance);
		if (beta != 0.0)
			assert_true(fabs(correlation - copysign(lambda, beta)) <= slack);
		else
			assert_true(correlation <= lambda + slack && (!any_sign || correlation >= -lambda - slack));
		assert_true(any_sign || beta >= 0.0);
	}
	return origin;
}

static void test_minimum(void **state)
{
	struct rng rng;
	size_t at_origin = 0, paths = 0;

	(void)state;
	rng_seed(&rng, 1);
	for (size_t c = 0; c < 120; c++) {
		size_t n = 5 + rng_below(&rng, 60), p = 1 + rng_below(&rng, 12); /* includes cases with more columns than rows */
		struct mat X = mat_new(n, p);
		double *y = mem_new(n, sizeof(*y)), *weight = mem_new(n, sizeof(*weight));
		struct lasso_path path;

		for (size_t i = 0; i < n; i++) {
			y[i] = c % 2 ? 1.0 : -3.0;
			weight[i] = .1 + rng_double(&rng);
			for (size_t j = 0; j < p; j++) {
				mat_set(&X, i, j, j == 3 ? 7.0 : rng_double(&rng) * (double)(j + 1));
				y[i] += (double)(j % 3) * mat_get(&X, i, j);
			}
			y[i] += rng_double(&rng);
		}
		lasso_path_compute(&X, y, weight, &ways[c % WAYS], NULL, &path);
		for (size_t k = 0; k < LASSO_LAMBDAS; k += 11) {
			paths += ways[c % WAYS].is_intercept_bounded;
			at_origin += assert_minimum(&X, y, weight, &ways[c % WAYS], &path, k, 1e-8);
		}
		lasso_path_release(&path);
		mat_release(&X);
		free(y);
		free(weight);
	}
	assert_true(at_origin > 0 && at_origin < paths); /* both cases occurred */
}

/* Checks nearly collinear columns, some of them sums of others; coordinate descent would take days. */
static void test_together(void **state)
{
	const size_t n = 60, p = 90;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 2);
	for (size_t c = 0; c < 12; c++) {
		struct mat X = mat_new(n, p);
		double *y = mem_new(n, sizeof(*y)), *weight = mem_new(n, sizeof(*weight)), apart = c < 6 ? 1e-2 : 1e-4;
		struct lasso_path path;

		for (size_t i = 0; i < n; i++) {
			double size = rng_double(&rng);

			y[i] = 1.0 + size;
			weight[i] = .1 + rng_double(&rng);
			for (size_t j = 0; j < p; j++) {
				double sum = j >= 10 ? mat_get(&X, i, j - 9) + mat_get(&X, i, j - 7) : 0.0;

				mat_set(&X, i, j, j % 10 == 9 ? sum : size + apart * rng_normal(&rng));
				y[i] += j % 7 == 0 ? .3 * mat_get(&X, i, j) : 0.0;
			}
			y[i] += .01 * rng_normal(&rng);
		}
		lasso_path_compute(&X, y, weight, &ways[c % WAYS], NULL, &path);
		for (size_t k = 0; k < LASSO_LAMBDAS; k++)
			(void)assert_minimum(&X, y, weight, &ways[c % WAYS], &path, k, 1e-9);
		lasso_path_release(&path);
		mat_release(&X);
		free(y);
		free(weight);
	}
}

/* Checks that a column that is the sum of two active columns replaces them, because it has a smaller penalty. */
static void test_exchanged(void **state)
{
	double z[4 * N], y[N], b[4] = { .5, .7, 0.0, 0.0 }, correlation[4], *products[4] = { NULL };
	const bool allowed[4] = { true, true, true, true };
	const struct active_problem problem = { .z = z,
						.y = y,
						.n = N,
						.p = 4,
						.correlation = correlation,
						.products = products,
						.allowed = allowed,
						.any_sign = true,
						.enough = 1e-11 };
	struct active_set *set;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 3);
	for (size_t i = 0; i < N; i++) {
		z[i] = rng_normal(&rng) / sqrt(N);
		z[N + i] = rng_normal(&rng) / sqrt(N);
		z[2 * N + i] = (z[i] + z[N + i]) / sqrt(2.0);
		z[3 * N + i] = rng_normal(&rng) / sqrt(N);
		y[i] = .1 * rng_normal(&rng) / sqrt(N) + .5 * z[i] + 1.1 * z[N + i];
	}
	for (size_t j = 0; j < 4; j++)
		correlation[j] = active_set_dot(z + j * N, y, N);
	set = active_set_new(&problem, b);
	active_set_solve(set, .1);
	active_set_free(set);
	assert_true(b[2] != 0.0 && (b[0] == 0.0 || b[1] == 0.0));
	for (size_t j = 0; j < 4; j++) {
		double left = 0.0;

		for (size_t i = 0; i < N; i++)
			left += z[j * N + i] * (y[i] - b[0] * z[i] - b[1] * z[N + i] - b[2] * z[2 * N + i] - b[3] * z[3 * N + i]);
		free(products[j]);
		assert_true(b[j] != 0.0 ? fabs(left - copysign(.1, b[j])) <= 1e-12 : fabs(left) <= .1 + 1e-10);
	}
}

int suite_lasso(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_oracle), cmocka_unit_test(test_minimum), cmocka_unit_test(test_together),
					    cmocka_unit_test(test_exchanged) };

	return cmocka_run_group_tests_name("lasso", tests, NULL, NULL);
}
