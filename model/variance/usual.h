/* Computes the usual time of a piece of fixed work, and the time above which it is slow, from blocks: mean times of consecutive fragments
 * in one process. Up to about half of the blocks may be disturbed (one of two processes throughout). Neither a single very fast fragment
 * nor work whose time always varies misleads it.
 *
 * The lower quartile of the blocks' means represents the fast blocks: if at most half of the blocks are slow, it is not slow. The distance
 * from the first octile to it measures their variation. "Slow" starts at Tukey's fence (1.5 interquartile distances above the upper
 * quartile) of a normal distribution with these two quantiles, but not below the fastest / threshold. `naturally` is for waits for other
 * processes, whose mean times vary with the awaited work. Then the blocks' own upper fence counts as well, and the usual time is the mean
 * weighted by represented calls. If a few records represent many short calls, most blocks lack these, and their median is too high. */
#ifndef MODEL_VARIANCE_USUAL_H
#define MODEL_VARIANCE_USUAL_H

#include <stdbool.h>
#include <stddef.h>

struct usual {
	double usual; /* usual time of the blocks that are not slow: median of their times, or, with `naturally`, mean */
	double slow;  /* a block with a mean above this is slow */
};

/* Computes both times.
 * mean  [n] >= 0, finite; weight: [n] calls that each mean represents, > 0; n > 0.
 * threshold  (0, 1): work below this performance is slow, unless its own variation is larger. O(n log n). */
struct usual usual_of(const double *mean, const double *weight, size_t n, double threshold, bool naturally);

#endif
