/* Tests the generators against published outputs, and the derived numbers against their distributions. */
#include "base/rng.h"

#include "base/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Checks the first outputs of the authors' xoshiro256starstar.c from the state 1, 2, 3, 4, as published in the tests of rand_xoshiro. */
static void test_published_outputs(void **state)
{
	static const uint64_t expected[] = { 11520u,
					     0u,
					     1509978240u,
					     1215971899390074240u,
					     1216172134540287360u,
					     607988272756665600u,
					     16172922978634559625u,
					     8476171486693032832u,
					     10595114339597558777u,
					     2904607092377533576u };
	struct rng rng = { { 1, 2, 3, 4 } };

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_true(rng_next(&rng) == expected[i]);
}

/* Checks the first outputs of the author's splitmix64.c, as published in the tests of rand_xoshiro. */
static void test_seed(void **state)
{
	static const uint64_t expected[] = { 1985237415132408290u, 2979275885539914483u, 13511426838097143398u, 8488337342461049707u };
	struct rng rng;

	(void)state;
	rng_seed(&rng, 1477776061723855037u);
	for (size_t i = 0; i < 4; i++)
		assert_true(rng.s[i] == expected[i]);
}

/* Checks n = 3 * 2^62, where a quarter of the raw numbers is rejected. The remainder instead would make the lowest third of the results
 * twice as likely as the rest. The high word without rejection would make every third result twice as likely. */
static void test_below_is_unbiased(void **state)
{
	struct rng rng;
	size_t low = 0, rest[3] = { 0 };
	const size_t draws = 60000;
	const uint64_t n = (uint64_t)3 << 62;

	(void)state;
	rng_seed(&rng, 7);
	for (size_t i = 0; i < draws; i++) {
		uint64_t x = rng_below(&rng, n);

		assert_true(x < n);
		low += x < (uint64_t)1 << 62;
		rest[x % 3]++;
	}
	assert_true(fabs((double)low / (double)draws - 1. / 3) < .008); /* four standard errors */
	for (size_t i = 0; i < 3; i++)
		assert_true(fabs((double)rest[i] / (double)draws - 1. / 3) < .008);
}

static void test_below_small(void **state)
{
	struct rng rng;
	double chi2 = 0;
	size_t count[7] = { 0 };
	const double expected = 10000;

	(void)state;
	rng_seed(&rng, 1);
	for (size_t i = 0; i < 70000; i++)
		count[rng_below(&rng, 7)]++;
	for (size_t i = 0; i < 7; i++)
		chi2 += ((double)count[i] - expected) * ((double)count[i] - expected) / expected;
	assert_true(chi2 < stats_chi2_quantile(.9999, 6));
	for (size_t i = 0; i < 10; i++)
		assert_true(rng_below(&rng, 1) == 0);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns the Kolmogorov-Smirnov distance times sqrt(n). Chance exceeds 1.95 in one case of a thousand. */
static double ks_distance(double *u, size_t n)
{
	double most = 0;

	qsort(u, n, sizeof(*u), ascending);
	for (size_t i = 0; i < n; i++)
		most = fmax(most, fmax(fabs(u[i] - (double)i / (double)n), fabs((double)(i + 1) / (double)n - u[i])));
	return most * sqrt((double)n);
}

static void test_double_and_normal(void **state)
{
	enum { N = 20000 };
	static double uniform[N], normal[N];
	double squares = 0;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 42);
	for (size_t i = 0; i < 5 * N; i++) {
		double z = rng_normal(&rng);

		squares += z * z / (5 * N);
	}
	assert_true(fabs(squares - 1) < 4 * sqrt(2. / (5 * N)));
	for (size_t i = 0; i < N; i++) {
		uniform[i] = rng_double(&rng);
		assert_true(uniform[i] >= 0 && uniform[i] < 1);
		normal[i] = stats_normal_cdf(rng_normal(&rng));
	}
	assert_true(ks_distance(uniform, N) < 1.95);
	assert_true(ks_distance(normal, N) < 1.95);
	rng = (struct rng){ { 0, 0, 0, 0 } }; /* a state that never changes: it gives the smallest number */
	assert_true(rng_double(&rng) == 0);
}

/* Checks that all 24 orders of 4 items are equally frequent. */
static void test_shuffle(void **state)
{
	struct rng rng;
	size_t count[256] = { 0 }, seen = 0;
	double chi2 = 0;

	(void)state;
	rng_seed(&rng, 3);
	for (size_t i = 0; i < 24000; i++) {
		size_t items[] = { 0, 1, 2, 3 };

		rng_shuffle(&rng, items, 4);
		assert_true((1u << items[0] | 1u << items[1] | 1u << items[2] | 1u << items[3]) == 15);
		count[items[0] | items[1] << 2 | items[2] << 4 | items[3] << 6]++;
	}
	for (size_t i = 0; i < 256; i++) {
		seen += count[i] > 0;
		chi2 += count[i] ? ((double)count[i] - 1000) * ((double)count[i] - 1000) / 1000 : 0;
	}
	assert_true(seen == 24);
	assert_true(chi2 < stats_chi2_quantile(.9999, 23));
	rng_shuffle(&rng, NULL, 0);
}

int suite_rng(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published_outputs), cmocka_unit_test(test_seed),
		cmocka_unit_test(test_below_is_unbiased), cmocka_unit_test(test_below_small),
		cmocka_unit_test(test_double_and_normal), cmocka_unit_test(test_shuffle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
