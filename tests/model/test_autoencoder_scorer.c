/* Which shape is chosen and from which rows, and that a scorer ends in finite numbers whatever it gets. */
#include "base/mem.h"
#include "base/rng.h"
#include "model/anomaly/autoencoder_scorer.c" /* what is inside */
#include "model/anomaly/scorer.h"
#include "model/parallel.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static const struct scorer_kind *const kinds[] = { &scorer_autoencoder, &scorer_paper };

/* ---- shapes ---- */

/* Returns the number of weights of the way in. */
static size_t weights_of(const struct autoencoder_shape *shape)
{
	size_t in = shape->columns, weights = 0;

	for (size_t i = 0; i < shape->depth; i++) {
		weights += in * shape->width[i];
		in = shape->width[i];
	}
	return weights;
}

static void test_shapes(void **state)
{
	static const size_t columns[] = { 1, 2, 3, 4, 7, 20, 33, 100, 5000 };

	(void)state;
	for (size_t i = 0; i < COUNT(columns); i++) {
		struct autoencoder_shape shapes[8];
		size_t n = shapes_of(columns[i], shapes);

		assert_true(n >= 1 && n <= (sizeof(width_parts) / sizeof(width_parts[0])));
		for (size_t s = 0; s < n; s++) {
			assert_int_equal(shapes[s].columns, columns[i]);
			assert_true(shapes[s].width[shapes[s].depth - 1] <= (columns[i] + 1) / 2);
			assert_true(shapes[s].hidden == LANES_TANH && shapes[s].output == LANES_LINEAR && !shapes[s].tied);
			assert_true(!s || weights_of(&shapes[s]) >= weights_of(&shapes[s - 1]));
			for (size_t o = 0; o < s; o++)
				assert_true(shapes[o].depth != shapes[s].depth ||
					    memcmp(shapes[o].width, shapes[s].width, shapes[s].depth * sizeof(size_t)));
		}
	}
}

static void test_shapes_published(void **state)
{
	static const size_t halves[] = { 10, 5, 3, 2, 1 };
	struct autoencoder_shape shapes[8];

	(void)state;
	assert_int_equal(autoperf_shapes(20, shapes), 5);
	for (size_t s = 0; s < 5; s++) {
		assert_true(shapes[s].tied && shapes[s].hidden == LANES_SIGMOID && shapes[s].output == LANES_SIGMOID);
		assert_int_equal(shapes[s].depth, s + 1);
		assert_memory_equal(shapes[s].width, halves, (s + 1) * sizeof(size_t));
	}
	assert_int_equal(autoperf_shapes(4, shapes), 2);
	assert_int_equal(autoperf_shapes(1, shapes), 1);
}

/* ---- rows ---- */

static const struct {
	const char *what;
	size_t sizes[4], runs, max, from[4], n; /* rows that each run has, and gives */
} samples[] = {
	{ "all fit", { 3, 4 }, 2, 10, { 3, 4 }, 7 },
	{ "exactly", { 3, 4 }, 2, 7, { 3, 4 }, 7 },
	{ "equally many", { 50, 50 }, 2, 20, { 10, 10 }, 20 },
	{ "a small run gives all", { 4, 50, 100 }, 3, 44, { 4, 20, 20 }, 44 },
	{ "what does not divide is left", { 50, 50, 50 }, 3, 20, { 6, 6, 6 }, 18 },
	{ "one run", { 50 }, 1, 20, { 20 }, 20 },
};

