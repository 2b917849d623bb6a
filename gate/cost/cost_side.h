/* Compares other runs with the cost that a model expects of their inputs: runs of another version on the model's machine, or of the same
 * version on another machine. The result is the cost ratio of the same work. */
#ifndef GATE_COST_COST_SIDE_H
#define GATE_COST_COST_SIDE_H

#include "gate/cost/cost_model.h"
#include "gate/decide/effect.h"

#define COST_SIDE_INPUTS_MIN 5 /* least number of inputs that count */

struct cost_side {
	const struct cost_model *model; /* borrowed */
	struct costs costs;		/* the other runs; if enough of them took turns with the model's runs, only those */
	struct costs turns;		/* runs of the model's version that took turns with them; no inputs: too few of either */
	double *expected, *ratio;	/* [n] inputs that count: the model's expectation, and log(measured cost / expected cost) */
	size_t *input;			/* [n] indexes of costs.inputs */
	size_t n, unlike, unlike_column;
	bool paired;		   /* most inputs were run in the model's runs, too, and `ratio` is relative to their cost there */
	double usual;		   /* expected mean of `ratio` if nothing has changed */
	struct effect_pair effect; /* set if at least COST_SIDE_INPUTS_MIN inputs count; its type is not set */
};

/* Fills *out with the comparison. If one `assay run` ran both versions on at least COST_SIDE_INPUTS_MIN common inputs, at least half of the
 * other version's inputs there, only these runs are compared with each other: both met the same conditions of the machine. The model must
 * outlive *out, which is overwritten; cost_side_release() it. ASSAY_E_NODATA: an input lacks features that the model needs; otherwise
 * errors as costs_load(). */
enum assay_status cost_side_of(struct store *store, const struct cost_model *model, const struct costs_asked *asked, struct cost_side *out,
			       struct assay_error *err);
void cost_side_release(struct cost_side *side); /* accepts zeroed */

/* Returns the rows of the inputs that count, in the columns of the model's fit of all features: [n x fit.n]. mat_release() it. */
struct mat cost_side_rows(const struct cost_side *side);

#endif
