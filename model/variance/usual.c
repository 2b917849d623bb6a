#include "model/variance/usual.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Distance from the lower quartile to the fence, in units of q25 - q12.5. In a normal distribution, sigma = (q25 - q12.5) / 0.4759, the
 * mean is q25 + 0.6745 sigma, and the fence is mean + 2.698 sigma. */
#define OUTLIER_FENCE ((.67449 + 2.69796) / .47586)

/* Returns the mean of the blocks whose mean time is at most `slow`, weighted by calls. */
static double mean_of_usual(const double *mean, const double *weight, size_t n, double slow)
{
	double sum = 0, weights = 0;

	for (size_t i = 0; i < n; i++)
		if (mean[i] <= slow) {
			sum += weight[i] * mean[i];
			weights += weight[i];
		}
	return sum / weights;
}

struct usual_time usual_compute(const double *mean, const double *weight, size_t n, double threshold, bool naturally)
{
	double *sorted = mem_new(n, sizeof(*sorted));
	double octile, quartile, upper;
	struct usual_time out;
	size_t usual = 0;

	memcpy(sorted, mean, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), stats_compare);
	octile = stats_quantile(sorted, n, .125);
	quartile = stats_quantile(sorted, n, .25);
	upper = stats_quantile(sorted, n, .75);
	out = (struct usual_time){ .slow = fmax(quartile / threshold, quartile + OUTLIER_FENCE * (quartile - octile)) };
	if (naturally)
		out.slow = fmax(out.slow, upper + 1.5 * (upper - quartile));
	while (usual < n && sorted[usual] <= out.slow)
		usual++;
	out.usual = naturally ? mean_of_usual(mean, weight, n, out.slow) : stats_median(sorted, usual ? usual : 1);
	free(sorted);
	return out;
}
