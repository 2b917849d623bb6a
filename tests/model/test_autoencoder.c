/* Checks the network and its training: gradients equal finite differences, a linear network equals principal components, and the same
 * seed gives the same bits. */
#include "base/mem.h"
#include "base/rng.h"
#include "model/anomaly/autoencoder.c" /* for access to gradients */
#include "model/parallel.h"
#include "model/pca.h"
#include "model/published/published.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static struct mat noise(size_t n, size_t p, uint64_t seed)
{
	struct mat m = mat_new(n, p);
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t i = 0; i < n * p; i++)
		m.at[i] = rng_normal(&rng);
	return m;
}

/* Returns columns that are partly nonlinear functions of three hidden numbers, with little noise. */
static struct mat curved(size_t n, size_t p, uint64_t seed)
{
	struct mat m = noise(n, p, seed);
	struct rng rng, same;

	rng_seed(&rng, seed + 1);
	for (size_t i = 0; i < n; i++) {
		double z[3] = { rng_normal(&rng), rng_normal(&rng), rng_normal(&rng) };

		rng_seed(&same, 99);
		for (size_t j = 0; j < p; j++) {
			double sum = 0.0;

			for (size_t k = 0; k < 3; k++)
				sum += rng_normal(&same) * z[k];
			mat_set(&m, i, j, .05 * mat_get(&m, i, j) + (j % 2 ? sum : tanh(sum)));
		}
	}
	return m;
}

/* ---- initial weights ---- */

/* Checks that each layer's weights are uniform with variance 2 / (in + out) and its biases 0: all within the range, and moments within
 * four standard errors of the uniform distribution's. */
static void test_drawn(void **state)
{
	const struct autoencoder_shape shape = { 120, 2, { 80, 30 }, LANES_SIGMOID, LANES_SIGMOID, false };
	struct autoencoder *ae = autoencoder_new(&shape, 5);

	(void)state;
	for (size_t l = 0; l < ae->layers; l++) {
		size_t in = ae->width[l], out = ae->width[l + 1];
		double n = (double)(in * out), variance = 2. / (double)(in + out), reach = sqrt(3 * variance), sum = 0, squares = 0,
		       most = 0;

		for (size_t i = 0; i < in; i++) {
			for (size_t j = 0; j < out; j++) {
				double w = ae->values.at[ae->weights_at[l] + i * lanes_padded(out) + j];

				sum += w;
				squares += w * w;
				most = fmax(most, fabs(w));
			}
		}
		assert_true(most <= reach && most > .99 * reach);
		assert_true(fabs(sum / n) < 4 * sqrt(variance / n));
		assert_true(fabs(squares / n / variance - 1) < 4 * sqrt(.8 / n)); /* the variance of u^2 for a uniform u is 0.8 E(u^2)^2 */
	}
	autoencoder_free(ae);
}

/* ---- gradients ---- */

static const struct {
	const char *what;
	struct autoencoder_shape shape;
	size_t rows;
} sloped[] = {
	{ "one linear layer each way", { 3, 1, { 2 }, LANES_LINEAR, LANES_LINEAR, false }, 5 },
	{ "tanh, linear output", { 5, 1, { 3 }, LANES_TANH, LANES_LINEAR, false }, 7 },
	{ "two layers each way", { 9, 2, { 5, 2 }, LANES_TANH, LANES_LINEAR, false }, 12 },
	{ "wider than the rows", { 4, 2, { 11, 3 }, LANES_TANH, LANES_LINEAR, false }, 3 },
	{ "sigmoids everywhere", { 6, 2, { 4, 3 }, LANES_SIGMOID, LANES_SIGMOID, false }, 9 },
	{ "tanh output", { 5, 2, { 4, 3 }, LANES_SIGMOID, LANES_TANH, false }, 4 },
	{ "tied", { 6, 1, { 3 }, LANES_TANH, LANES_LINEAR, true }, 8 },
	{ "tied, as published", { 10, 3, { 5, 3, 2 }, LANES_SIGMOID, LANES_SIGMOID, true }, 9 },
	{ "tied, five layers each way", { 17, 5, { 9, 5, 3, 2, 1 }, LANES_SIGMOID, LANES_SIGMOID, true }, 6 },
	{ "one column", { 1, 1, { 1 }, LANES_TANH, LANES_LINEAR, false }, 1 },
	{ "columns that fill the vectors", { 8, 1, { 16 }, LANES_TANH, LANES_LINEAR, true }, 16 },
};

