/* One input that both versions ran, against what it should have cost: the baseline's model, as a section of the report. */
#ifndef GATE_COST_COST_EXPECTED_H
#define GATE_COST_COST_EXPECTED_H

#include "base/document.h"
#include "fleet/lab/store.h"
#include "gate/cost/cost_model.h"
#include "runs/running/run.h"

/* Zeroed: nothing is said. */
struct cost_expected {
	struct cost_model model; /* of the baseline, on the machine that ran most inputs */
	size_t input;		 /* of model.costs */
	char *candidate;	 /* version; NULL: there is no model, or the input was not run on that machine */
	double measured;	 /* the candidate's median; NaN: not run there */
};

/* Of results of an application's input ("APP/INPUT"), by the metric, which the report is about. There is none where more of that is
 * better, the inputs are too few for a model, or the model errs by more than COST_ERROR_MAX. counts: the version whose runs have counted
 * the features, or NULL. Learns the model: seconds. Never fails: what cannot be said is no section. cost_expected_release() it. */
void cost_expected_of(struct store *store, const struct run_set *baseline, const struct run_set *candidate, const char *counts,
		      struct cost_expected *out);
void cost_expected_release(struct cost_expected *expected); /* accepts zeroed */

void cost_expected_section(const struct cost_expected *expected, struct document *d);

#endif
