/* Computes the usual time of a fixed piece of work, and the time above which the work is slow. The input is blocks: mean times of
 * consecutive fragments in one process. Up to about half of the blocks may be disturbed, such as all blocks of one of two processes.
 * Neither a single very fast fragment nor work whose time always varies misleads the method.
 *
 * The lower quartile of the blocks' times represents the fast blocks: if at most half of the blocks are slow, it is not slow. Its distance
 * from the first octile measures the variation. A normal distribution with these two quantiles gives Tukey's fence (1.5 interquartile
 * distances above the upper quartile). Slow blocks are above this fence and above quartile / threshold. `naturally` is for waits for other
 * processes, whose times vary with the awaited work. Then slow blocks are also above the blocks' own fence, and the usual time is the mean,
 * weighted by calls. Most blocks may lack the few records that represent many short calls, so a median would be too high. */
#ifndef MODEL_VARIANCE_USUAL_H
#define MODEL_VARIANCE_USUAL_H

#include <stdbool.h>
#include <stddef.h>

struct usual_time {
	double usual; /* median time of the blocks that are not slow; with `naturally`, their weighted mean */
	double slow;  /* limit of the mean time; a block above this limit is slow */
};

/* Computes both times. O(n log n).
 * mean  [n] mean times of the blocks, >= 0, finite. weight: [n] number of calls that each mean represents, > 0. n > 0.
 * threshold  in (0, 1): work below this part of the usual performance is slow, unless its own variation is larger. */
struct usual_time usual_compute(const double *mean, const double *weight, size_t n, double threshold, bool naturally);

#endif