static double error_with(struct autoencoder *ae, const struct mat *rows, size_t i, double value)
{
	double old = ae->values.at[i], error;

	ae->values.at[i] = value;
	autoencoder_tie(ae);
	error = autoencoder_error(ae, rows);
	ae->values.at[i] = old;
	autoencoder_tie(ae);
	return error;
}

static bool is_padding(const struct autoencoder *ae, size_t i)
{
	for (size_t l = 0; l < ae->layers; l++) {
		size_t out = ae->width[l + 1], wide = lanes_padded(out);

		if (i >= ae->weights_at[l] && i < ae->weights_at[l] + ae->width[l] * wide)
			return (i - ae->weights_at[l]) % wide >= out;
		if (i >= ae->biases_at[l] && i < ae->biases_at[l] + wide)
			return i - ae->biases_at[l] >= out;
	}
	fail_msg("%zu is in no layer", i);
	return false;
}

/* Returns the number of trained weights and biases. */
static size_t weights_of(const struct autoencoder_shape *shape)
{
	size_t in = shape->columns, weights = 0, biases = shape->columns;

	for (size_t i = 0; i < shape->depth; i++) {
		weights += in * shape->width[i];
		biases += i + 1 < shape->depth ? 2 * shape->width[i] : shape->width[i];
		in = shape->width[i];
	}
	return (shape->tied ? weights : 2 * weights) + biases;
}

static void test_slopes(void **state)
{
	(void)state;
	for (size_t s = 0; s < COUNT(sloped); s++) {
		struct autoencoder *ae = autoencoder_new(&sloped[s].shape, 7 + s);
		struct mat rows = noise(sloped[s].rows, sloped[s].shape.columns, s);
		struct autoencoder_batch batch;
		struct autoencoder_gradients slopes;
		size_t real = 0;

		for (size_t l = 0; l < ae->layers; l++) /* biases of 0 would hide a wrong gradient */
			for (size_t j = 0; j < ae->width[l + 1]; j++)
				ae->values.at[ae->biases_at[l] + j] = .1 * (double)(j + 1) - .05 * (double)l;
		autoencoder_batch_init(ae, rows.rows, &batch);
		autoencoder_gradients_init(ae, rows.rows, &slopes);
		for (size_t i = 0; i < rows.rows; i++)
			memcpy(batch.value[0] + i * lanes_padded(rows.cols), rows.at + i * rows.cols, rows.cols * sizeof(double));
		autoencoder_forward(ae, rows.rows, &batch);
		autoencoder_backward(ae, rows.rows, &batch, batch.value[0], &slopes);
		for (size_t i = 0; i < ae->trained; i++) {
			double x = ae->values.at[i], h = 1e-5, slope;

			if (is_padding(ae, i)) {
				assert_true(slopes.slope[i] == 0.0);
				continue;
			}
			slope = (error_with(ae, &rows, i, x + h) - error_with(ae, &rows, i, x - h)) / (2.0 * h);
			if (fabs(slope - slopes.slope[i]) > 1e-8 * (1.0 + fabs(slope)))
				fail_msg("%s: slope %zu is %.12g, not %.12g", sloped[s].what, i, slopes.slope[i], slope);
			real++;
		}
		assert_int_equal(real, weights_of(&sloped[s].shape));
		autoencoder_block_release(&batch.block);
		autoencoder_block_release(&slopes.block);
		mat_release(&rows);
		autoencoder_free(ae);
	}
}

