/* Which shape an autoencoder should have: as few numbers in the middle as the rows allow. */
#ifndef MODEL_ANOMALY_AUTOENCODER_TOPOLOGY_H
#define MODEL_ANOMALY_AUTOENCODER_TOPOLOGY_H

#include "model/anomaly/autoencoder.h"

#define AUTOENCODER_SHAPES_MAX 8

/* The shapes that are tried for rows of so many columns, by number of weights, the fewest first; no two are alike. Returns how
 * many, at least 1. The middle has at most half as many neurons as there are columns: one that is wider passes everything on,
 * what is not normal as well. */
size_t autoencoder_shapes(size_t columns, struct autoencoder_shape out[AUTOENCODER_SHAPES_MAX]);

/* As published: sigmoids everywhere, tied weights, one to five layers each way, each of them half as wide as the one before. */
size_t autoencoder_shapes_published(size_t columns, struct autoencoder_shape out[AUTOENCODER_SHAPES_MAX]);

struct autoencoder_choice {
	size_t shape;                         /* index */
	double fraction;                      /* of the training after which the held-out error was least, (0, 1] */
	double error[AUTOENCODER_SHAPES_MAX]; /* [n] held-out, mean over runs */
};

/* Cross-validation over `folds` parts of the rows, whole runs together (rows, where there is one run only). Chosen is the first
 * shape whose error, run by run, exceeds that of the best one by no more than one standard error of the difference, or than a
 * twentieth (Breiman and others, Classification and Regression Trees, 1984, 3.4.3, in pairs). rows [n >= 2], run [n]; shapes by
 * number of weights. */
void autoencoder_choose(const struct mat *rows, const size_t *run, const struct autoencoder_shape *shapes, size_t n_shapes,
                        const struct autoencoder_training *how, size_t folds, uint64_t seed, struct autoencoder_choice *out);

/* Trains every shape on all rows and keeps the one with the smallest error on them, as published. autoencoder_free() it. */
struct autoencoder *autoencoder_least_error(const struct mat *rows, const struct autoencoder_shape *shapes, size_t n_shapes,
                                            const struct autoencoder_training *how, uint64_t seed);

/* At most `max` rows of rows, as equally many from each run as there are, drawn by `seed`, in their order: picked[at most max].
 * Returns how many. */
size_t autoencoder_sample(const size_t *run, size_t n, size_t max, uint64_t seed, size_t *picked);

#endif
