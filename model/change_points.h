/* Change points of a series, such as the cost of an application from version to version: where its level moved. A single point far from its
 * neighbours is a spike, not a change. A series that alternates between two levels has two modes, and no change at each step.
 *
 * The levels are the partition of the series with the smallest sum of squares plus a penalty per change. It is found exactly: Jackson et
 * al., "An algorithm for optimal partitioning of data on an interval", IEEE Signal Processing Letters 12(2), 2005. The optimum is that of
 * PELT (Killick, Fearnhead and Eckley, Journal of the American Statistical Association 107(500), 2012). Binary search misses a change that
 * was undone later; this method does not. The unit of the penalty is the noise: the median difference of neighbours, which few changes and
 * spikes do not affect, or the remainder after the levels, if that is larger. Its size is simulated: independent normal noise has any
 * change as rarely as `level` (tests/bench/bench_change_points.c). Slow waves in the noise are found as changes. */
#ifndef MODEL_CHANGE_POINTS_H
#define MODEL_CHANGE_POINTS_H

#include <stdbool.h>
#include <stddef.h>

#define CHANGE_POINTS_MIN   6	 /* fewest points in which a change is distinguished from noise */
#define CHANGE_POINTS_MAX   2000 /* limit; of a longer series, the last points count */
#define CHANGE_POINTS_LEVEL .01	 /* probability that a series without a change is given one */

struct change_points_options {
	double min_effect;    /* smallest difference of levels that matters, in the unit of the series; 0: any */
	double level;	      /* 0: CHANGE_POINTS_LEVEL */
	double penalty;	      /* penalty per change, in squares of the noise; 0: by `level` */
	const size_t *groups; /* [n]: neighbours in the same group have the same level; NULL: each point is its own group */
	const bool *known;    /* [n]: a change at this point is known, and costs nothing; NULL: none */
};

struct change_point {
	size_t at;	      /* first point after the change */
	double before, after; /* medians of the segments before and after */
};

/* The points between two changes. */
struct change_points_segment {
	size_t begin, end; /* [begin, end) */
	double median;
	double modes[2]; /* both levels, the lower first; NaN: there is one */
};

struct change_points {
	struct change_point *items; /* [n], ascending */
	size_t n;
	size_t *spikes; /* [n_spikes], ascending */
	size_t n_spikes;
	struct change_points_segment *segments; /* [n + 1] */
	bool open;				/* the last point is among the spikes: it may be a spike, or the first after a change */
	double least; /* difference of levels of two halves that would be found with power 0.8; infinite: the series is too short */
};

/* Finds changes in x[n], finite, in time order. Overwrites *out; change_points_release() it. O(n^2) per round of spikes. */
void change_points_find(const double *x, size_t n, const struct change_points_options *options, struct change_points *out);
void change_points_release(struct change_points *changes); /* accepts zeroed */

/* Reports whether x[n], n >= 8, has two clusters, divided by the widest gap in the middle: their medians, and the gap's middle. Each has a
 * fifth of the points or more; they are five standard deviations of either apart. The order of the points is ignored. */
bool change_points_heaps(const double *x, size_t n, double heaps[2], double *between);

#endif
