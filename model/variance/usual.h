/* What a piece of fixed work usually takes, and from when on it is slow, told from blocks of it: the mean times of neighbours in one
 * process. Up to about half of the blocks may be disturbed (one of two processes throughout), and neither one freakishly fast fragment nor
 * work whose time always varies misleads it.
 *
 * The lower quartile of the blocks' means represents the fastest: with no more than a half of them slow it lies among the others. The
 * distance from the first octile to it says how much they vary; Tukey's fence (1.5 interquartile distances above the upper quartile) of a
 * normal distribution that has these two is where slow starts, but not below the fastest / threshold. Where `naturally` is set (waiting for
 * others, whose mean times are no more alike than what they wait for), the blocks' own upper fence counts as well, and what is usual is the
 * mean by what the blocks represent: where a few records represent many short calls, most blocks have none of these, and the median of
 * their means is too high. */
#ifndef MODEL_VARIANCE_USUAL_H
#define MODEL_VARIANCE_USUAL_H

#include <stdbool.h>
#include <stddef.h>

struct usual {
	double usual; /* of the blocks that are not slow: the median, or, where they vary naturally, the mean */
	double slow;  /* a block whose mean is above this is slow */
};

/* mean  [n] >= 0, finite; weight: [n] calls that each represents, > 0; n > 0.
 * threshold  (0, 1): performance below which work is slow, where it does not vary more by itself. O(n log n). */
struct usual usual_of(const double *mean, const double *weight, size_t n, double threshold, bool naturally);

#endif
