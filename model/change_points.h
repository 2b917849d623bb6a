/* Change points of a series, such as the cost of an application from version to version: where its level moved. A single point far from its
 * neighbours is a spike, not a change. A series that goes back and forth between two levels has two modes, and no change at each step.
 *
 * The levels are the partition of the series with the smallest sum of squares plus a penalty for each change, found exactly: Jackson et
 * al., "An algorithm for optimal partitioning of data on an interval", IEEE Signal Processing Letters 12(2), 2005; the optimum is that of
 * PELT (Killick, Fearnhead and Eckley, Journal of the American Statistical Association 107(500), 2012). A search by halves misses a change
 * that was taken back; this one does not. The unit of the penalty is the noise: the median difference of neighbours, which few changes and
 * spikes do not move, or what the levels leave, if that is more. Its size is simulated: independent normal noise has any change as rarely
 * as the level says (tests/bench/bench_change_points.c). Slow waves in the noise are found as changes. */
#ifndef MODEL_CHANGE_POINTS_H
#define MODEL_CHANGE_POINTS_H

#include <stdbool.h>
#include <stddef.h>

#define CHANGE_POINTS_MIN   6	 /* points from which a change is distinguished from noise */
#define CHANGE_POINTS_MAX   2000 /* points, the last ones of a longer series */
#define CHANGE_POINTS_LEVEL .01	 /* chance that a series without a change has one */

struct change_points_options {
	double min_effect;    /* smallest difference of levels that matters, in the unit of the series; 0: any */
	double level;	      /* 0: CHANGE_POINTS_LEVEL */
	double penalty;	      /* of each change, in squares of the noise; 0: by the level */
	const size_t *groups; /* [n]: neighbours of the same group have the same level; NULL: each point is a group */
	const bool *known;    /* [n]: a change at this point is known, and costs nothing; NULL: none is */
};

struct change_point {
	size_t at;	      /* the first point after it */
	double before, after; /* medians of the segments that it divides */
};

/* The points between two changes. */
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
	bool open;				/* the last point is among the spikes: it may be one, or the first after a change */
	double least; /* difference of levels of two halves that would be found with power 0.8; infinite: the series is too short */
};

/* x[n], finite, in the order of time. *out is overwritten; change_points_release() it. O(n^2) for each round of spikes. */
void change_points_find(const double *x, size_t n, const struct change_points_options *options, struct change_points *out);
void change_points_release(struct change_points *changes); /* accepts zeroed */

/* Reports whether x[n], 8 or more, is in two heaps, divided by the widest gap in the middle: their medians, and the middle of the gap. A
 * fifth of the points at least is in each; their distance is five standard deviations of either at least. Whatever the order of the points.
 */
bool change_points_heaps(const double *x, size_t n, double heaps[2], double *between);

#endif