static void test_sample(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(samples); i++) {
		size_t run[256], picked[256], again[256], other[256], from[4] = { 0 }, n = 0, got;

		for (size_t r = 0; r < samples[i].runs; r++)
			for (size_t k = 0; k < samples[i].sizes[r]; k++)
				run[n++] = 10 - r;
		got = rows_sample(run, n, samples[i].max, 1, picked);
		assert_int_equal(got, samples[i].n);
		for (size_t k = 0; k < got; k++) {
			assert_true(picked[k] < n && (!k || picked[k] > picked[k - 1]));
			from[10 - run[picked[k]]]++;
		}
		assert_memory_equal(from, samples[i].from, sizeof(from));
		assert_int_equal(rows_sample(run, n, samples[i].max, 1, again), got);
		assert_memory_equal(picked, again, got * sizeof(*picked));
		rows_sample(run, n, samples[i].max, 2, other);
		assert_true(got == n || memcmp(picked, other, got * sizeof(*picked)));
	}
}

static void test_sample_of_many_runs(void **state)
{
	size_t run[100], picked[100];

	(void)state;
	for (size_t i = 0; i < 100; i++)
		run[i] = i;
	assert_int_equal(rows_sample(run, 100, 30, 1, picked), 30);
	for (size_t i = 1; i < 30; i++)
		assert_true(picked[i] > picked[i - 1]);
}

/* ---- the choice ---- */

static const struct autoencoder_training quick = {
	.rule = AUTOENCODER_ADAM, .rate = .02, .cooling = true, .batch = 32, .epochs = 60, .checks = 10
};
static const struct autoencoder_training thorough = {
	.rule = AUTOENCODER_ADAM, .rate = .02, .cooling = true, .batch = 32, .epochs = 300, .checks = 10
};

/* Two thirds of the columns follow from the first third, some of them in a curve. */
static struct mat follows(size_t n, size_t p, uint64_t seed)
{
	struct mat m = mat_new(n, p);
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < p; j++) {
			double z = j < p / 3 ? rng_normal(&rng) : mat_get(&m, i, j % (p / 3));

			mat_set(&m, i, j, j < p / 3 ? z : (j < 2 * (p / 3) ? sin(z) : .7 * z) + .02 * rng_normal(&rng));
		}
	return m;
}

static struct mat line(size_t n, uint64_t seed)
{
	struct mat m = mat_new(n, 2);
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t i = 0; i < n; i++) {
		mat_set(&m, i, 0, .2 * rng_normal(&rng));
		mat_set(&m, i, 1, mat_get(&m, i, 0) + .05 * rng_normal(&rng));
	}
	return m;
}

static size_t *runs_of(size_t n, size_t each)
{
	size_t *run = mem_new(n, sizeof(*run));

	for (size_t i = 0; i < n; i++)
		run[i] = i / each;
	return run;
}

static void test_chosen(void **state)
{
	struct autoencoder_shape shapes[8];
	size_t n_shapes = shapes_of(6, shapes), *run = runs_of(600, 50);
	struct mat rows = follows(600, 6, 1);
	struct shape_choice choice;

	(void)state;
	shape_choose(&rows, run, shapes, n_shapes, &quick, 3, 1, &choice);
	assert_true(shapes[choice.shape].width[shapes[choice.shape].depth - 1] >= 2);
	assert_true(choice.error[choice.shape] < .3 * choice.error[0]);
	assert_true(choice.fraction > 0.0 && choice.fraction <= 1.0);

	/* two columns that are the same but for noise, where the curve of a neuron is a straight line: one neuron will do */
	mat_release(&rows);
	rows = line(600, 2);
	n_shapes = shapes_of(2, shapes);
	assert_true(n_shapes > 2);
	shape_choose(&rows, run, shapes, n_shapes, &thorough, 3, 1, &choice);
	assert_int_equal(choice.shape, 0);
	mat_release(&rows);
	free(run);
}

