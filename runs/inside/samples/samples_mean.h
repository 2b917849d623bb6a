/* Means over all calls of a function, estimated from its samples, with intervals. */
#ifndef RUNS_SAMPLES_MEAN_H
#define RUNS_SAMPLES_MEAN_H

#include "runs/inside/samples/samples.h"

#include <math.h>

#define SAMPLES_MEAN_NS	      SIZE_MAX	     /* instead of a counter: time */
#define SAMPLES_MEAN_ALONE_NS (SIZE_MAX - 1) /* time without other selected functions */

struct samples_mean {
	double mean;	  /* per call, weighted; NaN: no call was measured */
	double low, high; /* 95 % interval of the mean over all calls; equal to the mean if each call is a sample; NaN: unknown, for example
			     with fewer than SAMPLES_MEAN_LEAST samples */
};
#define SAMPLES_MEAN_LEAST 100 /* fewer samples: too many miss the long calls that determine the mean */

/* Estimates the mean of a counter, including nested calls. From the totals of all calls if these are known. Otherwise from samples: one of
 * each `weight` calls is a random sample (Cochran, Sampling Techniques, 3rd ed., 2). Lengths are skewed, so the calls that may be without a
 * sample (the rule of three) may be as large as the largest one. Counters simulated in a part of the accesses (potential HITM, which has no
 * totals with nested calls): the ratio to accesses is estimated and multiplied by the mean of accesses; its error is unknown.
 * O(samples). */
struct samples_mean samples_mean(const struct samples *samples, size_t function, size_t counter);

/* Returns the effective number of samples if the estimate varies only by chance. A call that represents w contributes the variance w(w -
 * 1). weight: sum of w; variance: sum of w(w - 1). INFINITY: each call is a sample. */
static inline double samples_effective(double weight, double variance)
{
	return variance > 0 ? weight * weight / variance : (double)INFINITY;
}

/* Computes the 95 % interval of an estimate with this standard error, from that many bursts; not below 0. */
void samples_interval(double estimate, double error, double bursts, double *low, double *high);

#endif