/* Checks one step of each rule against the gradients. */
static void test_first_step(void **state)
{
	static const enum autoencoder_rule rules[] = { AUTOENCODER_DESCENT, AUTOENCODER_ADAM };
	const struct autoencoder_shape shape = { 5, 1, { 3 }, LANES_SIGMOID, LANES_SIGMOID, true };

	(void)state;
	for (size_t k = 0; k < COUNT(rules); k++) {
		struct autoencoder_training how = { .rule = rules[k], .rate = .01, .batch = 100, .epochs = 1 };
		struct autoencoder *before = autoencoder_new(&shape, 3), *after = autoencoder_new(&shape, 3);
		struct mat rows = noise(20, 5, 4);

		autoencoder_train(after, &rows, &how, 1);
		for (size_t i = 0; i < before->trained; i++) {
			double x = before->values.at[i], moved = after->values.at[i] - x, h = 1e-5, slope;

			if (is_padding(before, i))
				continue;
			slope = (error_with(before, &rows, i, x + h) - error_with(before, &rows, i, x - h)) / (2.0 * h);
			assert_true(fabs(moved + (rules[k] == AUTOENCODER_DESCENT ? .01 * slope : copysign(.01, slope))) < 1e-6);
		}
		mat_release(&rows);
		autoencoder_free(before);
		autoencoder_free(after);
	}
}

/* ---- comparison with principal components ---- */

/* Checks that a linear network with two neurons learns the plane of the first two components (Bourlard and Kamp, Biological Cybernetics
 * 59, 1988). The remaining error is the sum of the other eigenvalues. */
static void test_linear_is_pca(void **state)
{
	static const bool tied[] = { false, true };
	struct mat rows = curved(200, 6, 11);
	struct autoencoder_training how = { .rule = AUTOENCODER_ADAM, .rate = .02, .cooling = true, .batch = 200, .epochs = 4000 };
	struct pca pca;
	double left = 0.0;

	(void)state;
	pca_compute(&rows, &pca);
	for (size_t i = 0; i < rows.rows * rows.cols; i++)
		rows.at[i] = (rows.at[i] - pca.mean[i % rows.cols]) / pca.sd[i % rows.cols];
	for (size_t i = 2; i < pca.n; i++)
		left += pca.eigenvalue[i] * 199.0 / 200.0 / 6.0;
	for (size_t i = 0; i < COUNT(tied); i++) {
		const struct autoencoder_shape shape = { 6, 1, { 2 }, LANES_LINEAR, LANES_LINEAR, tied[i] };
		struct autoencoder *ae = autoencoder_new(&shape, 5);
		double error;

		autoencoder_train(ae, &rows, &how, 6);
		error = autoencoder_error(ae, &rows);
		if (fabs(error / left - 1.0) > 1e-4)
			fail_msg("error %.9g, components leave %.9g", error, left);
		autoencoder_free(ae);
	}
	pca_release(&pca);
	mat_release(&rows);
}

/* ---- bit-identical results ---- */

static const struct autoencoder_shape middle = { 7, 2, { 5, 3 }, LANES_TANH, LANES_LINEAR, false };
static const struct autoencoder_training quick = { .rule = AUTOENCODER_ADAM, .rate = .01, .batch = 32, .epochs = 20 };

static struct autoencoder *trained(const struct mat *rows, uint64_t drawn, uint64_t shuffled)
{
	struct autoencoder *ae = autoencoder_new(&middle, drawn);

	autoencoder_train(ae, rows, &quick, shuffled);
	return ae;
}

struct fits {
	const struct mat *rows;
	struct autoencoder *ae[8];
};

static void fit_one(void *context, size_t i)
{
	struct fits *fits = context;

	fits->ae[i] = trained(fits->rows, i, 1);
}

static bool same(const struct autoencoder *a, const struct autoencoder *b)
{
	return a->n == b->n && !memcmp(a->values.at, b->values.at, a->n * sizeof(double));
}

