/* Inputs that are expensive for what they are: by what the model expects of each byte, beyond what every run costs. */
#ifndef GATE_COST_COST_WORST_H
#define GATE_COST_COST_WORST_H

#include "base/document.h"
#include "fleet/lab/lab.h"
#include "gate/cost/cost_model.h"

/* Of all inputs that the application's manifest in this directory of the laboratory has, those that were run and those that were not, which
 * have bytes of their own: the `shown` most expensive per byte, with what they did cost where they were run, that they failed, or how the
 * others are run. Those unlike all that were learned are said to be; those of which what is known before a run says less than max_error
 * allows are left out. ASSAY_E_NODATA: no input has bytes of which the model can say what they cost, or they cost little
 * more than every run does; else as manifest_open(). Reads all inputs once. */
enum assay_status cost_worst_answer(struct lab *lab, const char *directory, const struct cost_model *model, double max_error, size_t shown,
				    struct document *d, struct assay_error *err);

#endif