/* Rows of one run are copies of each other: only who holds out whole runs sees that nothing else is known of another run. */
static void test_whole_runs(void **state)
{
	const struct autoencoder_shape shape = { 6, 2, { 12, 3 }, LANES_TANH, LANES_LINEAR, false };
	size_t *run = runs_of(90, 10), *one = mem_new(90, sizeof(*one));
	struct mat rows = mat_new(90, 6);
	struct shape_choice by_run, by_row;
	struct autoencoder_training how = quick;
	struct rng rng;

	(void)state;
	how.epochs = 400;
	rng_seed(&rng, 1);
	for (size_t i = 0; i < 90 * 6; i++)
		rows.at[i] = i / 6 % 10 ? rows.at[i - 6] : rng_normal(&rng);
	shape_choose(&rows, run, &shape, 1, &how, 3, 1, &by_run);
	shape_choose(&rows, one, &shape, 1, &how, 3, 1, &by_row);
	assert_true(by_run.error[0] > .3);
	assert_true(by_row.error[0] < .02);
	mat_release(&rows);
	free(run);
	free(one);
}

static void test_least_error(void **state)
{
	struct autoencoder_shape shapes[8];
	size_t n_shapes = autoperf_shapes(6, shapes);
	struct mat rows = follows(100, 6, 3);
	struct autoencoder_training how = quick;
	struct autoencoder *best;
	double least;

	(void)state;
	how.checks = 0;
	best = autoperf_least_error(&rows, shapes, n_shapes, &how, 4);
	least = autoencoder_error(best, &rows);
	for (size_t s = 0; s < n_shapes; s++) {
		struct autoencoder *ae = autoencoder_new(&shapes[s], 4);

		autoencoder_train(ae, &rows, NULL, &how, 4, NULL);
		assert_true(autoencoder_error(ae, &rows) >= least);
		autoencoder_free(ae);
	}
	autoencoder_free(best);
	mat_release(&rows);
}

/* ---- scorers ---- */

/* To [0, 1], which the published one wants. */
static void to_unit(struct mat *rows)
{
	for (size_t i = 0; i < rows->rows * rows->cols; i++)
		rows->at[i] = .5 + rows->at[i] / 8.0;
}

static void test_right_column(void **state)
{
	static const double moves[] = { 1.5, 40.0 }; /* of rows whose columns vary by 1 and agree to .02; the published one: of [0, 1] */
	struct mat rows = follows(600, 9, 5), parts = mat_new(600, 9), seen = follows(600, 9, 6);
	size_t *run = runs_of(600, 50);

	(void)state;
	to_unit(&rows);
	to_unit(&seen);
	for (size_t k = 0; k < COUNT(kinds); k++)
		for (size_t m = k; m < COUNT(moves); m++) { /* the published one sees large ones only */
			struct scorer *scorer = kinds[k]->fit(&rows, run, 1);
			size_t right = 0;

			for (size_t i = 0; i < 600; i++)
				mat_set(&seen, i, i % 9, mat_get(&seen, i, i % 9) + moves[m] / 8.0);
			kinds[k]->parts(scorer, &seen, &parts, NULL);
			for (size_t i = 0; i < 600; i++) {
				size_t most = 0;

				for (size_t j = 1; j < 9; j++)
					most = mat_get(&parts, i, j) > mat_get(&parts, i, most) ? j : most;
				right += most == i % 9;
				mat_set(&seen, i, i % 9, mat_get(&seen, i, i % 9) - moves[m] / 8.0);
			}
			if (right < (m ? 600 : 510))
				fail_msg("%s: the right column leads in %zu of 600 rows moved by %g", kinds[k]->name, right, moves[m]);
			kinds[k]->free(scorer);
		}
	mat_release(&rows);
	mat_release(&parts);
	mat_release(&seen);
	free(run);
}

