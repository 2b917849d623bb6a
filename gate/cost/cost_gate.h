/* Whether a candidate is slower than what its inputs should have cost the baseline: the inputs of the two may differ. More work is what the
 * baseline's model expects of other inputs; the rest is the same work, slower. */
#ifndef GATE_COST_COST_GATE_H
#define GATE_COST_COST_GATE_H

#include "base/document.h"
#include "fleet/lab/lab.h"
#include "gate/cost/cost_model.h"
#include "gate/decide/effect.h"

/* Of the candidate's inputs, unlike all that were learned: with more the decision is inconclusive, a regression with more than half. */
#define COST_GATE_UNLIKE_MAX	    .1
#define COST_GATE_UNLIKE_SLOWER_MAX .5

/* baseline: of which the model is; candidate: a version of the same application. The candidate's median of each input over what the model
 * expects, on each machine that ran both; where most of its inputs were run by the baseline, too, over what they cost that. The units are
 * inputs within a machine, and hardware types between (effect.h); a machine without `type` in lab.yaml is one of its own. Machines of
 * different architectures are decided apart, and the worst decides, as in verdict.h. Answers into the document, with its exit status. */
enum assay_status cost_gate(struct lab *lab, const struct cost_asked *baseline, const char *candidate, double min_effect,
			    struct document *d, struct assay_error *err);

/* The command that lets it decide, for advice: free() it. NULL: it could not, for no machine ran enough inputs of both, or the two are not
 * versions of one application (inputs in their names do not matter). */
char *cost_gate_command(struct store *store, const char *const applications[2], const char *const versions[2]);

#endif
