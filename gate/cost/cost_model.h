/* What an input should cost a version: a sparse polynomial (model/sparse/sparse.h), learned from the runs of the version each time that it
 * is asked for, so that the store alone says what it is. Two of them: with all features, and with those that are known before a run. */
#ifndef GATE_COST_COST_MODEL_H
#define GATE_COST_COST_MODEL_H

#include "base/buf.h"
#include "base/error.h"
#include "model/sparse/sparse.h"
#include "runs/running/costs.h"

#define COST_RUNS_MIN  40  /* inputs; --min-runs */
#define COST_ERROR_MAX .15 /* --max-error: of inputs excluded, on average */

struct cost_asked {
	struct costs_asked costs;
	size_t min_runs;
	size_t degree; /* 0: 2 where runs were counted, 3 of what is known before them, in which no count of a nested loop is */
	bool paper;    /* the published procedure */
};

/* A model with some of the columns of costs.X. */
struct cost_fit {
	struct sparse model;
	size_t *column; /* [n] of costs.X, rising: what the model's columns are */
	size_t n;
};

struct cost_model {
	struct costs costs;
	struct cost_fit all, before; /* before.n == 0: nothing is known before a run that tells inputs apart */
};

/* ASSAY_E_NODATA: fewer inputs than min_runs, or no feature distinguishes them; else as costs_load(). cost_model_release() *out. */
enum assay_status cost_model_of(struct store *store, const struct cost_asked *asked, struct cost_model *out, struct assay_error *err);
void cost_model_release(struct cost_model *model); /* accepts zeroed */

/* A fit of the columns of costs.X that it has[costs.p]; where none varies, out->n stays 0. cost_fit_release() *out, which was zeroed. */
void cost_fit_of(const struct cost_model *model, const struct cost_asked *asked, const bool *has, struct cost_fit *out);
void cost_fit_release(struct cost_fit *fit); /* accepts zeroed */

/* The fit's part of a row of costs.X: [fit->n]. */
void cost_fit_row(const struct cost_fit *fit, const double *row, double *part);
/* The fit that can be used with this row of costs.X, in which NaN is what is not known: all, before, or NULL. */
const struct cost_fit *cost_fit_for(const struct cost_model *model, const double *row);
const char *cost_fit_column(const struct cost_model *model, const struct cost_fit *fit,
			    size_t column); /* its name; of fit->n, what represents counts elsewhere */

/* ---- in words ---- */

/* "1.2 us", "0.34 s"; of a metric the number alone. */
#define COST_QUANTITY_BYTES 40
struct cost_quantity {
	char text[COST_QUANTITY_BYTES];
};
struct cost_quantity cost_quantity(enum cost_of of, double value);

/* What a feature is in a sentence: "(iterations of the loop at sort.c:88)" for "loop sort.c:88 sort_range", else its name. */
void cost_feature_words(const char *name, struct buf *out);
/* "blocks * (bytes of argument 1)" */
void cost_term_words(const struct cost_model *model, const struct cost_fit *fit, const struct sparse_term *term, struct buf *out);
/* "T = 1.2 us * (iterations of the loop at sort.c:88) + 0.3 ms * blocks + 2 ms" */
void cost_sentence(const struct cost_model *model, const struct cost_fit *fit, struct buf *out);

#endif
