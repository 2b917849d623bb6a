/* A way to judge that is no scorer (model/anomaly/scorer.h); for comparison, and for what it is good at. */
#ifndef MODEL_ANOMALY_RIVAL_H
#define MODEL_ANOMALY_RIVAL_H

#include "model/anomaly/detector.h"

/* Each function and column by the Mann-Whitney test of run means (normal runs against seen ones; mean of the runs' samples, weighted), two-sided, exact
 * below 20 runs without ties; Benjamini and Hochberg (1995) over all of them at `rate`. run_anomalous: where a flagged column of the run lies outside the
 * normal runs' range. Columns by name as detector_judge. ASSAY_E_NODATA below 4 normal runs, or where no p can be as small as it would have to be. */
enum assay_status mannwhitney_judge(const struct observations *normal, const struct observations *seen, double rate, struct detection *out,
				    struct assay_error *err);

#endif
