/* AutoPerf's published method, for comparison, with the interfaces of the default method. */
#ifndef MODEL_PUBLISHED_PUBLISHED_H
#define MODEL_PUBLISHED_PUBLISHED_H

#include "model/anomaly/detector_parts.h"

/* AutoPerf (autoperf.c). detector_deviation: threshold at mean + t standard deviations of the errors of training samples. detector_fixed:
 * at a root mean square error of `fixed`, relative to the range. detector_range: scales to [0, 1]. detector_paper: all options. */
extern const struct detector_rule detector_deviation, detector_fixed;
extern const struct detector_scaling detector_range;
extern const struct detector_options detector_paper;

#endif