static void test_same_bits(void **state)
{
	struct mat rows = curved(300, 7, 21);
	struct fits alone = { .rows = &rows }, together = { .rows = &rows };
	struct autoencoder *other;

	(void)state;
	parallel_for(COUNT(alone.ae), 1, fit_one, &alone);
	parallel_for(COUNT(together.ae), 4, fit_one, &together);
	for (size_t i = 0; i < COUNT(alone.ae); i++) {
		assert_true(same(alone.ae[i], together.ae[i]));
		assert_true(!i || !same(alone.ae[i], alone.ae[0]));
	}
	other = trained(&rows, 0, 2);
	assert_false(same(other, alone.ae[0]));
	autoencoder_free(other);
	for (size_t i = 0; i < COUNT(alone.ae); i++) {
		autoencoder_free(alone.ae[i]);
		autoencoder_free(together.ae[i]);
	}
	mat_release(&rows);
}

/* Checks that the restoration of a row depends neither on other rows nor on its position. */
static void test_row_alone(void **state)
{
	struct mat rows = curved(300, 7, 31), all = mat_new(300, 7), one = mat_new(1, 7), out = mat_new(1, 7);
	struct autoencoder *ae = trained(&rows, 1, 1);

	(void)state;
	autoencoder_reconstruct(ae, &rows, &all);
	for (size_t i = 0; i < rows.rows; i++) {
		memcpy(one.at, rows.at + i * 7, 7 * sizeof(double));
		autoencoder_reconstruct(ae, &one, &out);
		assert_memory_equal(out.at, all.at + i * 7, 7 * sizeof(double));
	}
	autoencoder_free(ae);
	mat_release(&rows);
	mat_release(&all);
	mat_release(&one);
	mat_release(&out);
}

static void test_published(void **state)
{
	(void)state;
	assert_int_equal(autoperf_training.rule, AUTOENCODER_DESCENT);
	assert_true(autoperf_training.rate == .01 && !autoperf_training.cooling);
	assert_true(autoperf_training.batch == 100 && autoperf_training.epochs == 100);
}

/* ---- scorers ---- */

static const struct scorer_kind *const kinds[] = { &scorer_autoencoder, &scorer_paper };

/* ---- shapes ---- */

static void test_shape(void **state)
{
	static const size_t rows[][3] = { { 1, 2, 1 }, { 2, 4, 1 }, { 3, 6, 2 }, { 20, 40, 10 }, { 33, 66, 17 }, { 5000, 1024, 1024 } };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) { /* columns, width of each layer */
		struct autoencoder_shape shape = effect_pattern_classify(rows[i][0]);

		assert_int_equal(shape.columns, rows[i][0]);
		assert_int_equal(shape.depth, 2);
		assert_true(shape.width[0] == rows[i][1] && shape.width[1] == rows[i][2]);
		assert_true(shape.hidden == LANES_TANH && shape.output == LANES_LINEAR && !shape.tied);
	}
}

static void test_shapes_published(void **state)
{
	static const size_t halves[] = { 10, 5, 3, 2, 1 };
	struct autoencoder_shape shapes[8];

	(void)state;
	assert_int_equal(autoperf_list_shapes(20, shapes), 5);
	for (size_t s = 0; s < 5; s++) {
		assert_true(shapes[s].tied && shapes[s].hidden == LANES_SIGMOID && shapes[s].output == LANES_SIGMOID);
		assert_int_equal(shapes[s].depth, s + 1);
		assert_memory_equal(shapes[s].width, halves, (s + 1) * sizeof(size_t));
	}
	assert_int_equal(autoperf_list_shapes(4, shapes), 2);
	assert_int_equal(autoperf_list_shapes(1, shapes), 1);
}

/* ---- scorers: parts ---- */

static const struct autoencoder_training quick_scorer = {
	.rule = AUTOENCODER_ADAM, .rate = .02, .cooling = true, .batch = 32, .epochs = 60
};

