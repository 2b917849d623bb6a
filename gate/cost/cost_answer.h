/* Fills documents with a cost model and with its predictions, also for a machine on which the version has hardly run. */
#ifndef GATE_COST_COST_ANSWER_H
#define GATE_COST_COST_ANSWER_H

#include "base/document.h"
#include "fleet/lab/lab.h"
#include "gate/profile/prediction.h"
#include "gate/cost/cost_model.h"

/* The cost of inputs on a machine that ran too few inputs for a model of its own. It is the prediction of the model's machine, which ran
 * most inputs, times the cost ratio of the same work on both machines. Other machines that ran the version have a measured ratio
 * (cost_side.h). For this machine, fingerprints predict the ratio as in `assay predict` (gate/profile/prediction.h). */
struct cost_machine {
	const char *name; /* name, borrowed; NULL if the question is about the machine of the model */
	struct prediction
	    relative_cost; /* its log_cost is the log of (cost on this machine / cost on the model's machine) for the same work */
	size_t machines, types;
	char fingerprint[FINGERPRINT_ID_BYTES];
	bool type_ran; /* true if another machine of the same hardware type ran the version */
	double error;  /* relative error: of the model on held-out inputs and of the prediction on held-out types, combined */
};

/* Predicts the cost ratio of the machine `name` and sets *out. `model` was learned by `asked` on the machine that ran most inputs. Excludes
 * results of other architectures. `name` and the model must outlive *out. Returns ASSAY_E_NOTFOUND if the machine has no fingerprint.
 * Returns ASSAY_E_NODATA if too few hardware types with fingerprints exist to estimate the error, or if the error exceeds max_error. Reads
 * the runs once per machine. */
enum assay_status cost_machine_predict(struct lab *lab, const struct cost_model *model, const struct cost_request *asked, const char *name,
				       double max_error, struct cost_machine *out, struct assay_error *err);

/* Adds the model to the document: formula, errors, terms, excluded features. If the error on held-out inputs exceeds max_error, the model
 * is unreliable and the exit status is 4. `paper` is a model by the published procedure for the same runs; NULL to show none. */
void cost_model_describe(const struct cost_model *model, double max_error, const struct cost_model *paper, struct document *d);

/* A question about the cost of one input. */
struct cost_question {
	const char *input;		  /* name of the input; NULL if the user gave features instead */
	double *row;			  /* [costs.p] features of the input; NaN if not known */
	double elsewhere;		  /* sum of the input's counts in places that no learned input reached */
	double measured;		  /* measured cost; NaN if the input was not run */
	const char *same_as;		  /* another name under which the same input was run, borrowed; NULL if there is none */
	struct costs_other_version other; /* if the input was not run: its features from a run of another version */
	bool other_code;		  /* the input has counts, but of other code than the model's counts */
	const struct cost_machine *machine;
};
/* Adds the prediction to the document, with the cost of each term if `terms` is true. Returns ASSAY_E_NODATA if features that the model
 * needs are not known; the message names them. */
enum assay_status cost_prediction_describe(const struct cost_model *model, const struct cost_question *question, bool terms,
					   struct document *d, struct assay_error *err);

#endif
