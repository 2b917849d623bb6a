/* Parts of a time explained by several counted quantities. Uses ordinary least squares, after excluding collinear factors by the test of
 * Farrar and Glauber (Review of Economics and Statistics 49(1), 1967). Chi-squared tests whether there is any collinearity. If so, F
 * selects the factor that the others explain best; the fit excludes this factor and repeats the test. In large samples the tests find any
 * correlation, however weak; so a factor is excluded only if the others explain FACTORS_COLLINEAR of it. */
#ifndef MODEL_VARIANCE_FACTORS_H
#define MODEL_VARIANCE_FACTORS_H

#include "base/mat.h"

#include <stdbool.h>
#include <stddef.h>

#define FACTORS_MAX	  16
#define FACTORS_LEVEL	  .05
#define FACTORS_COLLINEAR .8 /* maximum R squared of a factor on the other factors: a variance inflation of 5 */

struct factor {
	bool kept;	    /* the factor has its own coefficient in the fit */
	double coefficient; /* change of y per unit of the factor; NaN if not kept */
	double low, high;   /* 95 % interval of the coefficient */
	double p;	    /* two-sided p of the hypothesis that the coefficient is 0 */
};

struct factors {
	struct factor of[FACTORS_MAX]; /* [X->cols] result per column */
	bool fitted;		       /* false if there are too few rows, or nothing varies */
};

/* Fits y [n] by X [n x p], finite; p <= FACTORS_MAX. Excludes constant columns. O(n p^2 + p^4). */
void factors_fit(const struct mat *X, const double *y, struct factors *out);

#endif
