/* A scorer learns normal rows, then measures, column by column, the distance of any row from these. Rows are samples. Columns are counters,
 * which the caller has put on one scale. The detector (model/anomaly/detector.h) treats all scorers alike, so that they can be compared. */
#ifndef MODEL_ANOMALY_SCORER_H
#define MODEL_ANOMALY_SCORER_H

#include "base/error.h"
#include "base/mat.h"

#include <stdint.h>

struct scorer; /* a fitted scorer; each kind of scorer extends this struct */

struct scorer_kind {
	const char *name;

	/* Fits rows [n x p], finite, n >= 2, p >= 1. run [n] is the run of each row; a scorer that holds rows out holds out all rows of a
	 * run. The same rows in the same order, runs and seed give the same bits. Never fails. */
	struct scorer *(*fit)(const struct mat *rows, const size_t *run, uint64_t seed);

	/* Fills `parts` and `expected` [n x p], which the caller allocates. parts: each column's part of a row's error, >= 0; their sum is
	 * the error. expected: the normal values; may be NULL. Thread-safe. */
	void (*parts)(const struct scorer *scorer, const struct mat *rows, struct mat *parts, struct mat *expected);

	void (*free)(struct scorer *scorer); /* accepts NULL */

	/* Writes a description of the fitted scorer, such as "16-8-4-8-16", to text[size]. */
	void (*describe)(const struct scorer *scorer, char *text, size_t size);
};

/* First member of every fitted scorer. */
struct scorer {
	const struct scorer_kind *kind;
};

extern const struct scorer_kind scorer_autoencoder; /* autoencoder; the default scorer */
extern const struct scorer_kind scorer_paper;	    /* autoencoder as published by AutoPerf */

#endif
