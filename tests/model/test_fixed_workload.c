/* Checks clusters of fixed work: known clusters, independence of the row order, published values of the V-measure. */
#include "base/mem.h"
#include "base/rng.h"
#include "model/variance/fixed_workload.h"
#include "tests/model/v_measure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* Checks the V-measure; the first four values are from scikit-learn's documentation of v_measure_score. */
static void published(void **state)
{
	static const struct {
		size_t truth[4], found[4];
		double v;
	} rows[] = {
		{ { 0, 0, 1, 1 }, { 0, 0, 1, 1 }, 1 },	    { { 0, 0, 1, 1 }, { 1, 1, 0, 0 }, 1 }, { { 0, 0, 1, 1 }, { 0, 0, 1, 2 }, .8 },
		{ { 0, 0, 1, 1 }, { 0, 1, 2, 3 }, 2. / 3 }, { { 0, 0, 1, 1 }, { 0, 0, 0, 0 }, 0 }, { { 0, 0, 0, 0 }, { 0, 1, 2, 3 }, 0 },
		{ { 0, 0, 1, 1 }, { 0, 1, 0, 1 }, 0 },	    { { 5, 5, 5, 5 }, { 7, 7, 7, 7 }, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_float_equal(v_measure(rows[i].truth, rows[i].found, 4), rows[i].v, 1e-12);
	assert_float_equal(v_measure(NULL, NULL, 0), 1, 0);
}

#define N 3000

/* Checks that works 12 % apart with 0.3 % noise are found exactly, in any order. */
static void planted(void **state)
{
	double x[N], turned[N];
	size_t truth[N], found[N], again[N];
	struct rng rng;

	(void)state;
	rng_seed(&rng, 5);
	for (size_t i = 0; i < N; i++) {
		double work = 1000;

		truth[i] = (size_t)rng_below(&rng, 10);
		for (size_t k = 0; k < truth[i]; k++)
			work *= 1.12;
		x[i] = turned[N - 1 - i] = work * (1 + .003 * rng_normal(&rng));
	}
	assert_int_equal(fixed_workload_clusters(x, N, FIXED_WORKLOAD_DISTANCE, found), 10);
	assert_true(v_measure(truth, found, N) >= .95);
	assert_int_equal(fixed_workload_clusters(turned, N, FIXED_WORKLOAD_DISTANCE, again), 10);
	for (size_t i = 0; i < N; i++)
		assert_int_equal(found[i], again[N - 1 - i]);
}

/* Checks that each member is within the distance of its cluster's first member, and outside the distance of all earlier clusters. */
static void rule(void **state)
{
	double x[500];
	size_t found[500], n;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 9);
	for (size_t i = 0; i < 500; i++)
		x[i] = i < 20 ? 0 : 1 + 3 * rng_double(&rng);
	n = fixed_workload_clusters(x, 500, .05, found);
	for (size_t c = 0, begins = 0; c < n; c++) {
		double least = 1e9, most = 0;

		for (size_t i = 0; i < 500; i++)
			if (found[i] == c) {
				least = x[i] < least ? x[i] : least;
				most = x[i] > most ? x[i] : most;
				begins++;
			}
		assert_true(most <= least * 1.05 + 1e-12);
		for (size_t i = 0; i < 500; i++)
			assert_true(found[i] <= c || x[i] > least * 1.05 - 1e-12);
		assert_true(begins > 0);
	}
}

/* ---- a program that counts its own statements, as `assay build --for work` does: each block adds its number of statements ---- */

static uint64_t statements;

static uint32_t mixed(uint32_t rounds)
{
	uint32_t x = rounds;

	for (uint32_t i = 0; i < rounds; i++) {
		statements += 2;
		if (x & 1) {
			statements += 2;
			x = x * 3 + 1;
		} else {
			statements += 3;
			x = x / 2 + i;
		}
	}
	return x;
}

/* Computes n greatest common divisors by Euclid's algorithm; the number of steps depends on the numbers. */
static uint32_t divided(struct rng *rng, size_t n)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t x = (uint32_t)rng_next(rng), y = (uint32_t)rng_next(rng);

		statements += 4;
		while (y) {
			uint32_t rest = x % y;

			statements += 3;
			x = y;
			y = rest;
		}
		sum += x;
	}
	return sum;
}

static uint32_t matched(struct rng *rng, size_t n)
{
	uint32_t found = 0;

	for (size_t i = 0; i < n; i++) {
		statements += 3;
		if (rng_below(rng, 8) == 0) {
			statements += 4;
			found++;
		}
	}
	return found;
}

static uint32_t worked(struct rng *rng, size_t kind)
{
	static const size_t rounds[] = { 2000, 2600, 3400, 8000 }, pairs[] = { 400, 600, 900 }, texts[] = { 13000, 26000 };

	return kind < 4 ? mixed((uint32_t)rounds[kind]) : kind < 7 ? divided(rng, pairs[kind - 4]) : matched(rng, texts[kind - 7]);
}

/* Checks that nine works, which partly depend on data, are found by their counts. Without counts, all are one cluster. */
static void counted(void **state)
{
	enum { FRAGMENTS = 1800, WORKS = 9 };
	double work[FRAGMENTS], same[FRAGMENTS] = { 0 };
	size_t truth[FRAGMENTS], found[FRAGMENTS];
	uint32_t kept = 0;
	struct rng rng;
	double v;

	(void)state;
	rng_seed(&rng, 11);
	for (size_t i = 0; i < FRAGMENTS; i++) {
		statements = 0;
		truth[i] = (size_t)rng_below(&rng, WORKS);
		kept ^= worked(&rng, truth[i]);
		work[i] = (double)statements;
	}
	assert_true(kept != 0);
	fixed_workload_clusters(work, FRAGMENTS, FIXED_WORKLOAD_DISTANCE, found);
	v = v_measure(truth, found, FRAGMENTS);
	print_message("V-measure %.3f\n", v);
	assert_true(v >= .95);
	fixed_workload_clusters(same, FRAGMENTS, FIXED_WORKLOAD_DISTANCE, found); /* without counts */
	assert_true(v_measure(truth, found, FRAGMENTS) < .05);
}

int suite_fixed_workload(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(published), cmocka_unit_test(planted), cmocka_unit_test(rule),
					    cmocka_unit_test(counted) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
