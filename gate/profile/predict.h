/* The metric of a version on a machine on which it never ran. */
#ifndef GATE_PROFILE_PREDICT_H
#define GATE_PROFILE_PREDICT_H

#include "base/document.h"
#include "runs/running/evidence.h"

/* ASSAY_E_NOTFOUND when the machine has no fingerprint at all; ASSAY_E_NODATA when none of the kind that the results have, when too few
 * hardware types ran the version, no stressor was measured on all of them, or the results are too far apart. */
enum assay_status predict_answer(const struct evidence *evidence, const struct run_set *runs, const char *machine, struct document *d,
				 struct assay_error *err);

#endif
