/* How many normal runs are enough: AutoPerf's variance termination (Alam and others, NeurIPS 2019, Algorithm 1) with eps relative to the
 * scale of the errors. What of it is published and what is our reading stands in termination.c. O(max^2). */
#ifndef MODEL_ANOMALY_TERMINATION_H
#define MODEL_ANOMALY_TERMINATION_H

#include <stdbool.h>
#include <stddef.h>

struct termination_options {
	double eps;   /* difference of the two averages that counts as none, relative to the scale of the errors */
	size_t goal;  /* so many times in a row */
	size_t max;   /* runs, at most */
	double least; /* the scale of the errors is taken for at least this: what is far below an error that matters has settled */
};
extern const struct termination_options termination_defaults;

struct termination {
	bool sufficient;  /* false also at `max` runs */
	size_t chosen;	  /* runs after which it ended; when not sufficient: all */
	size_t runs_more; /* about, an estimate; 0 when sufficient, and when not even `max` runs were: then more of the same will not do */
};

/* error [n]: of each run in the order in which they were taken, what a model of the others makes of it (mean of its samples); >= 0, finite.
 * The answer rests on the first `max` of them, and on no run after `chosen`, where one could have stopped. goal >= 1, eps > 0. */
void termination_of(const double *error, size_t n, const struct termination_options *options, struct termination *out);

#endif
