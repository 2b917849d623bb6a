/* Models of the cost, and predictions by them, as answers. */
#ifndef GATE_COST_COST_ANSWER_H
#define GATE_COST_COST_ANSWER_H

#include "base/document.h"
#include "fleet/lab/lab.h"
#include "gate/profile/prediction.h"
#include "gate/cost/cost_model.h"

/* What inputs should cost on a machine that has not run enough of them for a model of its own: the model of the machine that ran most,
 * times how dear the same work is there. How dear it was on the other machines that ran the version is measured (cost_side.h); on this one
 * it is predicted from fingerprints, as `assay predict` does (gate/profile/prediction.h). */
struct cost_machine {
	const char *name;     /* borrowed; NULL: it is the model's machine that is asked about */
	struct prediction of; /* log_cost: of the same work, against the model's machine */
	size_t machines, types;
	char fingerprint[FINGERPRINT_ID_BYTES];
	bool type_ran; /* machines of its hardware type ran the version */
	double error;  /* of the model on inputs excluded and of the prediction on types excluded, together */
};

/* model: as asked, of the machine that ran most inputs; results of other architectures do not count. name and the model must outlive *out.
 * ASSAY_E_NOTFOUND: the machine has no fingerprint; ASSAY_E_NODATA: too few hardware types with fingerprints to see what these carry, or
 * the error is more than max_error. Cost: reading the runs once a machine. */
enum assay_status cost_machine_of(struct lab *lab, const struct cost_model *model, const struct cost_asked *asked, const char *name,
				  double max_error, struct cost_machine *out, struct assay_error *err);

/* The model: sentence, errors, terms, what left. max_error: above it, on inputs excluded, the model is of no use, and the exit status 4.
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
