/* Scorers with autoencoders: the default, and AutoPerf's as published. Autoencoders are symmetric, fully connected networks that are
 * trained to reproduce their input through fewer numbers. Training is mini-batch gradient descent on the mean over rows and columns of the
 * squared difference (Rumelhart, Hinton and Williams, Nature 323, 1986), plain or by Adam (Kingma and Ba, ICLR 2015). Initial weights are
 * drawn as in Glorot and Bengio (AISTATS 2010). The same shape, data and seed give the same bits on every machine, with any number of
 * threads. A row's result depends only on that row. Per row and weight, training takes 3 multiplications and additions, judging 1. */
#include "model/anomaly/lanes.h"
#include "model/anomaly/scorer.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define ROWS_MAX	      4096  /* maximum number of training rows, so that a fit takes at most a fifth of a second */
#define LARGEST		      1e150 /* limit of values, so that their squares stay finite */
#define MARGIN		      .1    /* margin around the learned range of a column, relative to it, within which values are not clipped */
#define STEPS		      4000  /* number of training steps; constant, because few rows need as many steps as many rows */
#define AUTOENCODER_DEPTH_MAX 5	    /* maximum number of layers in each direction */
#define AUTOENCODER_WIDTH_MAX 1024  /* maximum number of neurons in a layer */

struct autoencoder_shape {
	size_t columns;			      /* number of columns of the rows, >= 1 */
	size_t depth;			      /* number of layers in each direction, 1 to AUTOENCODER_DEPTH_MAX */
	size_t width[AUTOENCODER_DEPTH_MAX];  /* [depth] neurons per layer up to the middle, >= 1; the decoder mirrors these layers */
	enum lanes_activation hidden, output; /* activation functions */
	bool tied; /* a layer of the decoder has the transposed weights of its mirror layer, but its own biases */
};

/* Parameters of training. */
struct autoencoder_training {
	enum autoencoder_rule { AUTOENCODER_DESCENT, AUTOENCODER_ADAM } rule;
	double rate;	/* learning rate */
	bool cooling;	/* the learning rate falls linearly to 0 during the training; false: it is constant */
	double swapped; /* share of the rows in which a column gets another row's value, while the target keeps the true value: a denoising
			   autoencoder (Vincent and others, ICML 2008), which must use the other columns */
	size_t batch;	/* maximum number of rows per batch; the batches of an epoch differ by at most one row */
	size_t epochs;
};

#define LINE_BYTES     64
#define LAYERS_MAX     ((size_t)2 * AUTOENCODER_DEPTH_MAX)
#define JUDGED_AT_ONCE 128

/* Numbers that start at a cache line, so that vectors do not cross lines. */
struct autoencoder_block {
	double *at; /* [n] numbers; a part of `memory` */
	void *memory;
};

/* A network. Layer l maps width[l] to width[l + 1] numbers. Its weights are [width[l] x padded width[l + 1]], its biases [padded width[l +
 * 1]]. The padding stays 0. One block has all numbers: first the trained ones, then copies for the decoder's tied weights. */
struct autoencoder {
	struct autoencoder_shape shape;
	size_t layers;
	size_t width[LAYERS_MAX + 1];
	size_t weights_at[LAYERS_MAX], biases_at[LAYERS_MAX];
	size_t trained, n; /* number of trained values; number of all values */
	struct autoencoder_block values;
};

/* Activations of a batch. value[l] is [rows x padded width[l]]; value[0] is the input. */
struct autoencoder_batch {
	size_t rows; /* maximum number of rows of a batch */
	double *value[LAYERS_MAX + 1];
	struct autoencoder_block block;
};

/* Derivatives of the error, computed by a training step. */
struct autoencoder_gradients {
	double *value[LAYERS_MAX + 1]; /* derivatives with respect to the sums of layer l - 1 */
	double *transposed;	       /* transposed weights of one layer */
	double *slope;		       /* [n] derivatives with respect to the network's values, in the same layout */
	struct autoencoder_block block;
};

/* ---- the network ---- */

