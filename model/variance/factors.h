/* How much of a time each of several counted things explains: ordinary least squares, after the factors that follow from others have been
 * excluded by the test of Farrar and Glauber (Review of Economics and Statistics 49(1), 1967): chi-squared for whether there is any
 * collinearity, F for the factor that follows most from the others, which goes, until there is none.
 * In large samples the tests find any correlation, however weak; a factor goes only where the others explain FACTORS_COLLINEAR of it. */
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
	double coefficient; /* of y for one unit; NaN when not kept */
	double low, high;   /* the 95 % interval */
	double p;	    /* two-sided, of the coefficient being 0 */
};

struct factors {
	struct factor of[FACTORS_MAX]; /* [X->cols] */
	bool fitted;		       /* false: too few rows, or nothing varies */
};

/* X [n x p], y [n]: finite; p <= FACTORS_MAX. Constant columns are excluded. O(n p^2 + p^4). */
void factors_fit(const struct mat *X, const double *y, struct factors *out);

#endif