/* Makes rows in which two thirds of the columns are functions of the first third, some of them nonlinear. */
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

static size_t *runs_of(size_t n, size_t each)
{
	size_t *run = mem_new(n, sizeof(*run));

	for (size_t i = 0; i < n; i++)
		run[i] = i / each;
	return run;
}

static void test_least_error(void **state)
{
	struct autoencoder_shape shapes[8];
	size_t n_shapes = autoperf_list_shapes(6, shapes);
	struct mat rows = follows(100, 6, 3);
	struct autoencoder_training how = quick_scorer;
	struct autoencoder *best;
	double least;

	(void)state;
	best = autoperf_train_best_shape(&rows, shapes, n_shapes, &how, 4);
	least = autoencoder_error(best, &rows);
	for (size_t s = 0; s < n_shapes; s++) {
		struct autoencoder *ae = autoencoder_new(&shapes[s], 4);

		autoencoder_train(ae, &rows, &how, 4);
		assert_true(autoencoder_error(ae, &rows) >= least);
		autoencoder_free(ae);
	}
	autoencoder_free(best);
	mat_release(&rows);
}

/* ---- scorers: tests ---- */

/* Scales values to [0, 1], the input range of the paper's scorer. */
static void to_unit(struct mat *rows)
{
	for (size_t i = 0; i < rows->rows * rows->cols; i++)
		rows->at[i] = .5 + rows->at[i] / 8.0;
}

static void test_right_column(void **state)
{
	static const double moves[] = { 1.5,
					40.0 }; /* relative to columns with standard deviation 1 and noise 0.02; divided by 8 in [0, 1] */
	struct mat rows = follows(600, 9, 5), parts = mat_new(600, 9), seen = follows(600, 9, 6);
	size_t *run = runs_of(600, 50);

	(void)state;
	to_unit(&rows);
	to_unit(&seen);
	for (size_t k = 0; k < COUNT(kinds); k++)
		for (size_t m = k; m < COUNT(moves); m++) { /* the paper's scorer detects only large moves */
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

/* Checks that parts are squared differences from the expected row, and smaller on normal rows than on others. */
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

/* Checks values beyond the learned range. Our scorer clips them to the range, so that it blames no other column; the paper's scorer does
 * not. */
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

struct scorer_fits {
	const struct mat *rows;
	const size_t *run;
	struct mat parts[6]; /* two of each kind, then two with another seed */
};

static void fit_scorer(void *context, size_t i)
{
	struct scorer_fits *fits = context;
	struct scorer *scorer = kinds[i % 2]->fit(fits->rows, fits->run, i / 4);

	fits->parts[i] = mat_new(fits->rows->rows, fits->rows->cols);
	kinds[i % 2]->parts(scorer, fits->rows, &fits->parts[i], NULL);
	kinds[i % 2]->free(scorer);
}

static void test_scorer_same_bits(void **state)
{
	struct mat rows = follows(200, 5, 9);
	size_t *run = runs_of(200, 20), bytes = 200 * 5 * sizeof(double);
	struct scorer_fits fits = { .rows = &rows, .run = run };

	(void)state;
	parallel_for(6, 3, fit_scorer, &fits);
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
	size_t rows, columns, run_rows; /* rows per run */
	double value[4];		/* used in turn */
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
			if (c == 2 && k == 0) /* a constant value is restored exactly */
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

int suite_autoencoder(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drawn),
		cmocka_unit_test(test_slopes),
		cmocka_unit_test(test_first_step),
		cmocka_unit_test(test_linear_is_pca),
		cmocka_unit_test(test_same_bits),
		cmocka_unit_test(test_row_alone),
		cmocka_unit_test(test_published),
		cmocka_unit_test(test_shape),
		cmocka_unit_test(test_shapes_published),
		cmocka_unit_test(test_least_error),
		cmocka_unit_test(test_right_column),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_far_away),
		cmocka_unit_test(test_scorer_same_bits),
		cmocka_unit_test(test_never_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
