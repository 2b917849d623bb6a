/* AutoPerf's method as published, for comparison, with the interfaces of the default method. */
#ifndef MODEL_PUBLISHED_PUBLISHED_H
#define MODEL_PUBLISHED_PUBLISHED_H

#include "model/anomaly/detector_parts.h"

/* AutoPerf (autoperf.c). Rules: thresholds at mean + t standard deviations of the errors of training samples, or at a root mean square
 * error of `fixed`, relative to the range. Scaling: to [0, 1]. Options: all of its choices, with scorer_paper. */
extern const struct detector_rule detector_deviation, detector_fixed;
extern const struct detector_scaling detector_range;
extern const struct detector_options detector_paper;

#endif