/* parts is the square of what is not as expected, and less on normal rows than on others. */
static void test_parts(void **state)
{
	struct mat rows = follows(300, 6, 7), parts = mat_new(300, 6), expected = mat_new(300, 6), seen = follows(300, 6, 8);
	size_t *run = runs_of(300, 50);

	(void)state;
	for (size_t k = 0; k < COUNT(kinds); k++) {
		struct scorer *scorer = kinds[k]->fit(&rows, run, 1);
		double normal = 0.0, strange = 0.0;

		kinds[k]->parts(scorer, &seen, &parts, &expected);
		for (size_t i = 0; i < 300 * 6; i++) {
			double miss = seen.at[i] - expected.at[i];

			assert_true(parts.at[i] == miss * miss);
			normal += parts.at[i];
		}
		for (size_t i = 0; i < 300 * 6; i++)
			expected.at[i] = -seen.at[i] + (i % 6 == 3 ? 4.0 : 0.0);
		kinds[k]->parts(scorer, &expected, &parts, NULL);
		for (size_t i = 0; i < 300 * 6; i++)
			strange += parts.at[i];
		assert_true(strange > normal);
		kinds[k]->free(scorer);
	}
	mat_release(&rows);
	mat_release(&parts);
	mat_release(&expected);
	mat_release(&seen);
	free(run);
}

/* Ours takes a value beyond what it has learned for the last that it knows, so that no other column is blamed; the published one
 * does not. */
static void test_far_away(void **state)
{
	struct mat rows = follows(300, 6, 12), far = follows(1, 6, 13), expected[3];
	size_t *run = runs_of(300, 50);

	(void)state;
	to_unit(&rows);
	to_unit(&far);
	for (size_t k = 0; k < COUNT(kinds); k++) {
		struct scorer *scorer = kinds[k]->fit(&rows, run, 1);
		struct mat parts = mat_new(1, 6);

		for (size_t i = 0; i < 3; i++) {
			mat_set(&far, 0, 2, i == 2 ? -9.0 : i ? 900.0 : 9.0);
			expected[i] = mat_new(1, 6);
			kinds[k]->parts(scorer, &far, &parts, &expected[i]);
		}
		for (size_t i = 1; i < 3; i++)
			assert_int_equal(!memcmp(expected[0].at, expected[i].at, 6 * sizeof(double)), k == 0 && i == 1);
		mat_set(&far, 0, 2, -99.0);
		kinds[k]->parts(scorer, &far, &parts, &expected[0]);
		assert_int_equal(!memcmp(expected[0].at, expected[2].at, 6 * sizeof(double)), k == 0);
		for (size_t i = 0; i < 3; i++)
			mat_release(&expected[i]);
		mat_release(&parts);
		kinds[k]->free(scorer);
	}
	mat_release(&rows);
	mat_release(&far);
	free(run);
}

struct fits {
	const struct mat *rows;
	const size_t *run;
	struct mat parts[6]; /* two of each kind, then with another seed */
};

static void fit_one(void *context, size_t i)
{
	struct fits *fits = context;
	struct scorer *scorer = kinds[i % 2]->fit(fits->rows, fits->run, i / 4);

	fits->parts[i] = mat_new(fits->rows->rows, fits->rows->cols);
	kinds[i % 2]->parts(scorer, fits->rows, &fits->parts[i], NULL);
	kinds[i % 2]->free(scorer);
}

static void test_same_bits(void **state)
{
	struct mat rows = follows(200, 5, 9);
	size_t *run = runs_of(200, 20), bytes = 200 * 5 * sizeof(double);
	struct fits fits = { .rows = &rows, .run = run };

	(void)state;
	parallel_for(6, 3, fit_one, &fits);
	for (size_t k = 0; k < 2; k++) {
		assert_memory_equal(fits.parts[k].at, fits.parts[k + 2].at, bytes);
		assert_true(memcmp(fits.parts[k].at, fits.parts[k + 4].at, bytes) != 0);
	}
	for (size_t i = 0; i < 6; i++)
		mat_release(&fits.parts[i]);
	mat_release(&rows);
	free(run);
}