static struct autoencoder_block autoencoder_block_new(size_t n)
{
	struct autoencoder_block block = { NULL, mem_new(n + LINE_BYTES / sizeof(double), sizeof(double)) };
	uintptr_t past = (uintptr_t)block.memory % LINE_BYTES;

	block.at = (double *)block.memory + (past ? (LINE_BYTES - past) / sizeof(double) : 0);
	return block;
}

static void autoencoder_block_release(struct autoencoder_block *block)
{
	free(block->memory);
	*block = (struct autoencoder_block){ NULL, NULL };
}

static void autoencoder_check(const struct autoencoder_shape *shape)
{
	ASSAY_BUG_IF(!shape->columns || !shape->depth || shape->depth > AUTOENCODER_DEPTH_MAX);
	for (size_t i = 0; i < shape->depth; i++)
		ASSAY_BUG_IF(!shape->width[i]);
}

static void autoencoder_set_pointers(struct autoencoder *ae)
{
	size_t depth = ae->shape.depth, at = 0;
	size_t own = ae->shape.tied ? depth : 2 * depth;

	ae->layers = 2 * depth;
	ae->width[0] = ae->width[2 * depth] = ae->shape.columns;
	for (size_t i = 0; i < depth; i++)
		ae->width[i + 1] = ae->width[2 * depth - 1 - i] = ae->shape.width[i];
	for (size_t l = 0; l < own; l++) {
		ae->weights_at[l] = at;
		at += ae->width[l] * lanes_padded(ae->width[l + 1]);
	}
	for (size_t l = 0; l < ae->layers; l++) {
		ae->biases_at[l] = at;
		at += lanes_padded(ae->width[l + 1]);
	}
	ae->trained = at;
	for (size_t l = own; l < ae->layers; l++) {
		ae->weights_at[l] = at;
		at += ae->width[l] * lanes_padded(ae->width[l + 1]);
	}
	ae->n = at;
}

/* Draws the weights of a layer as in Glorot and Bengio (2010), equation 16: uniformly, with variance 2 / (in + out). */
static void autoencoder_draw_weights(struct autoencoder *ae, size_t layer, struct rng *rng)
{
	size_t in = ae->width[layer], out = ae->width[layer + 1];
	double reach = sqrt(6.0 / (double)(in + out));
	double *weights = ae->values.at + ae->weights_at[layer];

	for (size_t i = 0; i < in; i++)
		for (size_t j = 0; j < out; j++)
			weights[i * lanes_padded(out) + j] = reach * (2.0 * rng_double(rng) - 1.0);
}

static void autoencoder_tie(struct autoencoder *ae)
{
	if (!ae->shape.tied)
		return;
	for (size_t l = 0; l < ae->shape.depth; l++) {
		size_t in = ae->width[l], out = ae->width[l + 1];
		const double *from = ae->values.at + ae->weights_at[l];
		double *to = ae->values.at + ae->weights_at[ae->layers - 1 - l];

		for (size_t i = 0; i < in; i++)
			for (size_t j = 0; j < out; j++)
				to[j * lanes_padded(in) + i] = from[i * lanes_padded(out) + j];
	}
}

/* Makes a network with random weights. The caller frees it with autoencoder_free(). */
static struct autoencoder *autoencoder_new(const struct autoencoder_shape *shape, uint64_t seed)
{
	struct autoencoder *ae = mem_new(1, sizeof(*ae));
	struct rng rng;

	autoencoder_check(shape);
	ae->shape = *shape;
	autoencoder_set_pointers(ae);
	ae->values = autoencoder_block_new(ae->n);
	rng_seed(&rng, seed);
	for (size_t l = 0; l < (shape->tied ? shape->depth : ae->layers); l++)
		autoencoder_draw_weights(ae, l, &rng);
	autoencoder_tie(ae);
	return ae;
}

/* Frees a network. Accepts NULL. */
static void autoencoder_free(struct autoencoder *ae)
{
	if (!ae)
		return;
	autoencoder_block_release(&ae->values);
	free(ae);
}

