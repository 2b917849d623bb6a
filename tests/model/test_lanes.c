/* Checks that sums are computed in order and without fused operations, to the last bit, and that products equal OpenBLAS's and curves
 * the C library's, within the tolerance in lanes.h. */
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

#define N 4096

static double a[N], b[N], c[N], start[64];

static void fill(double *x, size_t n, struct rng *rng)
{
	for (size_t i = 0; i < n; i++)
		x[i] = rng_normal(rng);
}

static const struct {
	size_t rows, columns, depth;
	int transposed;
} products[] = {
	{ 1, 8, 1, 0 }, { 4, 8, 3, 0 }, { 7, 16, 5, 1 }, { 13, 24, 20, 0 }, { 33, 40, 9, 1 }, { 50, 32, 17, 0 }, { 5, 8, 0, 0 },
};

static void test_products(void **state)
{
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
		lanes_product(rows, columns, depth, a, a_row, a_depth, b, start, c);
		for (size_t k = 0; k < rows * columns; k++) {
			double sum = start[k % columns];

			for (size_t d = 0; d < depth; d++)
				sum += a[k / columns * a_row + d * a_depth] * b[d * columns + k % columns];
			assert_memory_equal(&c[k], &sum, sizeof(sum));
			assert_true(fabs(c[k] - expected[k]) < 1e-13 * (1.0 + (double)depth));
		}
		lanes_product(rows, columns, depth, a, a_row, a_depth, b, NULL, c);
		for (size_t k = 0; k < rows * columns; k++)
			assert_true(fabs(c[k] + start[k % columns] - expected[k]) < 1e-13 * (1.0 + (double)depth));
	}
}

static double curve_of(enum lanes_activation curve, double x)
{
	return curve == LANES_TANH ? tanh(x) : curve == LANES_SIGMOID ? 1.0 / (1.0 + exp(-x)) : x;
}

static void test_curves(void **state)
{
	static const double odd[] = { 0.0,    -0.0,  1e-300, -1e-300, 5e-324, 20.0,	-20.0,	   349.9,
				      -350.1, 710.0, -745.0, 1e300,   -1e300, HUGE_VAL, -HUGE_VAL, 1.0 };

	(void)state;
	for (int curve = LANES_LINEAR; curve <= LANES_SIGMOID; curve++) {
		for (size_t i = 0; i < N; i++)
			c[i] = a[i] = i < 16 ? odd[i] : ((double)i - 2000.3) * (i % 2 ? .02 : 1e-5);
		lanes_activation((enum lanes_activation)curve, c, N);
		for (size_t i = 0; i < N; i++)
			if (isfinite(a[i]) || curve != LANES_LINEAR)
				assert_true(fabs(c[i] - curve_of((enum lanes_activation)curve, a[i])) < 5e-16);
	}
	assert_true(c[0] == .5); /* the sigmoid at 0 is exact; padding relies on it */
}

int suite_lanes(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_products),
		cmocka_unit_test(test_curves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
