/* AutoPerf's method as it was published, for comparison: behind the interfaces of the default one. */
#ifndef MODEL_PUBLISHED_PUBLISHED_H
#define MODEL_PUBLISHED_PUBLISHED_H

#include "model/anomaly/detector_parts.h"

/* AutoPerf (autoperf.c): thresholds from mean + t standard deviations of the errors of training samples, or from a root mean square error
 * of `fixed` in parts of the range; scaling to [0, 1]; all its choices together, with scorer_paper. */
extern const struct detector_rule detector_deviation, detector_fixed;
extern const struct detector_scaling detector_range;
extern const struct detector_options detector_paper;

#endif
