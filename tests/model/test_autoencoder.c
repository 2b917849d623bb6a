/* The network and its training: slopes equal finite differences, a linear network finds what principal components find, the same
 * seed gives the same bits. */
#include "base/mem.h"
#include "base/rng.h"
#include "model/anomaly/autoencoder.c" /* what is inside, for the slopes */
#include "model/parallel.h"
#include "model/pca.h"
#include "model/published/published.h"

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

/* Columns that follow from three hidden numbers, not all in a straight line, and a little noise. */
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

/* ---- where training starts ---- */

/* Every layer's weights are uniform and of variance 2 / (in + out), offsets 0: none lies outside, and moments are those of the uniform
 * distribution to within four standard errors. */
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
		assert_true(fabs(squares / n / variance - 1) < 4 * sqrt(.8 / n)); /* a uniform square's variance: .8 of its mean's square */
	}
	autoencoder_free(ae);
}

/* ---- slopes ---- */

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

/* Returns the number of weights and biases that are trained. */
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
		struct autoencoder_slopes slopes;
		size_t real = 0;

		for (size_t l = 0; l < ae->layers; l++) /* biases of 0 would hide a wrong one */
			for (size_t j = 0; j < ae->width[l + 1]; j++)
				ae->values.at[ae->biases_at[l] + j] = .1 * (double)(j + 1) - .05 * (double)l;
		autoencoder_batch_init(ae, rows.rows, &batch);
		autoencoder_slopes_init(ae, rows.rows, &slopes);
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

/* One step of each rule, from the slopes. */
static void test_first_step(void **state)
{
	static const enum autoencoder_rule rules[] = { AUTOENCODER_DESCENT, AUTOENCODER_ADAM };
	const struct autoencoder_shape shape = { 5, 1, { 3 }, LANES_SIGMOID, LANES_SIGMOID, true };

	(void)state;
	for (size_t k = 0; k < COUNT(rules); k++) {
		struct autoencoder_training how = { .rule = rules[k], .rate = .01, .batch = 100, .epochs = 1 };
		struct autoencoder *before = autoencoder_new(&shape, 3), *after = autoencoder_new(&shape, 3);
		struct mat rows = noise(20, 5, 4);

		autoencoder_train(after, &rows, NULL, &how, 1, NULL);
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

/* ---- against principal components ---- */

/* The best that a linear network with two neurons can do is the plane of the first two components (Bourlard and Kamp, Biological
 * Cybernetics 59, 1988): what is left is the sum of the other eigenvalues. */
static void test_linear_is_pca(void **state)
{
	static const bool tied[] = { false, true };
	struct mat rows = curved(200, 6, 11);
	struct autoencoder_training how = { .rule = AUTOENCODER_ADAM, .rate = .02, .cooling = true, .batch = 200, .epochs = 4000 };
	struct pca pca;
	double left = 0.0;

	(void)state;
	pca_of(&rows, &pca);
	for (size_t i = 0; i < rows.rows * rows.cols; i++)
		rows.at[i] = (rows.at[i] - pca.mean[i % rows.cols]) / pca.sd[i % rows.cols];
	for (size_t i = 2; i < pca.n; i++)
		left += pca.eigenvalue[i] * 199.0 / 200.0 / 6.0;
	for (size_t i = 0; i < COUNT(tied); i++) {
		const struct autoencoder_shape shape = { 6, 1, { 2 }, LANES_LINEAR, LANES_LINEAR, tied[i] };
		struct autoencoder *ae = autoencoder_new(&shape, 5);
		double error;

		autoencoder_train(ae, &rows, NULL, &how, 6, NULL);
		error = autoencoder_error(ae, &rows);
		if (fabs(error / left - 1.0) > 1e-4)
			fail_msg("error %.9g, components leave %.9g", error, left);
		autoencoder_free(ae);
	}
	pca_release(&pca);
	mat_release(&rows);
}

/* ---- same bits ---- */

static const struct autoencoder_shape middle = { 7, 2, { 5, 3 }, LANES_TANH, LANES_LINEAR, false };
static const struct autoencoder_training quick = { .rule = AUTOENCODER_ADAM, .rate = .01, .batch = 32, .epochs = 20 };

static struct autoencoder *trained(const struct mat *rows, uint64_t drawn, uint64_t shuffled)
{
	struct autoencoder *ae = autoencoder_new(&middle, drawn);

	autoencoder_train(ae, rows, NULL, &quick, shuffled, NULL);
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

/* What is made of a row depends on no other row, nor on where it stands. */
static void test_row_alone(void **state)
{
	struct mat rows = curved(300, 7, 31), all = mat_new(300, 7), one = mat_new(1, 7), out = mat_new(1, 7);
	struct autoencoder *ae = trained(&rows, 1, 1);

	(void)state;
	autoencoder_expect(ae, &rows, &all);
	for (size_t i = 0; i < rows.rows; i++) {
		memcpy(one.at, rows.at + i * 7, 7 * sizeof(double));
		autoencoder_expect(ae, &one, &out);
		assert_memory_equal(out.at, all.at + i * 7, 7 * sizeof(double));
	}
	autoencoder_free(ae);
	mat_release(&rows);
	mat_release(&all);
	mat_release(&one);
	mat_release(&out);
}

/* ---- held-out rows ---- */

static void test_held_out(void **state)
{
	struct mat rows = curved(40, 7, 41), held = curved(200, 7, 42);
	struct autoencoder_training how = quick;
	struct autoencoder *ae = autoencoder_new(&middle, 1), *to_the_end = autoencoder_new(&middle, 1);
	struct autoencoder_trained got;
	double before = autoencoder_error(ae, &held);

	(void)state;
	how.rate = .05;
	how.epochs = 3000;
	how.checks = 100;
	autoencoder_train(ae, &rows, &held, &how, 2, &got);
	assert_true(got.error < .5 * before);
	assert_true(got.error == autoencoder_error(ae, &held));
	assert_true(got.epochs >= 30 && got.epochs < 3000 && got.epochs % 30 == 0);
	/* the same way without looking at them ends worse, and stopping there ends in the same state */
	autoencoder_train(to_the_end, &rows, NULL, &how, 2, NULL);
	assert_true(autoencoder_error(to_the_end, &held) > got.error);
	autoencoder_free(to_the_end);
	to_the_end = autoencoder_new(&middle, 1);
	how.stop = got.epochs;
	autoencoder_train(to_the_end, &rows, NULL, &how, 2, &got);
	assert_true(same(to_the_end, ae) && isnan(got.error) && got.epochs == how.stop);
	autoencoder_free(ae);
	autoencoder_free(to_the_end);
	mat_release(&rows);
	mat_release(&held);
}

static void test_published(void **state)
{
	(void)state;
	assert_int_equal(autoperf_training.rule, AUTOENCODER_DESCENT);
	assert_true(autoperf_training.rate == .01 && !autoperf_training.cooling && !autoperf_training.stop);
	assert_true(autoperf_training.batch == 100 && autoperf_training.epochs == 100);
}

int suite_autoencoder(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drawn),	      cmocka_unit_test(test_slopes),	cmocka_unit_test(test_first_step),
		cmocka_unit_test(test_linear_is_pca), cmocka_unit_test(test_same_bits), cmocka_unit_test(test_row_alone),
		cmocka_unit_test(test_held_out),      cmocka_unit_test(test_published),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
