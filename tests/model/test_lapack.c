/* Checks eigenvalues with a known closed form, and inverses by their definition. */
#include "base/mem.h"
#include "base/rng.h"
#include "model/lapack.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define PI 3.14159265358979323846

static void assert_near(double a, double b, double within)
{
	if (!(fabs(a - b) <= within))
		fail_msg("%.17g is not %.17g within %g", a, b, within);
}

/* Checks a matrix with 2 on the diagonal, -1 next to it: eigenvalues 2 - 2 cos(k pi / (n + 1)), sines as vectors (Golub, Van Loan, 4.8). */
static void tridiagonal_matrix(void **state)
{
	(void)state;
	for (size_t n = 1; n <= 40; n += 13) {
		struct mat a = mat_new(n, n), vectors = mat_new(n, n);
		double *values = mem_new(n, sizeof(*values));

		for (size_t i = 0; i < n; i++) {
			mat_set(&a, i, i, 2);
			if (i) {
				mat_set(&a, i, i - 1, -1);
				mat_set(&a, i - 1, i, -1);
			}
		}
		lapack_eigen(&a, values, &vectors);
		for (size_t k = 0; k < n; k++) {
			double angle = (double)(n - k) * PI / (double)(n + 1), sign = 0, length = sqrt((double)(n + 1) / 2);

			assert_near(values[k], 2 - 2 * cos(angle), 1e-12);
			for (size_t i = 0; i < n; i++) {
				double expected = sin((double)(i + 1) * angle) / length;

				if (i == 0)
					sign = mat_get(&vectors, k, 0) * expected > 0 ? 1 : -1;
				assert_near(mat_get(&vectors, k, i), sign * expected, 1e-9);
			}
		}
		free(values);
		mat_release(&a);
		mat_release(&vectors);
	}
}

/* Returns X'X of random numbers. The last column is the first one plus `own` times random numbers. */
static struct mat products(size_t n, double own, uint64_t seed)
{
	struct mat X = mat_new(n + 5, n), a = mat_new(n, n);
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t i = 0; i < X.rows; i++) {
		for (size_t j = 0; j < n; j++)
			mat_set(&X, i, j, rng_normal(&rng));
		mat_set(&X, i, n - 1, mat_get(&X, i, 0) + own * mat_get(&X, i, n - 1));
	}
	for (size_t i = 0; i < X.rows; i++)
		for (size_t j = 0; j < n; j++)
			for (size_t k = 0; k < n; k++)
				a.at[j * n + k] += mat_get(&X, i, j) * mat_get(&X, i, k);
	mat_release(&X);
	return a;
}

static void inverse(void **state)
{
	(void)state;
	for (size_t n = 2; n <= 32; n *= 2) {
		struct mat a = products(n, 1, n), b = products(n, 1, n), values = mat_new(1, n), vectors = mat_new(n, n);
		double log_determinant, sum = 0;

		assert_true(lapack_invert(b.at, n, 0, &log_determinant));
		for (size_t i = 0; i < n; i++)
			for (size_t j = 0; j < n; j++) {
				double product = 0;

				for (size_t k = 0; k < n; k++)
					product += mat_get(&a, i, k) * mat_get(&b, k, j);
				assert_near(product, i == j, 1e-9);
				assert_true(mat_get(&b, i, j) == mat_get(&b, j, i));
			}
		lapack_eigen(&a, values.at, &vectors);
		for (size_t k = 0; k < n; k++)
			sum += log(values.at[k]);
		assert_near(log_determinant, sum, 1e-9);
		mat_release(&a);
		mat_release(&b);
		mat_release(&values);
		mat_release(&vectors);
	}
}

/* Checks that a matrix counts as singular if the share of the last column not explained by the others is below the caller's limit. */
static void singular(void **state)
{
	struct mat same = products(3, 0, 1), near = products(3, 1e-4, 1), near_too = products(3, 1e-4, 1), negative = mat_new(2, 2);

	(void)state;
	assert_false(lapack_invert(same.at, 3, 1e-9, NULL));
	assert_false(lapack_invert(near.at, 3, 1e-6, NULL));
	assert_true(lapack_invert(near_too.at, 3, 1e-9, NULL));
	mat_set(&negative, 0, 0, 1);
	mat_set(&negative, 1, 1, -1);
	assert_false(lapack_invert(negative.at, 2, 0, NULL));
	mat_release(&same);
	mat_release(&near);
	mat_release(&near_too);
	mat_release(&negative);
}

int suite_lapack(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(tridiagonal_matrix), cmocka_unit_test(inverse), cmocka_unit_test(singular) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