static void autoencoder_batch_init(const struct autoencoder *ae, size_t rows, struct autoencoder_batch *batch)
{
	size_t n = 0;

	for (size_t l = 0; l <= ae->layers; l++)
		n += rows * lanes_padded(ae->width[l]);
	batch->rows = rows;
	batch->block = autoencoder_block_new(n);
	n = 0;
	for (size_t l = 0; l <= ae->layers; l++) {
		batch->value[l] = batch->block.at + n;
		n += rows * lanes_padded(ae->width[l]);
	}
	for (size_t i = 0; ae->shape.output == LANES_SIGMOID && i < rows * lanes_padded(ae->width[0]); i++)
		batch->value[0][i] = .5; /* equals the output for the padding, which then has no error */
}

static void autoencoder_forward(const struct autoencoder *ae, size_t rows, const struct autoencoder_batch *batch)
{
	for (size_t l = 0; l < ae->layers; l++) {
		size_t out = lanes_padded(ae->width[l + 1]);

		lanes_product(rows, out, ae->width[l], batch->value[l], lanes_padded(ae->width[l]), 1, ae->values.at + ae->weights_at[l],
			      ae->values.at + ae->biases_at[l], batch->value[l + 1]);
		lanes_activation(l + 1 == ae->layers ? ae->shape.output : ae->shape.hidden, batch->value[l + 1], rows * out);
	}
}

/* Passes rows through the network in batches. `out` gets the outputs. If it is NULL, returns the sum of squared differences from rows. */
static double autoencoder_pass(const struct autoencoder *ae, const struct mat *rows, struct mat *out)
{
	size_t p = ae->shape.columns, wide = lanes_padded(p);
	struct autoencoder_batch batch;
	double squares = 0.0;

	ASSAY_BUG_IF(rows->cols != p);
	autoencoder_batch_init(ae, rows->rows < JUDGED_AT_ONCE ? rows->rows : JUDGED_AT_ONCE, &batch);
	for (size_t first = 0; first < rows->rows; first += batch.rows) {
		size_t n = rows->rows - first < batch.rows ? rows->rows - first : batch.rows;

		for (size_t i = 0; i < n; i++)
			memcpy(batch.value[0] + i * wide, rows->at + (first + i) * p, p * sizeof(double));
		autoencoder_forward(ae, n, &batch);
		for (size_t i = 0; i < n; i++) {
			const double *x = rows->at + (first + i) * p, *expected = batch.value[ae->layers] + i * wide;

			for (size_t j = 0; j < p && !out; j++)
				squares += (x[j] - expected[j]) * (x[j] - expected[j]);
			if (out)
				memcpy(out->at + (first + i) * p, expected, p * sizeof(double));
		}
	}
	autoencoder_block_release(&batch.block);
	return squares;
}

/* Computes the network's output for each row into out [n x columns], which the caller allocates. Thread-safe. */
static void autoencoder_reconstruct(const struct autoencoder *ae, const struct mat *rows, struct mat *out)
{
	ASSAY_BUG_IF(out->rows != rows->rows || out->cols != rows->cols);
	autoencoder_pass(ae, rows, out);
}

/* Returns the mean over rows and columns of the squared difference between input and output. */
static double autoencoder_error(const struct autoencoder *ae, const struct mat *rows)
{
	ASSAY_BUG_IF(!rows->rows);
	return autoencoder_pass(ae, rows, NULL) / (double)(rows->rows * rows->cols);
}

/* ---- training ---- */

static void autoencoder_gradients_init(const struct autoencoder *ae, size_t rows, struct autoencoder_gradients *slopes)
{
	size_t largest = 0, sums = 0, at;

	for (size_t l = 0; l < ae->layers; l++) {
		size_t weights = lanes_padded(ae->width[l]) * lanes_padded(ae->width[l + 1]);

		largest = weights > largest ? weights : largest;
		sums += rows * lanes_padded(ae->width[l]);
	}
	slopes->block = autoencoder_block_new(sums + largest + ae->n);
	slopes->slope = slopes->block.at;
	slopes->transposed = slopes->slope + ae->n;
	at = ae->n + largest;
	for (size_t l = 0; l < ae->layers; l++) { /* the derivatives of the last layer replace its values */
		slopes->value[l] = slopes->block.at + at;
		at += rows * lanes_padded(ae->width[l]);
	}
}

