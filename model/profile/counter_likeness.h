/* What stressors are made of, by their counters, and which of them something else looks like. A stressor is a point: the logs of
 * its events per unit of time, each counter standardised over all stressors, so that the point says what is special about it.
 * Something else is put among them on the same scale; two are similar by the cosine of their angle, as seen from the middle of
 * the stressors. */
#ifndef MODEL_PROFILE_COUNTER_LIKENESS_H
#define MODEL_PROFILE_COUNTER_LIKENESS_H

#include "base/mat.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNTER_LIKENESS_COUNTERS_MIN  2 /* of one there is no direction, but more and less */
#define COUNTER_LIKENESS_STRESSORS_MIN 8 /* fewer show no spread, and no p below .1 */
#define COUNTER_LIKENESS_PERMUTATIONS  9999

struct counter_likeness_space {
	size_t n, p;	      /* stressors and counters that are left: counters that differ and that most stressors have, stressors that
				 have all of these */
	size_t *row, *column; /* [n], [p]: where they stand in the matrix, ascending */
	struct mat points;    /* [n x p] */
	double *mean, *sd;    /* [p] of the logs */
	double *low, *high;   /* [p] of the points */
};

/* log_rates [stressors x counters], NaN: not counted. May have no points. *out is overwritten; counter_likeness_space_release() it. */
void counter_likeness_space_of(const struct mat *log_rates, struct counter_likeness_space *out);
void counter_likeness_space_release(struct counter_likeness_space *space); /* accepts zeroed */

/* similarity[n] of each stressor to something with these log_rates [columns of the matrix], -1 to 1. What is beyond all stressors
 * in a counter is taken for as extreme as the most extreme one; NaN, which is not known, for nothing special. 0 where one of both
 * is nothing special in all. */
void counter_likeness_similarities(const struct counter_likeness_space *space, const double *log_rates, double *similarity);

/* Is a group of stressors more similar than others? */
struct counter_likeness_match {
	double similarity; /* mean over its members */
	double p;	   /* that as many stressors, drawn at random, are as similar, the members among them */
	size_t as_similar; /* stressors outside the group that are at least as similar as the group */
};
/* member[n]: at least one. The same bits for the same numbers. */
struct counter_likeness_match counter_likeness_match_of(const double *similarity, const bool *member, size_t n);

#endif
