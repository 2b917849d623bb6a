/* What learns from normal rows how they look, and says of any row how far it is from that, column by column. Rows are samples, columns are
 * counters, scaled alike by the caller. The detector (model/anomaly/detector.h) treats all scorers alike, so that they can be compared. */
#ifndef MODEL_ANOMALY_SCORER_H
#define MODEL_ANOMALY_SCORER_H

#include "base/error.h"
#include "base/mat.h"

#include <stdint.h>

struct scorer; /* fitted; each kind extends it */

struct scorer_kind {
	const char *name;

	/* rows [n x p], n >= 2, p >= 1, finite; run [n]: where some rows have to be held out, whole runs are. The same rows in the same
	 * order, run and seed give the same bits. Never fails. */
	struct scorer *(*fit)(const struct mat *rows, const size_t *run, uint64_t seed);

	/* parts, expected [n x p], allocated by the caller, overwritten: what each column adds to a row's error (>= 0; their sum is the
	 * row's error) and what would have been normal (expected may be NULL). Safe from several threads. */
	void (*parts)(const struct scorer *scorer, const struct mat *rows, struct mat *parts, struct mat *expected);

	void (*free)(struct scorer *scorer); /* accepts NULL */

	/* A few words on the fitted one ("16-8-4-8-16") into text[size]. */
	void (*describe)(const struct scorer *scorer, char *text, size_t size);
};

/* The first member of every fitted one. */
struct scorer {
	const struct scorer_kind *kind;
};

extern const struct scorer_kind scorer_autoencoder; /* the default */
extern const struct scorer_kind scorer_paper;	    /* as published with AutoPerf */

#endif
