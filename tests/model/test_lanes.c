/* Every variant gives the same bits; products are OpenBLAS's, curves are the C library's, up to what their header promises. */
#include "base/rng.h"
#include "model/anomaly/lanes.h"

#include <cblas.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define VARIANTS 3
#define N	 4096

static double a[N], b[N], c[VARIANTS][N], start[64];

static void fill(double *x, size_t n, struct rng *rng)
{
	for (size_t i = 0; i < n; i++)
		x[i] = rng_normal(rng);
}

static void assert_same(const char *what, const char *variant, const double *x, const double *y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (memcmp(&x[i], &y[i], sizeof(x[i])))
			fail_msg("%s: %s gives %.17g, not %.17g", what, variant, x[i], y[i]);
}

static const struct {
	size_t rows, columns, depth;
	int transposed;
} products[] = {
	{ 1, 8, 1, 0 }, { 4, 8, 3, 0 }, { 7, 16, 5, 1 }, { 13, 24, 20, 0 }, { 33, 40, 9, 1 }, { 50, 32, 17, 0 }, { 5, 8, 0, 0 },
};

static void test_products(void **state)
{
	const struct lanes *all[VARIANTS];
	size_t variants = lanes_all(all, VARIANTS);
	struct rng rng;

	(void)state;
	openblas_set_num_threads(1);
	rng_seed(&rng, 1);
	for (size_t i = 0; i < sizeof(products) / sizeof(products[0]); i++) {
		size_t rows = products[i].rows, columns = products[i].columns, depth = products[i].depth;
		size_t a_row = products[i].transposed ? 1 : depth, a_depth = products[i].transposed ? rows : 1;
		double expected[N];

		fill(a, rows * depth, &rng);
		fill(b, depth * columns, &rng);
		fill(start, columns, &rng);
		for (size_t k = 0; k < rows * columns; k++)
			expected[k] = start[k % columns];
		if (depth)
			cblas_dgemm(CblasRowMajor, products[i].transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, (int)rows,
				    (int)columns, (int)depth, 1.0, a, (int)(products[i].transposed ? rows : depth), b, (int)columns, 1.0,
				    expected, (int)columns);
		for (size_t v = 0; v < variants; v++) {
			all[v]->product(rows, columns, depth, a, a_row, a_depth, b, start, c[v]);
			assert_same("product", all[v]->name, c[v], c[0], rows * columns);
			for (size_t k = 0; k < rows * columns; k++)
				assert_true(fabs(c[v][k] - expected[k]) < 1e-13 * (1.0 + (double)depth));
		}
		lanes_here()->product(rows, columns, depth, a, a_row, a_depth, b, NULL, c[1]);
		for (size_t k = 0; k < rows * columns; k++)
			assert_true(fabs(c[1][k] + start[k % columns] - expected[k]) < 1e-13 * (1.0 + (double)depth));
	}
}

/* A row's product is its own, whoever stands beside it. */
static void test_row_alone(void **state)
{
	const struct lanes *all[VARIANTS];
	size_t variants = lanes_all(all, VARIANTS);
	struct rng rng;

	(void)state;
	rng_seed(&rng, 2);
	fill(a, 37 * 11, &rng);
	fill(b, 11 * 24, &rng);
	for (size_t v = 0; v < variants; v++) {
		double alone[24];

		all[v]->product(37, 24, 11, a, 11, 1, b, NULL, c[v]);
		for (size_t r = 0; r < 37; r++) {
			all[v]->product(1, 24, 11, a + r * 11, 11, 1, b, NULL, alone);
			assert_same("a row alone", all[v]->name, alone, c[v] + r * 24, 24);
		}
	}
}

static void test_sum_rows(void **state)
{
	const struct lanes *all[VARIANTS];
	size_t variants = lanes_all(all, VARIANTS);
	struct rng rng;

	(void)state;
	rng_seed(&rng, 3);
	fill(a, 100 * 24, &rng);
	for (size_t v = 0; v < variants; v++) {
		all[v]->sum_rows(100, 24, a, c[v]);
		for (size_t j = 0; j < 24; j++) {
			double sum = 0.0;

			for (size_t r = 0; r < 100; r++)
				sum += a[r * 24 + j];
			assert_same("sum of rows", all[v]->name, &c[v][j], &sum, 1);
		}
	}
}

