/* Other runs against what a model of the cost expects of their inputs: another version's on the model's machine, or the same version's on
 * another machine. By how much they are dearer for the same work. */
#ifndef GATE_COST_COST_SIDE_H
#define GATE_COST_COST_SIDE_H

#include "gate/cost/cost_model.h"
#include "gate/decide/effect.h"

#define COST_SIDE_INPUTS_MIN 5 /* that must count */

struct cost_side {
	const struct cost_model *model; /* borrowed */
	struct costs costs;		/* of the other runs; of those alone that took turns with the model's, where they are enough */
	struct costs turns;		/* of the model's version, the runs that took turns with them; no inputs: too few of either */
	double *expected, *ratio; /* [n] of the inputs that count: by the model, and the log of what they cost over what they should */
	size_t *input;		  /* [n] of costs.inputs */
	size_t n, unlike, unlike_column;
	bool paired;		   /* ratio is over what the same inputs cost in the model's runs: most were run there */
	double usual;		   /* mean of ratio where nothing has changed */
	struct effect_pair effect; /* only with COST_SIDE_INPUTS_MIN; its type is not set */
};

/* Where one `assay run` made runs of both versions, of at least COST_SIDE_INPUTS_MIN inputs and half of those that it ran with the other,
 * these are compared with each other alone: whatever the machine did meanwhile, both had it.
 * The model must outlive *out, which is overwritten; cost_side_release() it. ASSAY_E_NODATA: of an input features are not known that the
 * model needs; else as costs_load(). */
enum assay_status cost_side_of(struct store *store, const struct cost_model *model, const struct costs_asked *asked, struct cost_side *out,
			       struct assay_error *err);
void cost_side_release(struct cost_side *side); /* accepts zeroed */

/* Those that count, as the model's fit of all features has them: [n x fit.n]. mat_release() it. */
struct mat cost_side_rows(const struct cost_side *side);

#endif
