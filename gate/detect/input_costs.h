/* What a model of the cost (gate/cost/cost_model.h) says of the inputs of stored runs: it stands for the numbers among their arguments,
 * where there is one. How dear an input should be for the old version, and how much of it does what each term counts, says more than what a
 * program is asked: it was counted in it, by the old build. */
#ifndef GATE_DETECT_INPUT_COSTS_H
#define GATE_DETECT_INPUT_COSTS_H

#include "fleet/lab/lab.h"
#include "gate/detect/side.h"

/* selectors: versions of one application with many inputs; counts: the version whose runs have counted the features, or NULL: what is known
 * of inputs, and what their own runs have. The numbers of both sides' runs become the model's; NaN where an input was not counted, or is
 * unlike all that were learned. Learns the model: seconds. Without `counts` it never fails: where there is no model that can be relied
 * on, or inputs of `new` of which it knows nothing, the numbers stay as they are. With it, ASSAY_E_USAGE and as cost_model_of(). */
enum assay_status input_costs_set(struct lab *lab, const char *const selectors[2], const char *counts, struct side *old, struct side *new,
				  struct assay_error *err);

#endif
