/* Maximal scoring stretches: the example of the paper, and its two properties on drawn rows. */
#include "base/mem.h"
#include "base/rng.h"
#include "model/variance/slow_spans.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include <cmocka.h>

static void published(void **state)
{
	static const double score[] = { 4, -5, 3, -3, 1, 2, -2, 2, -2, 1, 5 };
	static const struct slow_span expected[] = { { 0, 1, 4 }, { 2, 3, 3 }, { 4, 11, 7 } };
	struct slow_span found[6];

	(void)state;
	assert_int_equal(slow_spans(score, 11, found), 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(found[i].from, expected[i].from);
		assert_int_equal(found[i].to, expected[i].to);
		assert_float_equal(found[i].score, expected[i].score, 1e-12);
	}
	assert_int_equal(slow_spans(score, 0, found), 0);
	assert_int_equal(slow_spans(score + 1, 1, found), 0);
}

static double sum(const double *x, size_t from, size_t to)
{
	double s = 0;

	for (; from < to; from++)
		s += x[from];
	return s;
}

/* Ruzzo and Tompa's definition: the best stretch is one of them, and so it goes on in what is left of it and right of it. */
static size_t plainly(const double *x, size_t from, size_t to, struct slow_span *out)
{
	struct slow_span best = { from, from, 0 };
	size_t n;

	for (size_t i = from; i < to; i++)
		for (size_t j = i + 1; j <= to; j++)
			if (sum(x, i, j) > best.score + 1e-12)
				best = (struct slow_span){ i, j, sum(x, i, j) };
	if (best.score <= 0)
		return 0;
	n = plainly(x, from, best.from, out);
	out[n++] = best;
	return n + plainly(x, best.to, to, out + n);
}

static void definition(void **state)
{
	struct slow_span found[21], expected[41];
	struct rng rng;

	(void)state;
	rng_seed(&rng, 4);
	for (int round = 0; round < 300; round++) {
		double x[40];
		size_t n;

		for (size_t i = 0; i < 40; i++)
			x[i] = rng_normal(&rng) - .2;
		n = slow_spans(x, 40, found);
		assert_int_equal(n, plainly(x, 0, 40, expected));
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(found[i].from, expected[i].from);
			assert_int_equal(found[i].to, expected[i].to);
			assert_float_equal(found[i].score, expected[i].score, 1e-9);
		}
	}
}

int suite_slow_spans(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(published), cmocka_unit_test(definition) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
