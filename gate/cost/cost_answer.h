/* Models of the cost, and predictions by them, as answers. */
#ifndef GATE_COST_COST_ANSWER_H
#define GATE_COST_COST_ANSWER_H

#include "base/document.h"
#include "gate/cost/cost_machine.h"
#include "gate/cost/cost_model.h"

/* The model: sentence, errors, terms, what left. max_error: above it, on inputs left out, the model is of no use, and the exit status 4.
 * paper: the published procedure on the same runs, shown beside it; NULL: it is not. */
void cost_model_answer(const struct cost_model *model, double max_error, const struct cost_model *paper, struct document *d);

/* What is asked about. */
struct cost_question {
	const char *input;	  /* its name; NULL: features were given */
	double *row;		  /* [costs.p]; NaN: not known */
	double elsewhere;	  /* counts in places that no input learned has reached */
	double measured;	  /* what it did cost; NaN: it was not run */
	const char *same_as;	  /* by another name it was run: borrowed; NULL: not so */
	struct costs_other other; /* where it was not run: what another run says of it */
	bool other_code;	  /* it has counted, but by another code than that whose counts the model has */
	const struct cost_machine *on;
};
/* ASSAY_E_NODATA: features that the model needs are not known; the error names them. terms: what each costs here. */
enum assay_status cost_prediction_answer(const struct cost_model *model, const struct cost_question *question, bool terms,
					 struct document *d, struct assay_error *err);

#endif
