#include "model/anomaly/autoencoder.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define LINE_BYTES     64
#define LAYERS_MAX     ((size_t)2 * AUTOENCODER_DEPTH_MAX)
#define JUDGED_AT_ONCE 128

/* Numbers that vectors can be loaded from without crossing cache lines. */
struct autoencoder_block {
	double *at; /* [n] */
	void *memory;
};

/* Layer l leads from width[l] to width[l + 1] numbers. Its weights are [width[l] x padded width[l + 1]], its biases [padded]; the padding
 * is 0 and stays 0. All are in one block: first what is trained, then the tied weights of the way back, which are copies. */
struct autoencoder {
	struct autoencoder_shape shape;
	const struct lanes *lanes;
	size_t layers;
	size_t width[LAYERS_MAX + 1];
	size_t weights_at[LAYERS_MAX], biases_at[LAYERS_MAX];
	size_t trained, n; /* numbers */
	struct autoencoder_block values;
};

/* Room for a batch on its way through the network: value[l] [rows x padded width[l]], value[0] is the input. */
struct autoencoder_batch {
	size_t rows; /* at most */
	double *value[LAYERS_MAX + 1];
	struct autoencoder_block block;
};

/* What one training step needs besides. */
struct autoencoder_slopes {
	double *value[LAYERS_MAX + 1]; /* of the error by the sums of layer l - 1 */
	double *transposed;	       /* weights of one layer */
	double *slope;		       /* [n] laid out as the values */
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

static void autoencoder_lay_out(struct autoencoder *ae)
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

static struct autoencoder *autoencoder_zeroed(const struct autoencoder_shape *shape)
{
	struct autoencoder *ae = mem_new(1, sizeof(*ae));

	autoencoder_check(shape);
	ae->shape = *shape;
	ae->lanes = lanes_here();
	autoencoder_lay_out(ae);
	ae->values = autoencoder_block_new(ae->n);
	return ae;
}

/* Glorot and Bengio (2010), equation 16: uniform, of variance 2 / (in + out). */
static void autoencoder_draw(struct autoencoder *ae, size_t layer, struct rng *rng)
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

struct autoencoder *autoencoder_new(const struct autoencoder_shape *shape, uint64_t seed)
{
	struct autoencoder *ae = autoencoder_zeroed(shape);
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t l = 0; l < (shape->tied ? shape->depth : ae->layers); l++)
		autoencoder_draw(ae, l, &rng);
	autoencoder_tie(ae);
	return ae;
}

void autoencoder_free(struct autoencoder *ae)
{
	if (!ae)
		return;
	autoencoder_block_release(&ae->values);
	free(ae);
}

const struct autoencoder_shape *autoencoder_shape(const struct autoencoder *ae)
{
	return &ae->shape;
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
		batch->value[0][i] = .5; /* the output there, so that the padding has no error */
}

static void autoencoder_forward(const struct autoencoder *ae, size_t rows, const struct autoencoder_batch *batch)
{
	for (size_t l = 0; l < ae->layers; l++) {
		size_t out = lanes_padded(ae->width[l + 1]);

		ae->lanes->product(rows, out, ae->width[l], batch->value[l], lanes_padded(ae->width[l]), 1,
				   ae->values.at + ae->weights_at[l], ae->values.at + ae->biases_at[l], batch->value[l + 1]);
		ae->lanes->curve(l + 1 == ae->layers ? ae->shape.output : ae->shape.hidden, batch->value[l + 1], rows * out);
	}
}

/* Some rows at a time through the network. out: what it makes of each row, or NULL: then the sum of the squared differences is returned. */
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

void autoencoder_expect(const struct autoencoder *ae, const struct mat *rows, struct mat *out)
{
	ASSAY_BUG_IF(out->rows != rows->rows || out->cols != rows->cols);
	autoencoder_pass(ae, rows, out);
}

double autoencoder_error(const struct autoencoder *ae, const struct mat *rows)
{
	ASSAY_BUG_IF(!rows->rows);
	return autoencoder_pass(ae, rows, NULL) / (double)(rows->rows * rows->cols);
}

/* ---- training ---- */

static void autoencoder_slopes_init(const struct autoencoder *ae, size_t rows, struct autoencoder_slopes *slopes)
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
	for (size_t l = 0; l < ae->layers; l++) { /* the last layer's stand where its values were */
		slopes->value[l] = slopes->block.at + at;
		at += rows * lanes_padded(ae->width[l]);
	}
}

/* weights [in x padded out] as [out x padded in]. */
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

/* The slope of a tied weight is the sum over both its places. */
static void slopes_add_mirror(const struct autoencoder *ae, size_t layer, const struct autoencoder_slopes *slopes)
{
	size_t in = ae->width[layer], out = ae->width[layer + 1];
	size_t wide = lanes_padded(out), mirror_wide = lanes_padded(in);
	const double *mirror = slopes->slope + ae->weights_at[ae->layers - 1 - layer];
	double *slope = slopes->slope + ae->weights_at[layer];

	for (size_t i = 0; i < in; i++)
		for (size_t j = 0; j < out; j++)
			slope[i * wide + j] += mirror[j * mirror_wide + i];
}

/* slopes->slope [trained] of the mean squared difference between the output and `wanted` [rows x padded columns], after
 * autoencoder_forward(). Uses up the output. */
