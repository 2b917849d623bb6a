/* Fills documents with a cost model and with its predictions, also for machines on which the version has hardly run. */
#ifndef GATE_COST_COST_ANSWER_H
#define GATE_COST_COST_ANSWER_H

#include "base/document.h"
#include "fleet/lab/lab.h"
#include "gate/profile/prediction.h"
#include "gate/cost/cost_model.h"

/* Cost of inputs on a machine that ran too few inputs for a model of its own: the cost model of the machine that ran most inputs, times the
 * cost ratio of the same work. On other machines that ran the version, cost_side.h measures this ratio. On this machine, fingerprints
 * predict it, as `assay predict` does (gate/profile/prediction.h). */
struct cost_machine {
	const char *name;     /* name; borrowed; NULL: the question is about the model's own machine */
	struct prediction of; /* log_cost: log of (cost here / cost on the model's machine) for the same work */
	size_t machines, types;
	char fingerprint[FINGERPRINT_ID_BYTES];
	bool type_ran; /* machines of this machine's hardware type ran the version */
	double error;  /* combined relative error: of the model on held-out inputs, and of the prediction on held-out types */
};

/* Predicts the cost ratio of machine `name` into *out. model: learned by `asked` on the machine that ran most inputs. Results of other
 * architectures do not count. name and the model must outlive *out. ASSAY_E_NOTFOUND: the machine has no fingerprint. ASSAY_E_NODATA: too
 * few hardware types with fingerprints to estimate the error, or the error exceeds max_error. Reads the runs once per machine. */
enum assay_status cost_machine_of(struct lab *lab, const struct cost_model *model, const struct cost_asked *asked, const char *name,
				  double max_error, struct cost_machine *out, struct assay_error *err);

/* Fills the document with the model: sentence, errors, terms, excluded features. If the error on held-out inputs exceeds max_error, the
 * model is unreliable and the exit status is 4. paper: a model by the published procedure on the same runs, shown too; NULL: not shown. */
void cost_model_answer(const struct cost_model *model, double max_error, const struct cost_model *paper, struct document *d);

/* A question for the cost of an input. */
struct cost_question {
	const char *input;	  /* name; NULL: the user gave features instead */
	double *row;		  /* [costs.p] features of the input; NaN: not known */
	double elsewhere;	  /* sum of the input's counts in places that no learned input reached */
	double measured;	  /* measured cost; NaN: the input was not run */
	const char *same_as;	  /* other name under which the same input ran; borrowed; NULL: none */
	struct costs_other other; /* if the input did not run: its features from a run of another version */
	bool other_code;	  /* the input's counts exist, but come from other code than the model's counts */
	const struct cost_machine *on;
};
/* Fills in the prediction; `terms`: per term, too. ASSAY_E_NODATA: features that the model needs are not known; the error names them. */
enum assay_status cost_prediction_answer(const struct cost_model *model, const struct cost_question *question, bool terms,
					 struct document *d, struct assay_error *err);

#endif
