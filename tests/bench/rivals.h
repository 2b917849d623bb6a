/* Other anomaly detectors for samples, for comparison with the product's detector. */
#ifndef TESTS_BENCH_RIVALS_H
#define TESTS_BENCH_RIVALS_H

#include "model/anomaly/detector_parts.h"

extern const struct scorer_kind scorer_som;	    /* a self-organizing map, as in UBL (som.c) */
extern const struct scorer_kind scorer_mahalanobis; /* a normal distribution around one or several centers (mahalanobis.c) */

/* Judges each function and column by the Mann-Whitney test on the means of runs, at the false discovery rate `rate` (mannwhitney.c). The
 * caller releases `*out` by detection_release(). ASSAY_E_NODATA: too few runs. ASSAY_E_USAGE: different columns, or a duplicate name. */
enum assay_status mannwhitney_judge(const struct observations *normal, const struct observations *seen, double rate, struct detection *out,
				    struct assay_error *err);

#endif