/* Transposes weights [in x padded out] into `to` [out x padded in]. */
static void weights_transpose(size_t in, size_t out, const double *weights, double *to)
{
	size_t padded_in = lanes_padded(in), padded_out = lanes_padded(out);

	for (size_t j = 0; j < out; j++) {
		for (size_t i = 0; i < in; i++)
			to[j * padded_in + i] = weights[i * padded_out + j];
		for (size_t i = in; i < padded_in; i++)
			to[j * padded_in + i] = 0.0;
	}
}

/* Adds the derivative of each mirrored copy of a tied weight to that of the weight. */
static void gradients_add_tied(const struct autoencoder *ae, size_t layer, const struct autoencoder_gradients *slopes)
{
	size_t in = ae->width[layer], out = ae->width[layer + 1];
	size_t wide = lanes_padded(out), mirror_wide = lanes_padded(in);
	const double *mirror = slopes->slope + ae->weights_at[ae->layers - 1 - layer];
	double *slope = slopes->slope + ae->weights_at[layer];

	for (size_t i = 0; i < in; i++)
		for (size_t j = 0; j < out; j++)
			slope[i * wide + j] += mirror[j * mirror_wide + i];
}

/* Converts derivatives [n] with respect to the outputs y [n] of neurons to derivatives with respect to their sums. */
static void gradients_apply_activation(enum lanes_activation curve, const double *y, double *slope, size_t n)
{
	for (size_t i = 0; i < n && curve == LANES_TANH; i++)
		slope[i] *= 1.0 - y[i] * y[i];
	for (size_t i = 0; i < n && curve == LANES_SIGMOID; i++)
		slope[i] *= y[i] * (1.0 - y[i]);
}

static void gradients_of_biases(size_t rows, size_t columns, const double *above, double *slope)
{
	memset(slope, 0, columns * sizeof(*slope));
	for (size_t r = 0; r < rows; r++)
		for (size_t j = 0; j < columns; j++)
			slope[j] += above[r * columns + j];
}

/* Computes slopes->slope [trained], the derivatives of the mean squared difference between output and `wanted` [rows x padded columns].
 * Needs the state after autoencoder_forward(). Overwrites the output. */
static void autoencoder_backward(const struct autoencoder *ae, size_t rows, const struct autoencoder_batch *batch, const double *wanted,
				 const struct autoencoder_gradients *slopes)
{
	size_t last = ae->layers, n = rows * lanes_padded(ae->shape.columns);
	double factor = 2.0 / (double)(rows * ae->shape.columns);
	double *above = batch->value[last]; /* derivatives with respect to the sums of the layer */

	if (ae->shape.output != LANES_LINEAR) {
		above = slopes->value[0];
		memcpy(above, batch->value[last], n * sizeof(double));
	}
	for (size_t i = 0; i < n; i++)
		above[i] = (above[i] - wanted[i]) * factor;
	gradients_apply_activation(ae->shape.output, batch->value[last], above, n);
	for (size_t l = last; l-- > 0;) {
		size_t in = lanes_padded(ae->width[l]), out = lanes_padded(ae->width[l + 1]);

		lanes_product(ae->width[l], out, rows, batch->value[l], 1, in, above, NULL, slopes->slope + ae->weights_at[l]);
		gradients_of_biases(rows, out, above, slopes->slope + ae->biases_at[l]);
		if (!l)
			break;
		weights_transpose(ae->width[l], ae->width[l + 1], ae->values.at + ae->weights_at[l], slopes->transposed);
		lanes_product(rows, in, ae->width[l + 1], above, out, 1, slopes->transposed, NULL, slopes->value[l]);
		gradients_apply_activation(ae->shape.hidden, batch->value[l], slopes->value[l], rows * in);
		above = slopes->value[l];
	}
	for (size_t l = 0; ae->shape.tied && l < ae->shape.depth; l++)
		gradients_add_tied(ae, l, slopes);
}

