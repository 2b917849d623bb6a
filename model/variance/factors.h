/* Parts of a time explained by several counted quantities: ordinary least squares, after excluding factors that follow from others by the
 * test of Farrar and Glauber (Review of Economics and Statistics 49(1), 1967). Chi-squared tests whether there is any collinearity. F
 * selects the factor that follows most from the others, which is excluded, until there is no collinearity. In large samples the tests find
 * any correlation, however weak; so a factor is excluded only if the others explain FACTORS_COLLINEAR of it. */
#ifndef MODEL_VARIANCE_FACTORS_H
#define MODEL_VARIANCE_FACTORS_H

#include "base/mat.h"

#include <stdbool.h>
#include <stddef.h>

#define FACTORS_MAX	  16
#define FACTORS_LEVEL	  .05
#define FACTORS_COLLINEAR .8 /* R squared on the others: a variance inflation of 5 */

struct factor {
	bool kept;	    /* has a coefficient of its own */
	double coefficient; /* change of y per unit; NaN if not kept */
	double low, high;   /* 95 % interval */
	double p;	    /* two-sided, for a coefficient of 0 */
};

struct factors {
	struct factor of[FACTORS_MAX]; /* [X->cols] */
	bool fitted;		       /* false: too few rows, or nothing varies */
};

/* Fits y [n] by X [n x p], finite; p <= FACTORS_MAX. Excludes constant columns. O(n p^2 + p^4). */
void factors_fit(const struct mat *X, const double *y, struct factors *out);

#endif
