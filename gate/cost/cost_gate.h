/* Decides whether a candidate costs more on its inputs than the baseline would. The two versions may have different inputs. A higher cost
 * that the baseline's model expects is more work; the rest is the same work done more slowly. */
#ifndef GATE_COST_COST_GATE_H
#define GATE_COST_COST_GATE_H

#include "base/document.h"
#include "fleet/lab/lab.h"
#include "gate/cost/cost_model.h"

/* Largest share of candidate inputs that may be unlike all learned inputs. If there are more, the decision is inconclusive. The second
 * limit applies to a regression. */
#define COST_GATE_UNLIKE_MAX	    .1
#define COST_GATE_UNLIKE_SLOWER_MAX .5

/* Compares, on each machine that ran both versions, the candidate's median for each input with the cost that the baseline's model expects.
 * If the baseline ran most of these inputs, compares with the baseline's median instead. The units are inputs within a machine and hardware
 * types over machines (effect.h); a machine without `type` in lab.yaml is a type of its own. Decides each architecture separately, and the
 * worst decision counts (verdict.h). Fills the document and its exit status. `candidate` is a version of the same application. */
enum assay_status cost_gate(struct lab *lab, const struct cost_request *baseline, const char *candidate, double min_effect,
			    struct document *d, struct assay_error *err);

/* Returns the command that decides by cost, as advice for users; free() it. Returns NULL if no machine ran enough inputs of both versions,
 * or if they are not versions of one application. Ignores the inputs in the applications' names. */
char *cost_gate_command(struct store *store, const char *const applications[2], const char *const versions[2]);

#endif
