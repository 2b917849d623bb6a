/* What counting costs, and a model that needs little of it. Runs of the version that counts cost so much more than those that do not: that
 * is the price of a count, and of a feature so many of them as it is. Columns that are equal in all inputs may be one counter, and are
 * taken for one. While the features that the model needs cost more than is allowed, the most expensive of them leaves, with all that cost
 * as much or more, and the model is fitted again. After Chun et al., "Mantis" (USENIX ATC 2013), section 4, where what is rejected costs to
 * predict. */
#ifndef GATE_COST_COST_COUNTING_H
#define GATE_COST_COST_COUNTING_H

#include "base/document.h"
#include "gate/cost/cost_model.h"

struct cost_counting {
	const char *version; /* that counts; borrowed */
	double allowed;	     /* part of the run's cost */
	double measured;     /* what runs of `version` cost more, the median: part of the run's cost */
	double each;	     /* price of a count; s, 0: counting cost nothing that could be seen */
	size_t inputs;	     /* that both versions have run */
	double *price;	     /* [costs.p] parts of the run's cost; 0 of what is not counted, and of values */
	bool *wanted;	     /* [costs.p] by the model, or by one before it */
	bool *removed;	     /* [costs.p] */
	double error_all;    /* of the model of all features */
};

/* Makes model->all need no more than `allowed` of what asked->costs.counts counts. ASSAY_E_NODATA: too few inputs were run by both, or
 * nothing that is left tells them apart; else as costs_load(). *out is overwritten; cost_counting_release() it. */
enum assay_status cost_counting_reduce(struct store *store, struct cost_model *model, const struct cost_asked *asked, double allowed,
				       struct cost_counting *out, struct assay_error *err);
void cost_counting_release(struct cost_counting *counting); /* accepts zeroed */

/* A section and the member `counting`. */
void cost_counting_answer(const struct cost_model *model, const struct cost_counting *counting, struct document *d);

#endif
