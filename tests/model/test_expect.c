/* Checks the expected cost of an input against known relations to its numbers and to its name. */
#include "base/mem.h"
#include "base/rng.h"
#include "model/anomaly/expect.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define RUNS 40

/* Runs with three numbers each: threads, size, seed. Row RUNS holds the input to predict. */
struct planted {
	struct expect_inputs inputs;
	size_t input[RUNS + 1];
	double y[RUNS];
	bool use[RUNS];
};

static void plant(struct planted *p, uint64_t seed)
{
	struct rng rng;

	*p = (struct planted){ .inputs = { .numbers = mat_new(RUNS + 1, 3), .input = p->input, .inputs = RUNS } };
	rng_seed(&rng, seed);
	for (size_t r = 0; r < RUNS; r++) {
		mat_set(&p->inputs.numbers, r, 0, log(2 + (double)rng_below(&rng, 11)));
		mat_set(&p->inputs.numbers, r, 1, 10 + 3 * rng_double(&rng));
		mat_set(&p->inputs.numbers, r, 2, 12 * rng_double(&rng));
		p->input[r] = r;
		p->use[r] = true;
	}
	p->input[RUNS] = SIZE_MAX;
}

static struct expect fit(struct planted *p)
{
	struct expect e;
	size_t rows = p->inputs.numbers.rows;

	p->inputs.numbers.rows = RUNS; /* the last row holds the input to predict */
	expect_fit(&p->inputs, p->y, p->use, &e);
	p->inputs.numbers.rows = rows;
	return e;
}

static void assert_near(double a, double b, double within)
{
	if (!(fabs(a - b) <= within))
		fail_msg("%.17g is not %.17g within %g", a, b, within);
}

static bool ask(const struct planted *p, const struct expect *e, double threads, double size, double *out)
{
	const struct mat *numbers = &p->inputs.numbers;

	numbers->at[RUNS * 3] = threads;
	numbers->at[RUNS * 3 + 1] = size;
	return expect_predict(e, &p->inputs, RUNS, out);
}

/* Checks that the fit is exact without noise, although one run took ten times as long: the fit is robust. */
static void numbers_that_matter_are_found(void **state)
{
	struct planted p;
	struct expect e;
	double should;

	(void)state;
	plant(&p, 1);
	for (size_t r = 0; r < RUNS; r++)
		p.y[r] = 1 - .5 * mat_get(&p.inputs.numbers, r, 0) + 2 * mat_get(&p.inputs.numbers, r, 1);
	p.y[7] += log(10);
	e = fit(&p);
	assert_int_equal(e.by, EXPECT_BY_NUMBERS);
	assert_int_equal(e.n, 2); /* excludes the seed */
	assert_true(ask(&p, &e, 1.5, 11, &should));
	assert_near(should, 1 - .75 + 22, 1e-3);
	expect_release(&e);
	mat_release(&p.inputs.numbers);
}

/* Checks a cost that depends on two numbers only together: the size correlates with the threads. The seed must not be used. */
static void two_numbers_that_matter_together_are_found(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct planted p;
		struct expect e;
		struct rng rng;

		plant(&p, seed);
		rng_seed(&rng, seed + 1000);
		for (size_t r = 0; r < RUNS; r++) {
			double threads = mat_get(&p.inputs.numbers, r, 0), part = .3 * rng_normal(&rng);

			mat_set(&p.inputs.numbers, r, 1, threads + part);
			p.y[r] = 3 + part + .01 * rng_normal(&rng);
		}
		e = fit(&p);
		assert_int_equal(e.by, EXPECT_BY_NUMBERS);
		assert_int_equal(e.n, 2);
		assert_int_equal(e.number[0] + e.number[1], 1);
		assert_near(e.slope[0] + e.slope[1], 0, .1);
		expect_release(&e);
		mat_release(&p.inputs.numbers);
	}
}

static void noise_alone_says_nothing(void **state)
{
	static const struct {
		size_t runs, numbers;
	} rows[] = { { RUNS, 3 }, { RUNS, 16 }, { 18, 3 }, { 18, 16 } }; /* pairs of numbers are tried with at least 18 runs */

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t used = 0;

		for (uint64_t seed = 0; seed < 200; seed++) {
			struct planted p;
			struct expect e;
			struct rng rng;

			plant(&p, seed);
			rng_seed(&rng, seed + 1000);
			mat_release(&p.inputs.numbers);
			p.inputs.numbers = mat_new(RUNS + 1, rows[i].numbers);
			for (size_t r = 0; r < RUNS; r++) {
				p.y[r] = rng_normal(&rng);
				p.use[r] = r < rows[i].runs;
				for (size_t k = 0; k < rows[i].numbers; k++)
					mat_set(&p.inputs.numbers, r, k, rng_normal(&rng));
			}
			e = fit(&p);
			used += e.by != EXPECT_BY_NOTHING;
			expect_release(&e);
			mat_release(&p.inputs.numbers);
		}
		assert_in_range(used, 0, 2);
	}
}

