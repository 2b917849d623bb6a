/* Other ways to find what is not normal in samples, to compare the product's with. */
#ifndef TESTS_BENCH_RIVALS_H
#define TESTS_BENCH_RIVALS_H

#include "model/anomaly/detector_parts.h"

extern const struct scorer_kind scorer_som;	    /* a self-organising map, as UBL (som.c) */
extern const struct scorer_kind scorer_mahalanobis; /* a normal distribution around one or several centers, shrunk (mahalanobis.c) */

/* Judges each function and column by the test of Mann and Whitney on the means of runs, at this rate of false discoveries (mannwhitney.c).
 * *out: detection_release() it. ASSAY_E_NODATA: too few runs. ASSAY_E_USAGE: the columns differ, or a name occurs twice. */
enum assay_status mannwhitney_judge(const struct observations *normal, const struct observations *seen, double rate, struct detection *out,
				    struct assay_error *err);

#endif