/* State of a training. All memory is allocated before the first step. */
struct autoencoder_run {
	struct autoencoder *ae;
	const struct autoencoder_training *how;
	const struct mat *rows;
	struct autoencoder_batch batch;
	struct autoencoder_gradients slopes;
	struct autoencoder_block moments; /* Adam's first moments, then its second moments */
	struct autoencoder_block wanted;  /* the batch before values were swapped, which is the target */
	size_t *order;			  /* [rows] row indices in random order */
	size_t batches;			  /* number of batches per epoch */
	double power[2];		  /* powers of Adam's two betas after t steps, for the bias corrections */
};

static void autoencoder_run_init(struct autoencoder_run *t, struct autoencoder *ae, const struct mat *rows,
				 const struct autoencoder_training *how)
{
	size_t batch = how->batch < rows->rows ? how->batch : rows->rows;

	*t = (struct autoencoder_run){ .ae = ae, .how = how, .rows = rows, .power = { 1.0, 1.0 } };
	t->batches = (rows->rows + batch - 1) / batch;
	autoencoder_batch_init(ae, batch, &t->batch);
	autoencoder_gradients_init(ae, batch, &t->slopes);
	t->moments = autoencoder_block_new(how->rule == AUTOENCODER_ADAM ? 2 * ae->trained : 0);
	t->wanted = autoencoder_block_new(how->swapped > 0.0 ? batch * lanes_padded(rows->cols) : 0);
	t->order = mem_new(rows->rows, sizeof(*t->order));
	for (size_t i = 0; i < rows->rows; i++)
		t->order[i] = i;
}

static void autoencoder_run_release(struct autoencoder_run *t)
{
	autoencoder_block_release(&t->batch.block);
	autoencoder_block_release(&t->slopes.block);
	autoencoder_block_release(&t->moments);
	autoencoder_block_release(&t->wanted);
	free(t->order);
}

/* Updates weights by Adam (Kingma and Ba, ICLR 2015, algorithm 1), with published constants. `rate` and `root` have bias corrections. */
static void autoencoder_adam(struct autoencoder_run *t, double rate)
{
	const double beta[2] = { .9, .999 }, floor = 1e-8;
	size_t n = t->ae->trained;
	double *first = t->moments.at, *second = t->moments.at + n, *x = t->ae->values.at, root;

	t->power[0] *= beta[0];
	t->power[1] *= beta[1];
	rate /= 1.0 - t->power[0];
	root = 1.0 / sqrt(1.0 - t->power[1]);
	for (size_t i = 0; i < n; i++) {
		double slope = t->slopes.slope[i];

		first[i] = first[i] * beta[0] + slope * (1.0 - beta[0]);
		second[i] = second[i] * beta[1] + slope * slope * (1.0 - beta[1]);
		x[i] -= first[i] * rate / (sqrt(second[i]) * root + floor);
	}
}

/* Replaces one value in some rows of the batch by the value of another row. Returns the unchanged batch, which is the target. */
static const double *autoencoder_swap(struct autoencoder_run *t, size_t n, struct rng *rng)
{
	size_t p = t->rows->cols, wide = lanes_padded(p);

	if (!(t->how->swapped > 0.0))
		return t->batch.value[0];
	memcpy(t->wanted.at, t->batch.value[0], n * wide * sizeof(double));
	for (size_t i = 0; i < n; i++)
		if (rng_double(rng) < t->how->swapped) {
			size_t column = rng_below(rng, p);

			t->batch.value[0][i * wide + column] = mat_get(t->rows, rng_below(rng, t->rows->rows), column);
		}
	return t->wanted.at;
}

/* Gathers a batch, passes it forward and backward through the network, and updates the weights. */
static void autoencoder_step(struct autoencoder_run *t, const size_t *chosen, size_t n, double rate, struct rng *rng)
{
	size_t p = t->rows->cols, wide = lanes_padded(p);
	const double *wanted;

	for (size_t i = 0; i < n; i++)
		memcpy(t->batch.value[0] + i * wide, t->rows->at + chosen[i] * p, p * sizeof(double));
	wanted = autoencoder_swap(t, n, rng);
	autoencoder_forward(t->ae, n, &t->batch);
	autoencoder_backward(t->ae, n, &t->batch, wanted, &t->slopes);
	if (t->how->rule == AUTOENCODER_ADAM)
		autoencoder_adam(t, rate);
	else
		for (size_t i = 0; i < t->ae->trained; i++)
			t->ae->values.at[i] -= t->slopes.slope[i] * rate;
	autoencoder_tie(t->ae);
}

