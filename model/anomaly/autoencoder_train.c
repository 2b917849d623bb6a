/* One step is: gather a batch, through the network, back again, move the weights. All memory is taken before the first. */
#include "model/anomaly/autoencoder_internal.h"

#include "base/mem.h"
#include "base/rng.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct autoencoder_training autoencoder_published = {
	.rule = AUTOENCODER_DESCENT, .rate = .01, .batch = 100, .epochs = 100
};

void autoencoder_slopes_init(const struct autoencoder *ae, size_t rows, struct autoencoder_slopes *slopes)
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

void autoencoder_slopes_release(struct autoencoder_slopes *slopes)
{
	autoencoder_block_release(&slopes->block);
}

/* weights [in x padded out] as [out x padded in]. */
static void transpose(size_t in, size_t out, const double *weights, double *to)
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
static void add_mirror(const struct autoencoder *ae, size_t layer, const struct autoencoder_slopes *slopes)
{
	size_t in = ae->width[layer], out = ae->width[layer + 1];
	size_t wide = lanes_padded(out), mirror_wide = lanes_padded(in);
	const double *mirror = slopes->slope + ae->weights_at[ae->layers - 1 - layer];
	double *slope = slopes->slope + ae->weights_at[layer];

	for (size_t i = 0; i < in; i++)
		for (size_t j = 0; j < out; j++)
			slope[i * wide + j] += mirror[j * mirror_wide + i];
}

void autoencoder_backward(const struct autoencoder *ae, size_t rows, const struct autoencoder_batch *batch, const double *wanted,
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
		transpose(ae->width[l], ae->width[l + 1], ae->values.at + ae->weights_at[l], slopes->transposed);
		lanes->product(rows, in, ae->width[l + 1], above, out, 1, slopes->transposed, NULL, slopes->value[l]);
		lanes->slope(ae->shape.hidden, batch->value[l], slopes->value[l], rows * in);
		above = slopes->value[l];
	}
	for (size_t l = 0; ae->shape.tied && l < ae->shape.depth; l++)
		add_mirror(ae, l, slopes);
}

/* A training on its way. */
struct training {
	struct autoencoder *ae;
	const struct autoencoder_training *how;
	const struct mat *rows;
	struct autoencoder_batch batch;
	struct autoencoder_slopes slopes;
	struct autoencoder_block moments; /* Adam's: first, then second */
	struct autoencoder_block wanted;  /* a batch before values were swapped */
	size_t *order;                    /* [rows] */
	size_t batches;                   /* of an epoch */
	double power[2];                  /* beta^t */
};

static void training_init(struct training *t, struct autoencoder *ae, const struct mat *rows,
                          const struct autoencoder_training *how)
{
	size_t batch = how->batch < rows->rows ? how->batch : rows->rows;

	*t = (struct training){ .ae = ae, .how = how, .rows = rows, .power = { 1.0, 1.0 } };
	t->batches = (rows->rows + batch - 1) / batch;
	autoencoder_batch_init(ae, batch, &t->batch);
	autoencoder_slopes_init(ae, batch, &t->slopes);
	t->moments = autoencoder_block_new(how->rule == AUTOENCODER_ADAM ? 2 * ae->trained : 0);
	t->wanted = autoencoder_block_new(how->swapped > 0.0 ? batch * lanes_padded(rows->cols) : 0);
	t->order = mem_new(rows->rows, sizeof(*t->order));
	for (size_t i = 0; i < rows->rows; i++)
		t->order[i] = i;
}

static void training_release(struct training *t)
{
	autoencoder_batch_release(&t->batch);
	autoencoder_slopes_release(&t->slopes);
	autoencoder_block_release(&t->moments);
	autoencoder_block_release(&t->wanted);
	free(t->order);
}

/* Adam's constants as published. */
static void adam(struct training *t, double rate)
{
	struct lanes_adam adam = { .first = .9, .second = .999, .floor = 1e-8 };
	size_t n = t->ae->trained;

	t->power[0] *= adam.first;
	t->power[1] *= adam.second;
	adam.rate = rate / (1.0 - t->power[0]);
	adam.root = 1.0 / sqrt(1.0 - t->power[1]);
	t->ae->lanes->adam(&adam, t->slopes.slope, t->moments.at, t->moments.at + n, t->ae->values.at, n);
}

/* Some rows of the batch get one value of another row. What is wanted: the batch as it was. */
static const double *swap(struct training *t, size_t n, struct rng *rng)
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

static void step(struct training *t, const size_t *chosen, size_t n, double rate, struct rng *rng)
{
	size_t p = t->rows->cols, wide = lanes_padded(p);
	const double *wanted;

	for (size_t i = 0; i < n; i++)
		memcpy(t->batch.value[0] + i * wide, t->rows->at + chosen[i] * p, p * sizeof(double));
	wanted = swap(t, n, rng);
	autoencoder_forward(t->ae, n, &t->batch);
	autoencoder_backward(t->ae, n, &t->batch, wanted, &t->slopes);
	if (t->how->rule == AUTOENCODER_ADAM)
		adam(t, rate);
	else
		t->ae->lanes->descend(rate, t->slopes.slope, t->ae->values.at, t->ae->trained);
	autoencoder_tie(t->ae);
}

static void epoch(struct training *t, size_t number, struct rng *rng)
{
	size_t n = t->rows->rows, steps = t->how->epochs * t->batches;

	rng_shuffle(rng, t->order, n);
	for (size_t b = 0; b < t->batches; b++) {
		size_t from = b * n / t->batches, to = (b + 1) * n / t->batches;
		double done = (double)(number * t->batches + b) / (double)steps;

		step(t, t->order + from, to - from, t->how->cooling ? t->how->rate * (1.0 - done) : t->how->rate, rng);
	}
}

/* The best state so far, by the error on held-out rows. */
struct best {
	double *values;
	size_t misses, patience;
	struct autoencoder_trained at;
};

static bool is_over(struct best *best, const struct autoencoder *ae, const struct mat *held, size_t epochs)
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

void autoencoder_train(struct autoencoder *ae, const struct mat *rows, const struct mat *held,
                       const struct autoencoder_training *how, uint64_t seed, struct autoencoder_trained *trained)
{
	size_t epochs = how->stop && how->stop < how->epochs ? how->stop : how->epochs;
	size_t every = how->checks && how->epochs > how->checks ? how->epochs / how->checks : 1;
	struct best best = { .patience = how->checks / 4, .at = { 0, DBL_MAX } };
	struct training t;
	struct rng rng;

	ASSAY_BUG_IF(rows->cols != ae->shape.columns || !rows->rows || !how->batch);
	rng_seed(&rng, seed);
	training_init(&t, ae, rows, how);
	best.values = mem_new(held ? ae->n : 0, sizeof(double));
	for (size_t i = 0; i < epochs; i++) {
		epoch(&t, i, &rng);
		if (held && ((i + 1) % every == 0 || i + 1 == epochs) && is_over(&best, ae, held, i + 1))
			break;
	}
	if (held && best.at.epochs)
		memcpy(ae->values.at, best.values, ae->n * sizeof(double));
	if (trained)
		*trained = held ? best.at : (struct autoencoder_trained){ epochs, (double)NAN };
	free(best.values);
	training_release(&t);
}
