/* What learns from normal rows how they look, and says of any row how far it is from that, column by column. Rows are samples,
 * columns are counters, scaled alike by the caller (model/anomaly/scale.h). A way to score is one row of a table:
 * the detector (model/anomaly/detector.h) treats all alike, so that they can be compared. */
#ifndef MODEL_ANOMALY_SCORER_H
#define MODEL_ANOMALY_SCORER_H

#include "base/error.h"
#include "base/mat.h"

#include <cjson/cJSON.h>
#include <stdint.h>

struct scorer; /* one that is fitted; each kind has its own content behind `kind` */

struct scorer_kind {
	const char *name;  /* "autoencoder" */
	const char *about; /* for people, a line */

	/* rows [n x p], n >= 2, p >= 1, finite; run [n]: where a part of the rows has to be held out, whole runs are. The same rows in the
	 * same order, run and seed give the same bits. Never fails. */
	struct scorer *(*fit)(const struct mat *rows, const size_t *run, uint64_t seed);

	/* parts, expected [n x p], allocated by the caller, overwritten: what each column adds to a row's error (>= 0; the row's sum is its error) and what
	 * would have been normal there (expected may be NULL). Safe from several threads. */
	void (*parts)(const struct scorer *scorer, const struct mat *rows, struct mat *parts, struct mat *expected);

	void (*free)(struct scorer *scorer); /* accepts NULL */

	/* For models that are kept; both NULL where they are not. write: the caller's. read: ASSAY_E_FORMAT names what is wrong. */
	cJSON *(*write)(const struct scorer *scorer);
	enum assay_status (*read)(const cJSON *json, size_t columns, struct scorer **out, struct assay_error *err);

	/* What a person wants to know of the fitted one ("16-8-4-8-16"): into text[size]; NULL when there is nothing to say. */
	void (*describe)(const struct scorer *scorer, char *text, size_t size);
};

/* The first member of every fitted one. */
struct scorer {
	const struct scorer_kind *kind;
};

extern const struct scorer_kind scorer_autoencoder;  /* autoencoder_scorer.c: linear output, Adam, topology by held-out error */
extern const struct scorer_kind scorer_paper;        /* the same file: the published training */
extern const struct scorer_kind scorer_som;          /* som.c: self-organising map, as UBL */
extern const struct scorer_kind scorer_mahalanobis;  /* mahalanobis.c: a normal distribution around one or several centers, shrunk */

#endif
