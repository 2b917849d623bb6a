/* The expected cost of an input for a version: a sparse polynomial (model/sparse/sparse.h). It is learned again from the stored runs at
 * each use. One model uses all features. A second model uses only static features, which are known before a run. */
#ifndef GATE_COST_COST_MODEL_H
#define GATE_COST_COST_MODEL_H

#include "base/buf.h"
#include "base/error.h"
#include "model/sparse/sparse.h"
#include "runs/running/costs.h"

#define COST_RUNS_MIN  40  /* default of --min-runs: minimum number of inputs */
#define COST_ERROR_MAX .15 /* default of --max-error: maximum mean relative error on held-out inputs */

struct cost_request {
	struct costs_request costs;
	size_t min_runs;
	size_t degree; /* maximum degree of a term; 0 selects 2 if there are counted features, because counts of nested loops are products
			  already, and otherwise 3 */
	bool paper;    /* use the published procedure */
};

/* A model that uses some columns of costs.X. */
struct cost_fit {
	struct sparse model;
	size_t *column; /* [n] indexes of these columns in costs.X, ascending */
	size_t n;
};

struct cost_model {
	struct costs costs;
	struct cost_fit all, before; /* fits with all features and with static features; before.n is 0 if no static feature varies */
};

/* Learns both fits and sets *out; the caller calls cost_model_release(). Returns ASSAY_E_NODATA if there are too few inputs, or if no
 * feature distinguishes them; other errors are those of costs_load(). */
enum assay_status cost_model_learn(struct store *store, const struct cost_request *asked, struct cost_model *out, struct assay_error *err);
void cost_model_release(struct cost_model *model); /* accepts a zeroed struct */

/* Fits a model to the columns of costs.X that are marked in has[costs.p]. If none of them varies, out->n stays 0. *out must be zeroed; the
 * caller calls cost_fit_release(). */
void cost_fit_compute(const struct cost_model *model, const struct cost_request *asked, const bool *has, struct cost_fit *out);
void cost_fit_release(struct cost_fit *fit); /* accepts a zeroed struct */

/* Copies the columns of the fit from `row`, a row of costs.X, to part[fit->n]. */
void cost_fit_extract_row(const struct cost_fit *fit, const double *row, double *part);
/* Returns a fit whose features are all known in `row`, a row of costs.X: first choice is `all`, second `before`. Returns NULL if neither
 * can be used. NaN in the row means not known. */
const struct cost_fit *cost_fit_choose(const struct cost_model *model, const double *row);
const char *cost_fit_column_name(
    const struct cost_model *model, const struct cost_fit *fit,
    size_t column); /* returns the name of the column; column fit->n is the sum of counts in places that no input reached */

/* Formats a cost as "1.2 us" or "0.34 s", and a metric as a number without unit. */
#define COST_QUANTITY_BYTES 40
struct cost_quantity {
	char text[COST_QUANTITY_BYTES];
};
struct cost_quantity cost_quantity(enum cost_kind of, double value);

/* Appends a feature as text for users: "(iterations of the loop at sort.c:88)" for "loop sort.c:88 sort_range". Appends names of other
 * features unchanged. */
void cost_feature_text(const char *name, struct buf *out);
/* Appends a term as text for users: "blocks * (bytes of argument 1)". */
void cost_term_text(const struct cost_model *model, const struct cost_fit *fit, const struct sparse_term *term, struct buf *out);
/* Appends the model as a formula: "T = 1.2 us * (iterations of the loop at sort.c:88) + 0.3 ms * blocks + 2 ms". */
void cost_append_formula(const struct cost_model *model, const struct cost_fit *fit, struct buf *out);

#endif