static void autoencoder_backward(const struct autoencoder *ae, size_t rows, const struct autoencoder_batch *batch, const double *wanted,
				 const struct autoencoder_slopes *slopes)
{
	const struct lanes *lanes = ae->lanes;
	size_t last = ae->layers, n = rows * lanes_padded(ae->shape.columns);
	double factor = 2.0 / (double)(rows * ae->shape.columns);
	double *above = batch->value[last]; /* slopes by the sums of the layer */

	if (ae->shape.output != LANES_LINEAR) {
		above = slopes->value[0];
		memcpy(above, batch->value[last], n * sizeof(double));
	}
	lanes->miss(wanted, factor, above, n);
	lanes->slope(ae->shape.output, batch->value[last], above, n);
	for (size_t l = last; l-- > 0;) {
		size_t in = lanes_padded(ae->width[l]), out = lanes_padded(ae->width[l + 1]);

		lanes->product(ae->width[l], out, rows, batch->value[l], 1, in, above, NULL, slopes->slope + ae->weights_at[l]);
		lanes->sum_rows(rows, out, above, slopes->slope + ae->biases_at[l]);
		if (!l)
			break;
		weights_transpose(ae->width[l], ae->width[l + 1], ae->values.at + ae->weights_at[l], slopes->transposed);
		lanes->product(rows, in, ae->width[l + 1], above, out, 1, slopes->transposed, NULL, slopes->value[l]);
		lanes->slope(ae->shape.hidden, batch->value[l], slopes->value[l], rows * in);
		above = slopes->value[l];
	}
	for (size_t l = 0; ae->shape.tied && l < ae->shape.depth; l++)
		slopes_add_mirror(ae, l, slopes);
}

/* A training under way. All memory is allocated before the first step. */
struct autoencoder_run {
	struct autoencoder *ae;
	const struct autoencoder_training *how;
	const struct mat *rows;
	struct autoencoder_batch batch;
	struct autoencoder_slopes slopes;
	struct autoencoder_block moments; /* Adam's: first, then second */
	struct autoencoder_block wanted;  /* a batch before values were swapped */
	size_t *order;			  /* [rows] */
	size_t batches;			  /* of an epoch */
	double power[2];		  /* beta^t */
};

static void autoencoder_run_init(struct autoencoder_run *t, struct autoencoder *ae, const struct mat *rows,
				 const struct autoencoder_training *how)
{
	size_t batch = how->batch < rows->rows ? how->batch : rows->rows;

	*t = (struct autoencoder_run){ .ae = ae, .how = how, .rows = rows, .power = { 1.0, 1.0 } };
	t->batches = (rows->rows + batch - 1) / batch;
	autoencoder_batch_init(ae, batch, &t->batch);
	autoencoder_slopes_init(ae, batch, &t->slopes);
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

/* Adam's constants as published. */
static void autoencoder_adam(struct autoencoder_run *t, double rate)
{
	struct lanes_adam adam = { .first = .9, .second = .999, .floor = 1e-8 };
	size_t n = t->ae->trained;

	t->power[0] *= adam.first;
	t->power[1] *= adam.second;
	adam.rate = rate / (1.0 - t->power[0]);
	adam.root = 1.0 / sqrt(1.0 - t->power[1]);
	t->ae->lanes->adam(&adam, t->slopes.slope, t->moments.at, t->moments.at + n, t->ae->values.at, n);
}

/* Some rows of the batch get one value of another row. Returns the batch as it was, which is the target. */
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

/* Gather a batch, through the network, back again, move the weights. */
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
		t->ae->lanes->descend(rate, t->slopes.slope, t->ae->values.at, t->ae->trained);
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

/* The best state so far, by the error on held-out rows. */
struct autoencoder_best {
	double *values;
	size_t misses, patience;
	struct autoencoder_trained at;
};

static bool autoencoder_is_over(struct autoencoder_best *best, const struct autoencoder *ae, const struct mat *held, size_t epochs)
{
	double error = autoencoder_error(ae, held);

	if (error < best->at.error) {
		best->at = (struct autoencoder_trained){ epochs, error };
		best->misses = 0;
		memcpy(best->values, ae->values.at, ae->n * sizeof(double));
	} else {
		best->misses++;
	}
	return best->misses > best->patience;
}

void autoencoder_train(struct autoencoder *ae, const struct mat *rows, const struct mat *held, const struct autoencoder_training *how,
		       uint64_t seed, struct autoencoder_trained *trained)
{
	size_t epochs = how->stop && how->stop < how->epochs ? how->stop : how->epochs;
	size_t every = how->checks && how->epochs > how->checks ? how->epochs / how->checks : 1;
	struct autoencoder_best best = { .patience = how->checks / 4, .at = { 0, DBL_MAX } };
	struct autoencoder_run t;
	struct rng rng;

	ASSAY_BUG_IF(rows->cols != ae->shape.columns || !rows->rows || !how->batch);
	rng_seed(&rng, seed);
	autoencoder_run_init(&t, ae, rows, how);
	best.values = mem_new(held ? ae->n : 0, sizeof(double));
	for (size_t i = 0; i < epochs; i++) {
		autoencoder_epoch(&t, i, &rng);
		if (held && ((i + 1) % every == 0 || i + 1 == epochs) && autoencoder_is_over(&best, ae, held, i + 1))
			break;
	}
	if (held && best.at.epochs)
		memcpy(ae->values.at, best.values, ae->n * sizeof(double));
	if (trained)
		*trained = held ? best.at : (struct autoencoder_trained){ epochs, (double)NAN };
	free(best.values);
	autoencoder_run_release(&t);
}