static void autoencoder_epoch(struct autoencoder_run *t, size_t number, struct rng *rng)
{
	size_t n = t->rows->rows, steps = t->how->epochs * t->batches;

	rng_shuffle(rng, t->order, n);
	for (size_t b = 0; b < t->batches; b++) {
		size_t from = b * n / t->batches, to = (b + 1) * n / t->batches;
		double done = (double)(number * t->batches + b) / (double)steps;

		autoencoder_step(t, t->order + from, to - from, t->how->cooling ? t->how->rate * (1.0 - done) : t->how->rate, rng);
	}
}

/* Trains on rows [n x columns], finite, n >= 1. `seed` determines their order. */
static void autoencoder_train(struct autoencoder *ae, const struct mat *rows, const struct autoencoder_training *how, uint64_t seed)
{
	struct autoencoder_run t;
	struct rng rng;

	ASSAY_BUG_IF(rows->cols != ae->shape.columns || !rows->rows || !how->batch);
	rng_seed(&rng, seed);
	autoencoder_run_init(&t, ae, rows, how);
	for (size_t i = 0; i < how->epochs; i++)
		autoencoder_epoch(&t, i, &rng);
	autoencoder_run_release(&t);
}

/* ---- shape and training of the default ---- */

static const struct autoencoder_training defaults = {
	.rule = AUTOENCODER_ADAM,
	.rate = .02,
	.cooling = true,
	.swapped = .2,
	.batch = 32,
};

/* Returns the default shape. A wide layer before the narrow one learns more than only a narrow one, and finds smaller faults
 * (docs/evidence/autoencoder.md). The middle layer has half as many neurons as columns: a wider one would reproduce anomalous rows. */
static struct autoencoder_shape effect_pattern_classify(size_t columns)
{
	const size_t most = AUTOENCODER_WIDTH_MAX, wide = 2 * columns, middle = (columns + 1) / 2;

	return (struct autoencoder_shape){ .columns = columns,
					   .depth = 2,
					   .width = { wide < most ? wide : most, middle < most ? middle : most },
					   .hidden = LANES_TANH,
					   .output = LANES_LINEAR };
}

/* ---- a scorer around a trained network ---- */

/* A scorer whose network gets (value - center) / scale, clipped to the range from low to high. */
struct autoencoder_scorer {
	struct scorer scorer;
	struct autoencoder *network;
	size_t columns;
	double scale;	    /* one divisor for all columns, because the caller has put these on one scale */
	double *center;	    /* [columns] mean of each column */
	double *low, *high; /* [columns] limits of the network's input */
};

/* Returns a scorer without a network. Its scale is 1; all else is 0. */
static struct autoencoder_scorer *autoencoder_scorer_new(const struct scorer_kind *kind, size_t columns)
{
	struct autoencoder_scorer *f = mem_new(1, sizeof(*f));

	f->scorer.kind = kind;
	f->columns = columns;
	f->scale = 1.0;
	f->center = mem_new(3 * columns, sizeof(*f->center));
	f->low = f->center + columns;
	f->high = f->low + columns;
	return f;
}

static void autoencoder_scorer_free(struct scorer *scorer)
{
	struct autoencoder_scorer *f = (struct autoencoder_scorer *)scorer;

	if (!f)
		return;
	autoencoder_free(f->network);
	mem_free(f->center, f);
}

static double clamp(double x, double low, double high)
{
	return x < low ? low : x > high ? high : x;
}

/* Returns the network's input for `rows`, one row for each. */
static struct mat autoencoder_scorer_input(const struct autoencoder_scorer *f, const struct mat *rows)
{
	struct mat out = mat_new(rows->rows, rows->cols);

	for (size_t i = 0; i < rows->rows * rows->cols; i++) {
		size_t j = i % rows->cols;

		out.at[i] = clamp((rows->at[i] - f->center[j]) / f->scale, f->low[j], f->high[j]);
	}
	return out;
}