static const struct {
	const char *what;
	size_t rows, columns, run_rows; /* rows of a run */
	double value[4];		/* in turn */
} strange[] = {
	{ "two rows, one column", 2, 1, 1, { 0, 1, 2, 3 } },
	{ "two rows of one run", 2, 3, 2, { 0, 1, 2, 3 } },
	{ "identical rows", 50, 4, 10, { 1, 2, 3, 4 } },
	{ "nothing but zeros", 20, 3, 5, { 0, 0, 0, 0 } },
	{ "one row differs", 33, 1, 1, { 1, 1, 1, 1.0000001 } },
	{ "huge", 40, 3, 10, { 1e300, -1e300, DBL_MAX, -DBL_MAX } },
	{ "huge and small", 40, 3, 10, { 1e300, 1e-300, 1, 0 } },
	{ "tiny", 40, 3, 10, { 1e-300, 5e-324, -1e-310, 0 } },
	{ "large and nearly the same", 40, 3, 10, { 1e12, 1e12 + 1, 1e12 - 1, 1e12 } },
	{ "three rows, many columns", 3, 60, 1, { 1, 2, 4, 9 } },
	{ "one run", 64, 2, 64, { 1, 2, 4, 9 } },
	{ "a run each", 64, 2, 1, { 1, 2, 4, 9 } },
};

static const double seen_values[] = { 0, 1, -1, 1e6, -1e6, 1e300, -DBL_MAX, DBL_MAX, 5e-324 };

static void assert_finite(const char *kind, const char *what, const struct mat *parts, bool positive)
{
	for (size_t i = 0; i < parts->rows * parts->cols; i++)
		if (!isfinite(parts->at[i]) || (positive && parts->at[i] < 0.0))
			fail_msg("%s, %s: number %zu is %g", kind, what, i, parts->at[i]);
}

static void test_never_fails(void **state)
{
	(void)state;
	for (size_t c = 0; c < COUNT(strange); c++)
		for (size_t k = 0; k < COUNT(kinds); k++) {
			size_t n = strange[c].rows, p = strange[c].columns, *run = runs_of(n, strange[c].run_rows);
			struct mat rows = mat_new(n, p), parts = mat_new(n, p), seen = mat_new(COUNT(seen_values), p);
			struct mat seen_parts = mat_new(COUNT(seen_values), p), expected = mat_new(COUNT(seen_values), p);
			struct scorer *scorer;

			for (size_t i = 0; i < n * p; i++)
				rows.at[i] = strange[c].value[c == 2 ? i % p : i % 4];
			for (size_t i = 0; i < COUNT(seen_values) * p; i++)
				seen.at[i] = seen_values[i % COUNT(seen_values)];
			scorer = kinds[k]->fit(&rows, run, c);
			kinds[k]->parts(scorer, &rows, &parts, NULL);
			assert_finite(kinds[k]->name, strange[c].what, &parts, true);
			kinds[k]->parts(scorer, &seen, &seen_parts, &expected);
			assert_finite(kinds[k]->name, strange[c].what, &seen_parts, true);
			assert_finite(kinds[k]->name, strange[c].what, &expected, false);
			if (c == 2 && k == 0) /* what never varies is known exactly */
				for (size_t i = 0; i < n * p; i++)
					assert_true(parts.at[i] < 1e-20);
			kinds[k]->free(scorer);
			mat_release(&rows);
			mat_release(&parts);
			mat_release(&seen);
			mat_release(&seen_parts);
			mat_release(&expected);
			free(run);
		}
}

int suite_autoencoder_scorer(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),	    cmocka_unit_test(test_shapes_published),
		cmocka_unit_test(test_sample),	    cmocka_unit_test(test_sample_of_many_runs),
		cmocka_unit_test(test_chosen),	    cmocka_unit_test(test_whole_runs),
		cmocka_unit_test(test_least_error), cmocka_unit_test(test_right_column),
		cmocka_unit_test(test_parts),	    cmocka_unit_test(test_far_away),
		cmocka_unit_test(test_same_bits),   cmocka_unit_test(test_never_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
