/* What an autoencoder is made of, for its own files and their tests. */
#ifndef MODEL_ANOMALY_AUTOENCODER_INTERNAL_H
#define MODEL_ANOMALY_AUTOENCODER_INTERNAL_H

#include "model/anomaly/autoencoder.h"

#define AUTOENCODER_LAYERS_MAX ((size_t)2 * AUTOENCODER_DEPTH_MAX)

/* Numbers that vectors can be loaded from without crossing lines of the cache. */
struct autoencoder_block {
	double *at; /* [n] */
	void *memory;
};
struct autoencoder_block autoencoder_block_new(size_t n);
void autoencoder_block_release(struct autoencoder_block *block);

/* Layer l leads from width[l] to width[l + 1] numbers. Its weights are [width[l] x padded width[l + 1]], its biases [padded];
 * what pads is 0 and stays 0. All stand in one block, what is trained first; tied weights of the way back, copies, stand behind
 * that. */
struct autoencoder {
	struct autoencoder_shape shape;
	const struct lanes *lanes;
	size_t layers;
	size_t width[AUTOENCODER_LAYERS_MAX + 1];
	size_t weights_at[AUTOENCODER_LAYERS_MAX], biases_at[AUTOENCODER_LAYERS_MAX];
	size_t trained, n; /* numbers */
	struct autoencoder_block values;
};

static inline enum lanes_curve autoencoder_curve(const struct autoencoder *ae, size_t layer)
{
	return layer + 1 == ae->layers ? ae->shape.output : ae->shape.hidden;
}

/* Copies the trained weights to their mirrors where they are tied. */
void autoencoder_tie(struct autoencoder *ae);

/* Room for a batch on its way through the network: value[l] [rows x padded width[l]], value[0] is what goes in. */
struct autoencoder_batch {
	size_t rows; /* at most */
	double *value[AUTOENCODER_LAYERS_MAX + 1];
	struct autoencoder_block block;
};
void autoencoder_batch_init(const struct autoencoder *ae, size_t rows, struct autoencoder_batch *batch);
void autoencoder_batch_release(struct autoencoder_batch *batch);
void autoencoder_forward(const struct autoencoder *ae, size_t rows, const struct autoencoder_batch *batch);

/* What one step needs besides. */
struct autoencoder_slopes {
	double *value[AUTOENCODER_LAYERS_MAX + 1]; /* of the error by the sums of layer l - 1 */
	double *transposed;                        /* weights of one layer */
	double *slope;                             /* [n] laid out as the values */
	struct autoencoder_block block;
};
void autoencoder_slopes_init(const struct autoencoder *ae, size_t rows, struct autoencoder_slopes *slopes);
void autoencoder_slopes_release(struct autoencoder_slopes *slopes);

/* slopes->slope [trained] of the mean squared difference between the output and `wanted` [rows x padded columns], after
 * autoencoder_forward(). Uses up the output. */
void autoencoder_backward(const struct autoencoder *ae, size_t rows, const struct autoencoder_batch *batch, const double *wanted,
                          const struct autoencoder_slopes *slopes);

#endif