static void autoencoder_scorer_parts(const struct scorer *scorer, const struct mat *rows, struct mat *parts, struct mat *expected)
{
	const struct autoencoder_scorer *f = (const struct autoencoder_scorer *)scorer;
	struct mat made = autoencoder_scorer_input(f, rows);

	ASSAY_BUG_IF(rows->cols != f->columns);
	autoencoder_reconstruct(f->network, &made, &made);
	for (size_t i = 0; i < rows->rows * rows->cols; i++) {
		double normal = clamp(f->center[i % rows->cols] + f->scale * made.at[i], -LARGEST, LARGEST);
		double miss = clamp(rows->at[i], -LARGEST, LARGEST) - normal;

		parts->at[i] = miss * miss;
		if (expected)
			expected->at[i] = normal;
	}
	mat_release(&made);
}

/* ---- training ---- */

static void scorer_set_center(struct autoencoder_scorer *f, const struct mat *rows)
{
	for (size_t i = 0; i < rows->rows * rows->cols; i++)
		f->center[i % rows->cols] += clamp(rows->at[i], -LARGEST, LARGEST) / (double)rows->rows;
}

/* Sets the scale to the root mean square distance of values from the centers. */
static void scorer_set_scale(struct autoencoder_scorer *f, const struct mat *rows)
{
	double largest = 0.0, sum = 0.0;

	for (size_t i = 0; i < rows->rows * rows->cols; i++)
		largest = fmax(largest, fabs(clamp(rows->at[i], -LARGEST, LARGEST) - f->center[i % rows->cols]));
	if (largest < 1 / LARGEST)
		return; /* all rows are identical */
	for (size_t i = 0; i < rows->rows * rows->cols; i++) {
		double part = (clamp(rows->at[i], -LARGEST, LARGEST) - f->center[i % rows->cols]) / largest;

		sum += part * part;
	}
	f->scale = largest * sqrt(sum / (double)(rows->rows * rows->cols));
}

/* Sets the range of each column to the learned range plus a margin. Without it, a value far outside would drive the network into untrained
 * states, and other columns would get the error. */
static void scorer_set_range(struct autoencoder_scorer *f, const struct mat *rows)
{
	for (size_t j = 0; j < rows->cols; j++) {
		double low = LARGEST, high = -LARGEST, margin;

		for (size_t i = 0; i < rows->rows; i++) {
			double x = (clamp(mat_get(rows, i, j), -LARGEST, LARGEST) - f->center[j]) / f->scale;

			low = fmin(low, x);
			high = fmax(high, x);
		}
		margin = MARGIN * (high - low);
		f->low[j] = low - margin;
		f->high[j] = high + margin;
	}
}

static struct autoencoder_training choose_training(size_t rows)
{
	struct autoencoder_training how = defaults;
	size_t batches = (rows + how.batch - 1) / how.batch;

	how.epochs = (STEPS + batches - 1) / batches;
	return how;
}

static struct scorer *autoencoder_scorer_fit(const struct mat *rows, const size_t *run, uint64_t seed)
{
	struct autoencoder_scorer *f = autoencoder_scorer_new(&scorer_autoencoder, rows->cols);
	const struct autoencoder_shape shape = effect_pattern_classify(rows->cols);
	size_t n = rows->rows < ROWS_MAX ? rows->rows : ROWS_MAX;
	const struct autoencoder_training how = choose_training(n);
	struct mat some = mat_new(n, rows->cols), given;
	struct rng rng;

	(void)run;
	ASSAY_BUG_IF(rows->rows < 2 || !rows->cols);
	rng_seed(&rng, seed);
	for (size_t i = 0; i < n; i++) /* selects rows evenly, because they are sorted */
		memcpy(some.at + i * rows->cols, rows->at + i * rows->rows / n * rows->cols, rows->cols * sizeof(double));
	scorer_set_center(f, &some);
	scorer_set_scale(f, &some);
	scorer_set_range(f, &some);
	given = autoencoder_scorer_input(f, &some);
	f->network = autoencoder_new(&shape, rng_next(&rng));
	autoencoder_train(f->network, &given, &how, rng_next(&rng));
	mat_release(&some);
	mat_release(&given);
	return &f->scorer;
}