static double curve_of(enum lanes_curve curve, double x)
{
	return curve == LANES_TANH ? tanh(x) : curve == LANES_SIGMOID ? 1.0 / (1.0 + exp(-x)) : x;
}

static void test_curves(void **state)
{
	static const double odd[] = { 0.0,    -0.0,  1e-300, -1e-300, 5e-324, 20.0,	-20.0,	   349.9,
				      -350.1, 710.0, -745.0, 1e300,   -1e300, HUGE_VAL, -HUGE_VAL, 1.0 };
	const struct lanes *all[VARIANTS];
	size_t variants = lanes_all(all, VARIANTS);

	(void)state;
	for (int curve = LANES_LINEAR; curve <= LANES_SIGMOID; curve++) {
		for (size_t i = 0; i < N; i++)
			a[i] = i < 16 ? odd[i] : ((double)i - 2000.3) * (i % 2 ? .02 : 1e-5);
		for (size_t v = 0; v < variants; v++) {
			memcpy(c[v], a, sizeof(a));
			all[v]->curve((enum lanes_curve)curve, c[v], N);
			assert_same("curve", all[v]->name, c[v], c[0], N);
			for (size_t i = 0; i < N; i++)
				if (isfinite(a[i]) || curve != LANES_LINEAR)
					assert_true(fabs(c[v][i] - curve_of((enum lanes_curve)curve, a[i])) < 5e-16);
		}
	}
	assert_true(c[0][0] == .5); /* of the sigmoid at 0: what pads relies on it */
}

static double slope_of(enum lanes_curve curve, double y)
{
	return curve == LANES_TANH ? 1.0 - y * y : curve == LANES_SIGMOID ? y * (1.0 - y) : 1.0;
}

static void test_elements(void **state)
{
	const struct lanes *all[VARIANTS];
	const struct lanes_adam adam = { .9, .999, 2e-3, 1.7, 1e-8 };
	size_t variants = lanes_all(all, VARIANTS);
	struct rng rng;

	(void)state;
	rng_seed(&rng, 5);
	fill(a, 64, &rng);
	fill(b, 64, &rng);
	for (size_t v = 0; v < variants; v++) {
		double x[64], first[64], second[64];

		for (int curve = LANES_LINEAR; curve <= LANES_SIGMOID; curve++) {
			memcpy(x, b, sizeof(x));
			all[v]->slope((enum lanes_curve)curve, a, x, 64);
			for (size_t i = 0; i < 64; i++)
				assert_true(fabs(x[i] - b[i] * slope_of((enum lanes_curve)curve, a[i])) <= 1e-15 * fabs(x[i]));
		}
		memcpy(x, b, sizeof(x));
		all[v]->miss(a, .25, x, 64);
		for (size_t i = 0; i < 64; i++)
			assert_true(x[i] == (b[i] - a[i]) * .25);
		memcpy(x, b, sizeof(x));
		all[v]->descend(.01, a, x, 64);
		for (size_t i = 0; i < 64; i++)
			assert_true(x[i] == b[i] - a[i] * .01);
		for (size_t i = 0; i < 64; i++) {
			x[i] = b[i];
			first[i] = .1 * (double)i;
			second[i] = .2 * (double)i;
		}
		all[v]->adam(&adam, a, first, second, x, 64);
		for (size_t i = 0; i < 64; i++) {
			double m = .9 * .1 * (double)i + .1 * a[i], s = .999 * .2 * (double)i + .001 * a[i] * a[i];

			assert_true(fabs(first[i] - m) < 1e-14 && fabs(second[i] - s) < 1e-14);
			assert_true(fabs(x[i] - (b[i] - 2e-3 * m / (1.7 * sqrt(s) + 1e-8))) < 1e-14);
		}
		memcpy(c[v], x, sizeof(x));
		assert_same("Adam", all[v]->name, c[v], c[0], 64);
	}
}

int suite_lanes(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_products), cmocka_unit_test(test_row_alone), cmocka_unit_test(test_sum_rows),
		cmocka_unit_test(test_curves),	 cmocka_unit_test(test_elements),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
