/* Autoencoders: symmetric, fully connected networks that are trained to give back what they are given, through fewer numbers.
 * Training is mini-batch gradient descent on the mean over rows and columns of the squared difference (Rumelhart, Hinton and
 * Williams, Nature 323, 1986), plain or by Adam (Kingma and Ba, ICLR 2015), from weights as Glorot and Bengio (AISTATS 2010) draw
 * them. Same shape, data and seed: same bits on every machine, with any number of threads; a row's outcome depends on that row
 * alone. A row costs 3 multiplications and additions per weight in training, 1 in judging. */
#ifndef MODEL_ANOMALY_AUTOENCODER_H
#define MODEL_ANOMALY_AUTOENCODER_H

#include "base/mat.h"
#include "model/anomaly/lanes.h"

#include <stdint.h>

#define AUTOENCODER_DEPTH_MAX 5	   /* layers each way */
#define AUTOENCODER_WIDTH_MAX 1024 /* neurons in a layer of those that are tried */

struct autoencoder_shape {
	size_t columns;			     /* of the rows, >= 1 */
	size_t depth;			     /* layers each way, 1 to AUTOENCODER_DEPTH_MAX */
	size_t width[AUTOENCODER_DEPTH_MAX]; /* [depth] neurons up to the middle, >= 1; the way back is the mirror */
	enum lanes_curve hidden, output;     /* what neurons do with their sum */
	bool tied;			     /* layers of the way back have their mirrors' weights, transposed, and biases of their own */
};

/* How it is trained. */
struct autoencoder_training {
	enum autoencoder_rule { AUTOENCODER_DESCENT, AUTOENCODER_ADAM } rule;
	double rate;	/* learning rate */
	bool cooling;	/* the rate falls to 0 over the epochs, in a straight line; else it is constant */
	double swapped; /* share of the rows in which one column gets the value of another row, while the right one is still asked
			   for: a denoising autoencoder (Vincent and others, ICML 2008), which has to use what the other columns
			   say */
	size_t batch;	/* rows, at most; batches of one epoch differ by one row at most */
	size_t epochs;
	size_t checks; /* with held-out rows: times that their error is looked at; the best of these states is kept */
	size_t stop;   /* epochs after which to end early, on the way to `epochs`; 0: never */
};

struct autoencoder;

/* With its weights drawn. autoencoder_free() it. */
struct autoencoder *autoencoder_new(const struct autoencoder_shape *shape, uint64_t seed);
void autoencoder_free(struct autoencoder *ae); /* accepts NULL */
const struct autoencoder_shape *autoencoder_shape(const struct autoencoder *ae);

struct autoencoder_trained {
	size_t epochs; /* of the state that was kept */
	double error;  /* of the held-out rows then (autoencoder_error); NaN without them */
};

/* rows [n x columns], n >= 1, finite. held: rows that are not learned from (or NULL): the error on them decides when to stop,
 * which is after a quarter of the checks without a better one. `seed` shuffles the rows. trained may be NULL. */
void autoencoder_train(struct autoencoder *ae, const struct mat *rows, const struct mat *held, const struct autoencoder_training *how,
		       uint64_t seed, struct autoencoder_trained *trained);

/* What it makes of each row: out [n x columns], allocated by the caller, overwritten. Safe from several threads. */
void autoencoder_expect(const struct autoencoder *ae, const struct mat *rows, struct mat *out);

/* Mean over rows and columns of the squared difference. */
double autoencoder_error(const struct autoencoder *ae, const struct mat *rows);

extern const struct autoencoder_training autoperf_training; /* as published with AutoPerf: descent, .01, batches of 100, 100 epochs */

#endif
