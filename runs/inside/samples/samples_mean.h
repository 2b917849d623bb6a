/* Means over the calls of a function, from its samples, with intervals for what all calls would have given. */
#ifndef RUNS_SAMPLES_MEAN_H
#define RUNS_SAMPLES_MEAN_H

#include "runs/inside/samples/samples.h"

#include <math.h>

#define SAMPLES_MEAN_NS	      SIZE_MAX	     /* instead of a counter: time */
#define SAMPLES_MEAN_ALONE_NS (SIZE_MAX - 1) /* without other selected functions */

struct samples_mean {
	double mean;	  /* a call, weighted; NaN: no call was measured */
	double low, high; /* .95 interval of the mean over all calls; the mean itself where each call is a sample; NaN: not known, as
			     where fewer than SAMPLES_MEAN_LEAST calls are samples */
};
#define SAMPLES_MEAN_LEAST 100 /* of fewer, too many have seen none of the long calls that make the mean */

/* Of a counter, with nested calls: from the totals of all calls, where they are known. Else from samples: one of each `weight` calls is
 * one, at random (Cochran, Sampling Techniques, 3rd ed., 2), and so many as may be without one among them (the rule of three) may be as
 * much as the largest, for lengths are skewed; of what was simulated in a part of the calls' accesses (potential HITM, which have no totals
 * with nested calls), the ratio to accesses is estimated and multiplied by their mean, and how far off that may be is not known.
 * O(samples). */
struct samples_mean samples_mean(const struct samples *samples, size_t function, size_t counter);

/* For how many samples those count by which nothing but chance is estimated: w(w - 1) is the variance that a call brings which represents
 * w. weight: their sum; variance: of the w(w - 1). INFINITY: each call is a sample. */
static inline double samples_effective(double weight, double variance)
{
	return variance > 0 ? weight * weight / variance : (double)INFINITY;
}

/* The .95 interval of an estimate with this standard error, from so many bursts, not below 0. */
void samples_interval(double estimate, double error, double bursts, double *low, double *high);

#endif
