/* Inputs that are expensive for what they are: by what the model expects of each byte. */
#ifndef GATE_COST_COST_WORST_H
#define GATE_COST_COST_WORST_H

#include "base/document.h"
#include "gate/cost/cost_model.h"

/* Of all inputs that the application's manifest in this laboratory has, those that were run and those that were not, which have bytes of
 * their own: the `shown` most expensive per byte, with what they did cost where they were run, and how the others are run. Those unlike all
 * that were learned are said to be. ASSAY_E_NODATA: no input has bytes of which the model can say what they cost; else as manifest_open().
 * Reads all inputs once. */
enum assay_status cost_worst_answer(const char *laboratory, const struct cost_model *model, size_t shown, struct document *d,
				    struct assay_error *err);

#endif
