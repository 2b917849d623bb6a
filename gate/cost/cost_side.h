/* Compares other runs with the cost that a model expects of their inputs: runs of another version on the model's machine, or of the same
 * version on another machine. The result is the cost ratio of the same work. */
#ifndef GATE_COST_COST_SIDE_H
#define GATE_COST_COST_SIDE_H

#include "gate/cost/cost_model.h"
#include "gate/decide/effect.h"

#define COST_SIDE_INPUTS_MIN 5 /* minimum number of inputs that count */

struct cost_side {
	const struct cost_model *model; /* the model; borrowed */
	struct costs costs;		/* the other runs; only those that took turns with the model's version, if there are enough */
	struct costs turns;		/* runs of the model's version that took turns with `costs`; has no inputs if there are too few */
	double *expected, *ratio;	/* [n] per input that counts: cost expected by the model, and log(measured cost / expected cost) */
	size_t *input;			/* [n] indexes into costs.inputs */
	size_t n, unlike, unlike_column;
	bool paired;		   /* the model's version also ran at least half of the inputs; `ratio` is relative to these runs */
	double usual;		   /* expected mean of `ratio` if nothing changed */
	struct effect_pair effect; /* set if at least COST_SIDE_INPUTS_MIN inputs count; its member `type` is not set */
};

/* Fills *out with the comparison; cost_side_release() it. The model must outlive *out, which is overwritten. Only the runs of one `assay
 * run` are compared if it ran both versions on at least COST_SIDE_INPUTS_MIN common inputs, and these are half of the other version's: both
 * versions then met the same conditions. ASSAY_E_NODATA: an input lacks features that the model needs; others as costs_load(). */
enum assay_status cost_side_of(struct store *store, const struct cost_model *model, const struct costs_asked *asked, struct cost_side *out,
			       struct assay_error *err);
void cost_side_release(struct cost_side *side); /* accepts zeroed */

/* Returns the inputs that count, in the columns of the model's fit of all features: [n x fit.n]. mat_release() it. */
struct mat cost_side_rows(const struct cost_side *side);

#endif
