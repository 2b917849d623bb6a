/* A scorer around a network, whichever way that was trained. */
#ifndef MODEL_ANOMALY_AUTOENCODER_SCORER_H
#define MODEL_ANOMALY_AUTOENCODER_SCORER_H

#include "model/anomaly/autoencoder.h"
#include "model/anomaly/scorer.h"

/* The network gets (value - center) / scale, kept within low and high. */
struct autoencoder_scorer {
	struct scorer scorer;
	struct autoencoder *network;
	size_t columns;
	double scale;	    /* one for all columns, which the caller has scaled alike */
	double *center;	    /* [columns] */
	double *low, *high; /* [columns] */
};

/* Without a network; the scale is 1, all else 0. */
struct autoencoder_scorer *autoencoder_scorer_new(const struct scorer_kind *kind, size_t columns);
struct mat autoencoder_scorer_input(const struct autoencoder_scorer *scorer,
				    const struct mat *rows); /* what the network gets; the caller's */

/* For the table of a kind. */
void autoencoder_scorer_parts(const struct scorer *scorer, const struct mat *rows, struct mat *parts, struct mat *expected);
void autoencoder_scorer_free(struct scorer *scorer);
void autoencoder_scorer_describe(const struct scorer *scorer, char *text, size_t size);

#endif
