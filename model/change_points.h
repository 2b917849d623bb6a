/* Finds change points of a series, such as the cost of an application per version: the points where its level moved. A single point far
 * from its neighbours is a spike, not a change. A series that alternates between two levels has two modes, and no changes.
 *
 * The levels are the partition of the series with the smallest sum of squares plus a penalty per change. The search is exact: Jackson et
 * al., "An algorithm for optimal partitioning of data on an interval", IEEE Signal Processing Letters 12(2), 2005. Its optimum is that of
 * PELT (Killick, Fearnhead and Eckley, Journal of the American Statistical Association 107(500), 2012). Unlike binary segmentation, it
 * finds a change that was undone later. The unit of the penalty is the noise: the median difference of neighbours, which few changes and
 * spikes do not affect, or the deviation from the levels, if that is larger. The penalty is simulated: a series of independent normal noise
 * gets a change with probability `level` (tests/bench/bench_change_points.c). Slow waves in the noise are found as changes. */
#ifndef MODEL_CHANGE_POINTS_H
#define MODEL_CHANGE_POINTS_H

#include <stdbool.h>
#include <stddef.h>

#define CHANGE_POINTS_MIN   6	 /* minimum number of points with which a change can be distinguished from noise */
#define CHANGE_POINTS_MAX   2000 /* maximum length of a series; of a longer series, only the last points are used */
#define CHANGE_POINTS_LEVEL .01	 /* probability of finding a change in a series that has none */

struct change_points_options {
	double min_effect;    /* smallest relevant difference of levels, in the unit of the series; 0: any difference */
	double level;	      /* probability of a false change; 0: CHANGE_POINTS_LEVEL */
	double penalty;	      /* penalty per change, in squares of the noise; 0: determined by `level` */
	const size_t *groups; /* [n] group of each point: neighbours in the same group have the same level; NULL: each point is a group */
	const bool *known;    /* [n]: a known change at this point, which costs no penalty; NULL: none */
};

struct change_point {
	size_t at;	      /* index of the first point after the change */
	double before, after; /* medians of the segments before and after */
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
	struct change_points_segment *segments; /* [n + 1] stretches before, between and after the changes */
	bool open;    /* the last point is a spike for now: with later points it may become the first point after a change */
	double least; /* difference of levels of two halves that is found with power 0.8; infinite if the series is too short */
};

/* Finds changes in x[n], finite, in time order. Overwrites *out; free it with change_points_release(). O(n^2) per round of spikes. */
void change_points_find(const double *x, size_t n, const struct change_points_options *options, struct change_points *out);
void change_points_release(struct change_points *changes); /* accepts a zeroed struct */

/* Reports whether x[n], n >= 8, has two clusters at the sides of its widest gap, in any order. heaps: their medians; *between: the gap's
 * middle. Each cluster has at least a fifth of the points. The medians are five standard deviations of either cluster apart. */
bool change_points_heaps(const double *x, size_t n, double heaps[2], double *between);

#endif