static void few_runs_say_nothing(void **state)
{
	struct planted p;
	struct expect e;
	double should;

	(void)state;
	plant(&p, 1);
	for (size_t r = 0; r < RUNS; r++) {
		p.y[r] = mat_get(&p.inputs.numbers, r, 1);
		p.use[r] = r < 11;
	}
	e = fit(&p);
	assert_int_equal(e.by, EXPECT_BY_NOTHING);
	assert_false(ask(&p, &e, 1, 11, &should));
	expect_release(&e);
	mat_release(&p.inputs.numbers);
}

/* Checks that many inputs with one run each give no expectation. */
static void inputs_of_one_run_say_nothing(void **state)
{
	(void)state;
	for (size_t n = 6; n < 12; n++) {
		struct planted p;
		struct expect e;

		plant(&p, n);
		for (size_t r = 0; r < RUNS; r++) {
			p.y[r] = mat_get(&p.inputs.numbers, r, 1);
			p.use[r] = r < n;
		}
		e = fit(&p);
		assert_int_equal(e.by, EXPECT_BY_NOTHING);
		expect_release(&e);
		mat_release(&p.inputs.numbers);
	}
}

/* Checks that runs with unknown inputs do not count as runs of the same input, although their median fits better than their mean. */
static void runs_of_no_input_are_not_alike(void **state)
{
	struct planted p;
	struct expect e;

	(void)state;
	plant(&p, 1);
	for (size_t r = 0; r < RUNS; r++) {
		p.y[r] = r % 3 ? .01 * (double)(r % 7) : 3;
		p.input[r] = SIZE_MAX;
	}
	e = fit(&p);
	assert_int_equal(e.by, EXPECT_BY_NOTHING);
	expect_release(&e);
	mat_release(&p.inputs.numbers);
}

/* Checks that an input with several runs gets its median cost. Costs are nonlinear and unrelated to the order of the inputs. */
static void runs_of_one_input_have_its_median(void **state)
{
	static const double costs[] = { 3, 9, 1, 7 };
	struct planted p;
	struct expect e;
	struct rng rng;
	double should;

	(void)state;
	plant(&p, 1);
	rng_seed(&rng, 1);
	p.inputs.inputs = 5;
	for (size_t r = 0; r < RUNS; r++) {
		p.input[r] = r ? r % 4 : 4;
		p.y[r] = costs[r % 4] + .1 * rng_normal(&rng);
	}
	e = fit(&p);
	assert_int_equal(e.by, EXPECT_BY_INPUT);
	for (size_t i = 0; i < 4; i++) {
		p.input[RUNS] = i;
		assert_true(ask(&p, &e, 1, 11, &should));
		assert_near(should, costs[i], .2);
	}
	p.input[RUNS] = 4; /* an input with only one run */
	assert_false(ask(&p, &e, 1, 11, &should));
	p.input[RUNS] = SIZE_MAX;
	assert_false(ask(&p, &e, 1, 11, &should));
	expect_release(&e);
	mat_release(&p.inputs.numbers);
}

static void far_outside_nothing_is_known(void **state)
{
	static const struct {
		double size;
		bool known;
	} rows[] = { { 10, true }, { 13, true }, { 14, true }, { 8.8, true }, { 15, false }, { 8, false } };
	struct planted p;
	struct expect e;
	double should;

	(void)state;
	plant(&p, 1);
	for (size_t r = 0; r < RUNS; r++)
		p.y[r] = mat_get(&p.inputs.numbers, r, 1);
	e = fit(&p);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(ask(&p, &e, 1, rows[i].size, &should), rows[i].known);
	assert_false(ask(&p, &e, 1, (double)NAN, &should)); /* a number is missing */
	assert_true(ask(&p, &e, 100, 11, &should));	    /* extrapolates only in a number that has no effect */
	assert_near(should, 11, 1e-6);
	expect_release(&e);
	mat_release(&p.inputs.numbers);
}

int suite_expect(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_that_matter_are_found),     cmocka_unit_test(two_numbers_that_matter_together_are_found),
		cmocka_unit_test(noise_alone_says_nothing),	     cmocka_unit_test(few_runs_say_nothing),
		cmocka_unit_test(inputs_of_one_run_say_nothing),     cmocka_unit_test(runs_of_no_input_are_not_alike),
		cmocka_unit_test(runs_of_one_input_have_its_median), cmocka_unit_test(far_outside_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
