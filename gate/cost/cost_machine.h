/* What inputs should cost on a machine that has not run enough of them for a model of its own: the model of the machine that ran most,
 * times how dear the same work is there. How dear it was on the other machines that ran the version is measured (cost_side.h); on this one
 * it is predicted from fingerprints, as `assay predict` does (gate/profile/prediction.h). */
#ifndef GATE_COST_COST_MACHINE_H
#define GATE_COST_COST_MACHINE_H

#include "base/document.h"
#include "fleet/lab/lab.h"
#include "gate/cost/cost_model.h"
#include "gate/profile/prediction.h"

struct cost_machine {
	const char *name;     /* borrowed; NULL: it is the model's machine that is asked about */
	struct prediction of; /* log_cost: of the same work, against the model's machine */
	size_t machines, types;
	char fingerprint[FINGERPRINT_ID_BYTES];
	bool type_ran; /* machines of its hardware type ran the version */
	double error;  /* of the model on inputs left out and of the prediction on types left out, together */
};

/* model: as asked, of the machine that ran most inputs; results of other architectures do not count. name and the model must outlive *out.
 * ASSAY_E_NOTFOUND: the machine has no fingerprint; ASSAY_E_NODATA: too few hardware types with fingerprints to see what these carry, or
 * the error is more than max_error. Cost: reading the runs once a machine. */
enum assay_status cost_machine_of(struct lab *lab, const struct cost_model *model, const struct cost_asked *asked, const char *name,
				  double max_error, struct cost_machine *out, struct assay_error *err);

/* By what an answer's interval for the model's machine is wider: both errors, as if they had nothing to do with each other. */
double cost_machine_interval(const struct cost_machine *machine, double interval);

/* The member `elsewhere`, null where the machine is the model's, and two lines. */
void cost_machine_answer(const struct cost_machine *machine, const struct cost_model *model, struct document *d);

#endif
