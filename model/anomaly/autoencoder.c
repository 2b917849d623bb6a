#include "model/anomaly/autoencoder_internal.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES     64
#define JUDGED_AT_ONCE 128

struct autoencoder_block autoencoder_block_new(size_t n)
{
	struct autoencoder_block block = { NULL, mem_new(n + LINE_BYTES / sizeof(double), sizeof(double)) };
	uintptr_t past = (uintptr_t)block.memory % LINE_BYTES;

	block.at = (double *)block.memory + (past ? (LINE_BYTES - past) / sizeof(double) : 0);
	return block;
}

void autoencoder_block_release(struct autoencoder_block *block)
{
	free(block->memory);
	*block = (struct autoencoder_block){ NULL, NULL };
}

static void shape_check(const struct autoencoder_shape *shape)
{
	ASSAY_BUG_IF(!shape->columns || !shape->depth || shape->depth > AUTOENCODER_DEPTH_MAX);
	for (size_t i = 0; i < shape->depth; i++)
		ASSAY_BUG_IF(!shape->width[i]);
}

/* Where everything stands. */
static void lay_out(struct autoencoder *ae)
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

static struct autoencoder *with_zeros(const struct autoencoder_shape *shape)
{
	struct autoencoder *ae = mem_new(1, sizeof(*ae));

	shape_check(shape);
	ae->shape = *shape;
	ae->lanes = lanes_here();
	lay_out(ae);
	ae->values = autoencoder_block_new(ae->n);
	return ae;
}

/* Glorot and Bengio (2010), equation 16: uniform, of variance 2 / (in + out). */
static void draw(struct autoencoder *ae, size_t layer, struct rng *rng)
{
	size_t in = ae->width[layer], out = ae->width[layer + 1];
	double reach = sqrt(6.0 / (double)(in + out));
	double *weights = ae->values.at + ae->weights_at[layer];

	for (size_t i = 0; i < in; i++)
		for (size_t j = 0; j < out; j++)
			weights[i * lanes_padded(out) + j] = reach * (2.0 * rng_double(rng) - 1.0);
}

void autoencoder_tie(struct autoencoder *ae)
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
	struct autoencoder *ae = with_zeros(shape);
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t l = 0; l < (shape->tied ? shape->depth : ae->layers); l++)
		draw(ae, l, &rng);
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

size_t autoencoder_weights(const struct autoencoder_shape *shape)
{
	size_t in = shape->columns, weights = 0, biases = shape->columns;

	for (size_t i = 0; i < shape->depth; i++) {
		weights += in * shape->width[i];
		biases += i + 1 < shape->depth ? 2 * shape->width[i] : shape->width[i];
		in = shape->width[i];
	}
	return (shape->tied ? weights : 2 * weights) + biases;
}

void autoencoder_batch_init(const struct autoencoder *ae, size_t rows, struct autoencoder_batch *batch)
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
		batch->value[0][i] = .5; /* what comes out where nothing is, so that what pads is no error */
}

void autoencoder_batch_release(struct autoencoder_batch *batch)
{
	autoencoder_block_release(&batch->block);
}

void autoencoder_forward(const struct autoencoder *ae, size_t rows, const struct autoencoder_batch *batch)
{
	for (size_t l = 0; l < ae->layers; l++) {
		size_t out = lanes_padded(ae->width[l + 1]);

		ae->lanes->product(rows, out, ae->width[l], batch->value[l], lanes_padded(ae->width[l]), 1,
		                   ae->values.at + ae->weights_at[l], ae->values.at + ae->biases_at[l], batch->value[l + 1]);
		ae->lanes->curve(autoencoder_curve(ae, l), batch->value[l + 1], rows * out);
	}
}

/* Some rows at a time through the network; then `each` sees them. */
static void pass(const struct autoencoder *ae, const struct mat *rows, void *context,
                 void (*each)(void *context, size_t row, const double *expected))
{
	size_t p = ae->shape.columns, wide = lanes_padded(p);
	struct autoencoder_batch batch;

	ASSAY_BUG_IF(rows->cols != p);
	autoencoder_batch_init(ae, rows->rows < JUDGED_AT_ONCE ? rows->rows : JUDGED_AT_ONCE, &batch);
	for (size_t first = 0; first < rows->rows; first += batch.rows) {
		size_t n = rows->rows - first < batch.rows ? rows->rows - first : batch.rows;

		for (size_t i = 0; i < n; i++)
			memcpy(batch.value[0] + i * wide, rows->at + (first + i) * p, p * sizeof(double));
		autoencoder_forward(ae, n, &batch);
		for (size_t i = 0; i < n; i++)
			each(context, first + i, batch.value[ae->layers] + i * wide);
	}
	autoencoder_batch_release(&batch);
}

static void keep(void *context, size_t row, const double *expected)
{
	struct mat *out = context;

	memcpy(out->at + row * out->cols, expected, out->cols * sizeof(double));
}

void autoencoder_expect(const struct autoencoder *ae, const struct mat *rows, struct mat *out)
{
	ASSAY_BUG_IF(out->rows != rows->rows || out->cols != rows->cols);
	pass(ae, rows, out, keep);
}

struct total {
	const struct mat *rows;
	double squares;
};

static void add_squares(void *context, size_t row, const double *expected)
{
	struct total *total = context;
	const double *x = total->rows->at + row * total->rows->cols;

	for (size_t j = 0; j < total->rows->cols; j++)
		total->squares += (x[j] - expected[j]) * (x[j] - expected[j]);
}

double autoencoder_error(const struct autoencoder *ae, const struct mat *rows)
{
	struct total total = { rows, 0.0 };

	ASSAY_BUG_IF(!rows->rows);
	pass(ae, rows, &total, add_squares);
	return total.squares / (double)(rows->rows * rows->cols);
}
