/* AutoPerf's published method, for comparison with the default method. Both have the same interfaces. */
#ifndef MODEL_PUBLISHED_PUBLISHED_H
#define MODEL_PUBLISHED_PUBLISHED_H

#include "model/anomaly/detector_parts.h"

/* Parts of AutoPerf (autoperf.c). detector_deviation: thresholds at mean + t standard deviations of training errors. detector_fixed: at a
 * root mean square error of `fixed`, relative to the range. detector_range: scales to [0, 1]. detector_paper: all options. */
extern const struct detector_rule detector_deviation, detector_fixed;
extern const struct detector_scaling detector_range;
extern const struct detector_options detector_paper;

#endif