/* Writes the number of neurons of each layer, such as "20-10-5-10-20". */
static void autoencoder_scorer_describe(const struct scorer *scorer, char *text, size_t size)
{
	const struct autoencoder_shape *shape = &((const struct autoencoder_scorer *)scorer)->network->shape;
	struct buf words = BUF_INIT;

	buf_format(&words, "%zu", shape->columns);
	for (size_t i = 0; i < shape->depth; i++)
		buf_format(&words, "-%zu", shape->width[i]);
	for (size_t i = shape->depth - 1; i > 0; i--)
		buf_format(&words, "-%zu", shape->width[i - 1]);
	buf_format(&words, "-%zu", shape->columns);
	snprintf(text, size, "%s", words.bytes);
	buf_release(&words);
}

const struct scorer_kind scorer_autoencoder = {
	.name = "autoencoder",
	.fit = autoencoder_scorer_fit,
	.parts = autoencoder_scorer_parts,
	.free = autoencoder_scorer_free,
	.describe = autoencoder_scorer_describe,
};

/* ---- as published with AutoPerf (Alam and others, NeurIPS 2019) ---- */

static const struct autoencoder_training autoperf_training = { .rule = AUTOENCODER_DESCENT, .rate = .01, .batch = 100, .epochs = 100 };

/* Fills out AutoPerf's shapes: sigmoids in all layers, tied weights, one to five layers in each direction, each half as wide as the one
 * before. Returns the number of shapes. */
static size_t autoperf_list_shapes(size_t columns, struct autoencoder_shape out[AUTOENCODER_DEPTH_MAX])
{
	struct autoencoder_shape shape = { .columns = columns, .hidden = LANES_SIGMOID, .output = LANES_SIGMOID, .tied = true };
	size_t n = 0, width = columns;

	while (n < AUTOENCODER_DEPTH_MAX) {
		width = (width + 1) / 2;
		shape.width[shape.depth++] = width < AUTOENCODER_WIDTH_MAX ? width : AUTOENCODER_WIDTH_MAX;
		out[n++] = shape;
		if (width == 1)
			break;
	}
	return n;
}

/* Trains a network of each shape on all rows. Returns the network with the smallest error on these rows. */
static struct autoencoder *autoperf_train_best_shape(const struct mat *rows, const struct autoencoder_shape *shapes, size_t n_shapes,
						     const struct autoencoder_training *how, uint64_t seed)
{
	struct autoencoder *best = NULL;
	double least = DBL_MAX;

	for (size_t s = 0; s < n_shapes; s++) {
		struct autoencoder *ae = autoencoder_new(&shapes[s], seed);
		double error;

		autoencoder_train(ae, rows, how, seed);
		error = autoencoder_error(ae, rows);
		if (best && error >= least) {
			autoencoder_free(ae);
			continue;
		}
		autoencoder_free(best);
		best = ae;
		least = error;
	}
	return best;
}

static struct scorer *autoperf_fit(const struct mat *rows, const size_t *run, uint64_t seed)
{
	struct autoencoder_scorer *f = autoencoder_scorer_new(&scorer_paper, rows->cols);
	struct autoencoder_shape shapes[AUTOENCODER_DEPTH_MAX];
	size_t n_shapes = autoperf_list_shapes(rows->cols, shapes);
	struct mat given;

	(void)run;
	ASSAY_BUG_IF(rows->rows < 2 || !rows->cols);
	for (size_t j = 0; j < f->columns; j++)
		f->high[j] = 1.0;
	given = autoencoder_scorer_input(f, rows); /* values are in [0, 1] if the caller scaled them by detector_range */
	f->network = autoperf_train_best_shape(&given, shapes, n_shapes, &autoperf_training, seed);
	for (size_t j = 0; j < f->columns; j++) {
		f->low[j] = -LARGEST;
		f->high[j] = LARGEST;
	}
	mat_release(&given);
	return &f->scorer;
}

const struct scorer_kind scorer_paper = {
	.name = "paper",
	.fit = autoperf_fit,
	.parts = autoencoder_scorer_parts,
	.free = autoencoder_scorer_free,
	.describe = autoencoder_scorer_describe,
};
