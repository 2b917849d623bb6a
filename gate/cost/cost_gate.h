/* Decides whether a candidate costs more than the baseline would on the candidate's inputs; the two versions may have different inputs. A
 * higher cost that the baseline's model expects is more work; the remainder is the same work, slower. */
#ifndef GATE_COST_COST_GATE_H
#define GATE_COST_COST_GATE_H

#include "base/document.h"
#include "fleet/lab/lab.h"
#include "gate/cost/cost_model.h"

/* Largest shares of candidate inputs unlike all learned inputs; with more, the decision is inconclusive. The second is for a regression. */
#define COST_GATE_UNLIKE_MAX	    .1
#define COST_GATE_UNLIKE_SLOWER_MAX .5

/* On each machine that ran both versions, compares the candidate's median of each input with the expectation of the baseline's model; if
 * the baseline ran most of these inputs, with the baseline's median. Units are inputs within a machine and hardware types between machines
 * (effect.h); a machine without `type` in lab.yaml is its own type. Each architecture is decided separately, and the worst decision counts
 * (verdict.h). Fills the document and its exit status. candidate: a version of the same application. */
enum assay_status cost_gate(struct lab *lab, const struct cost_asked *baseline, const char *candidate, double min_effect,
			    struct document *d, struct assay_error *err);

/* Returns the command that decides by cost, for advice; free() it. NULL: no machine ran enough inputs of both versions, or the two are not
 * versions of one application (inputs in their names are ignored). */
char *cost_gate_command(struct store *store, const char *const applications[2], const char *const versions[2]);

#endif
