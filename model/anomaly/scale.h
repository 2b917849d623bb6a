/* Columns of counters, so that one unit is what matters of each function's: differences are absolute near zero and relative elsewhere, and noise
 * that a function has within its runs counts for no more than one unit. Or, as published, to [0, 1]. */
#ifndef MODEL_ANOMALY_SCALE_H
#define MODEL_ANOMALY_SCALE_H

#include "base/mat.h"

#include <stdbool.h>
#include <stddef.h>

#define SCALE_UNIT_LEAST 1e-30 /* so that squares of what lies far outside are numbers */

/* asinh(x / stretch) has a slope of `tolerance` per `material` at 0, and of 1 per relative change far from it. */
double scale_stretch(double material, double tolerance);

/* What is known of each function and column, over the normal samples. All [functions x columns]. */
struct scale {
	bool *known;	     /* [functions] has samples */
	double *center;	     /* median */
	double *unit;	     /* > 0 */
	double *low, *high;  /* smallest and largest, in units from the center */
	size_t functions, columns;
};

/* Samples of one function in one run: rows first to first + n. */
struct scale_group {
	size_t function, run, first, n;
};

/* z [rows x columns]; groups by function, then run; of those whose run is in use[run]. unit: the spread within runs of the function's samples, robust
 * (the larger of 1.4826 MAD and the width of the middle nine tenths as of a normal distribution), at least `tolerance`. O(n log n) a column. */
void scale_learn(const struct mat *z, const struct scale_group *groups, size_t n_groups, const bool *use, size_t functions,
		 double tolerance, struct scale *out);
/* As published: the same for all functions, center the smallest and unit the range (0 becomes 1) of all samples of runs in use. */
void scale_learn_range(const struct mat *z, const struct scale_group *groups, size_t n_groups, const bool *use, size_t functions,
		       struct scale *out);
void scale_release(struct scale *scale); /* accepts zeroed */

/* Column j of a function: is it always the same? */
bool scale_constant(const struct scale *scale, size_t function, size_t j);

/* row [columns] of z to units[columns]. */
void scale_row(const struct scale *scale, size_t function, const double *row, double *units);

#endif
