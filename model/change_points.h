/* Finds change points of a series, such as the cost of an application per version. At a change point, the level of the series changes. A
 * single point far from its neighbours is a spike, not a change. A series that alternates between two levels has two modes, and no changes.
 *
 * The levels minimise the sum of squared deviations from them, plus a penalty per change. The search is exact: Jackson et al., "An
 * algorithm for optimal partitioning of data on an interval", IEEE Signal Processing Letters 12(2), 2005. PELT finds the same optimum
 * (Killick, Fearnhead and Eckley, Journal of the American Statistical Association 107(500), 2012). Unlike binary segmentation, this search
 * finds a change that was undone later. The penalty is in squares of the noise. The noise is the median difference of neighbours, which a
 * few changes and spikes hardly affect, or the deviation from the levels if that is larger. The penalty was simulated: in independent
 * normal noise, a change is found with probability `level` (tests/bench/bench_change_points.c). Slow waves are found as changes. */
#ifndef MODEL_CHANGE_POINTS_H
#define MODEL_CHANGE_POINTS_H

#include <stdbool.h>
#include <stddef.h>

#define CHANGE_POINTS_MIN   6	 /* minimum length of a series; in a shorter one, a change cannot be distinguished from noise */
#define CHANGE_POINTS_MAX   2000 /* maximum length of a series; of a longer one, only the last points are used */
#define CHANGE_POINTS_LEVEL .01	 /* probability of finding a change in a series that has none */

struct change_points_options {
	double min_effect;    /* smallest relevant difference of levels, in the unit of the series; 0: any difference */
	double level;	      /* probability of a false change; 0: CHANGE_POINTS_LEVEL */
	double penalty;	      /* penalty per change, in squares of the noise; 0: determined by `level` */
	const size_t *groups; /* [n] group of each point; neighbours in one group share a level; NULL: each point is a group */
	const bool *known;    /* [n] true at each known change, which costs no penalty and is always reported; NULL: none is known */
};

struct change_point {
	size_t first_after;   /* index of the first point after the change */
	double before, after; /* medians of the segments before and after the change */
};

/* The points between two neighbouring changes. */
struct change_points_segment {
	size_t begin, end; /* index of the first point; index after the last point */
	double median;
	double modes[2]; /* both levels of an alternating segment, the lower level first; NaN if the segment has one level */
};

struct change_points {
	struct change_point *items; /* [n], in ascending order */
	size_t n;
	size_t *spikes; /* [n_spikes] indices, in ascending order */
	size_t n_spikes;
	struct change_points_segment *segments; /* [n + 1] segments before, between and after the changes */
	bool last_is_spike;	      /* the last point is a spike for now; later points may make it the first point after a change */
	double detectable_difference; /* difference between two halves' levels that is found with power 0.8; infinite if the series is too
					 short */
};

/* Finds changes in x[n], finite, in time order. Overwrites *out; free it with change_points_release(). O(n^2) per search for spikes. */
void change_points_find(const double *x, size_t n, const struct change_points_options *options, struct change_points *out);
void change_points_release(struct change_points *changes); /* accepts a zeroed struct */

/* Reports whether the values x[n], n >= 8, in any order, form two clusters with a gap between them. *between gets the middle of the gap.
 * Each cluster has at least a fifth of the values. The medians, heaps[], are over five standard deviations of either cluster apart. */
bool change_points_find_clusters(const double *x, size_t n, double heaps[2], double *between);

#endif
