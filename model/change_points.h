/* Change points of a series, such as what an application costs night by night: where its level moved for good. A single point far from
 * those around it is a spike, not a change; a series that goes back and forth between two levels has two modes, and no change in each step.
 *
 * Energy statistics, hierarchically divided, with a permutation test at each division: Matteson and James, "A nonparametric approach for
 * multiple change point analysis of multivariate data", Journal of the American Statistical Association 109(505), 2014 (E-divisive); used
 * on series of performance as by Daly et al., "The use of change point detection to identify software performance regressions in a
 * continuous integration system", ICPE 2020. Unlike these, spikes are set aside first, and neighbouring segments whose levels differ by
 * less than the smallest effect that matters are joined again. The test supposes that points which do not change are exchangeable: slow
 * waves in the noise are found as changes. */
#ifndef MODEL_CHANGE_POINTS_H
#define MODEL_CHANGE_POINTS_H

#include <stddef.h>
#include <stdint.h>

#define CHANGE_POINTS_SEGMENT_MIN 3    /* points on either side of a change */
#define CHANGE_POINTS_MAX	  2000 /* of a series; of a longer one the last ones are looked at */

struct change_points_options {
	double level;	   /* of each test; 0: .01 */
	double min_effect; /* the least difference of two levels that is told, in the unit of the series; 0: any */
	uint64_t seed;
};

struct change_point {
	size_t at;	      /* the first point behind it */
	double before, after; /* medians of the segments that it divides */
	double p;	      /* of the permutation test */
};

/* Of the points between two changes. */
struct change_points_segment {
	size_t begin, end; /* [begin, end) */
	double median;
	double modes[2]; /* both levels, the lower first, where there are two; else NaN */
};

struct change_points {
	struct change_point *items; /* [n], ascending */
	size_t n;
	size_t *spikes; /* [n_spikes], ascending */
	size_t n_spikes;
	struct change_points_segment *segments; /* [n + 1] */
};

/* x[n], finite, in the order of time. *out is overwritten; change_points_release() it. Deterministic. O(n^2) for each of at most 999
 * permutations a division. */
void change_points_find(const double *x, size_t n, const struct change_points_options *options, struct change_points *out);
void change_points_release(struct change_points *changes); /* accepts zeroed */

#endif
