/* The expected cost of an input for a version: a sparse polynomial (model/sparse/sparse.h), learned from the version's runs at each use, so
 * it depends only on the store. One model uses all features, a second one the static features, which are known before a run. */
#ifndef GATE_COST_COST_MODEL_H
#define GATE_COST_COST_MODEL_H

#include "base/buf.h"
#include "base/error.h"
#include "model/sparse/sparse.h"
#include "runs/running/costs.h"

#define COST_RUNS_MIN  40  /* default of --min-runs: minimum number of inputs */
#define COST_ERROR_MAX .15 /* default of --max-error: maximum mean relative error on held-out inputs */

struct cost_asked {
	struct costs_asked costs;
	size_t min_runs;
	size_t degree; /* maximum degree of a term; 0: 2 if runs were counted, else 3: static features have no counts of nested loops */
	bool paper;    /* use the published procedure */
};

/* A model of some columns of costs.X. */
struct cost_fit {
	struct sparse model;
	size_t *column; /* [n] the model's columns as indexes into costs.X, ascending */
	size_t n;
};

struct cost_model {
	struct costs costs;
	struct cost_fit all, before; /* fit with all features and fit with static features; before.n is 0 if no static feature differs */
};

/* Learns both fits; cost_model_release() *out. ASSAY_E_NODATA: too few inputs, or no feature distinguishes them; else as costs_load(). */
enum assay_status cost_model_of(struct store *store, const struct cost_asked *asked, struct cost_model *out, struct assay_error *err);
void cost_model_release(struct cost_model *model); /* accepts zeroed */

/* Fits the columns of costs.X marked in has[costs.p]; if none varies, out->n stays 0. *out must be zeroed; cost_fit_release() it. */
void cost_fit_of(const struct cost_model *model, const struct cost_asked *asked, const bool *has, struct cost_fit *out);
void cost_fit_release(struct cost_fit *fit); /* accepts zeroed */

/* Copies the fit's columns of `row`, a row of costs.X, into part[fit->n]. */
void cost_fit_row(const struct cost_fit *fit, const double *row, double *part);
/* Returns a fit whose features are all known in `row`, a row of costs.X (NaN: not known): `all`, otherwise `before`, otherwise NULL. */
const struct cost_fit *cost_fit_for(const struct cost_model *model, const double *row);
const char *cost_fit_column(const struct cost_model *model, const struct cost_fit *fit,
			    size_t column); /* returns the name of the column; fit->n is for counts in places that no input reached */

/* ---- formatting for users ---- */

/* Formats a cost: "1.2 us", "0.34 s"; a metric as a number without unit. */
#define COST_QUANTITY_BYTES 40
struct cost_quantity {
	char text[COST_QUANTITY_BYTES];
};
struct cost_quantity cost_quantity(enum cost_of of, double value);

/* Appends a feature for users: "(iterations of the loop at sort.c:88)" for "loop sort.c:88 sort_range"; other features by name. */
void cost_feature_text(const char *name, struct buf *out);
/* Appends a term for users: "blocks * (bytes of argument 1)". */
void cost_term_text(const struct cost_model *model, const struct cost_fit *fit, const struct sparse_term *term, struct buf *out);
/* Appends the model as a formula: "T = 1.2 us * (iterations of the loop at sort.c:88) + 0.3 ms * blocks + 2 ms". */
void cost_sentence(const struct cost_model *model, const struct cost_fit *fit, struct buf *out);

#endif
