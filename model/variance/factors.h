/* Explains a time by several counted quantities, called factors. Uses ordinary least squares, after excluding collinear factors by the test
 * of Farrar and Glauber (Review of Economics and Statistics 49(1), 1967). A chi-squared test detects collinearity. If there is any, F tests
 * select the factor that the others explain best. The fit excludes this factor and repeats the test. In large samples, the tests find any
 * correlation, however weak. So a factor is excluded only if the others explain at least FACTORS_COLLINEAR of its variance. */
#ifndef MODEL_VARIANCE_FACTORS_H
#define MODEL_VARIANCE_FACTORS_H

#include "base/mat.h"

#include <stdbool.h>
#include <stddef.h>

#define FACTORS_MAX	  16
#define FACTORS_LEVEL	  .05
#define FACTORS_COLLINEAR .8 /* smallest R squared, on the other factors, at which a factor is excluded: a variance inflation of 5 */

struct factor {
	bool is_in_fit;	    /* the factor has its own coefficient in the fit */
	double coefficient; /* change of y per unit of the factor; NaN if not kept */
	double low, high;   /* 95 % interval of the coefficient; NaN if not kept */
	double p;	    /* two-sided p-value of the hypothesis that the coefficient is 0; 1 if not kept */
};

struct factors {
	struct factor results[FACTORS_MAX]; /* [X->cols] result for each column of X */
	bool fitted;			    /* false if there are too few rows, or if y or all columns are constant */
};

/* Fits y [n] to the columns of X [n x p], all finite; p <= FACTORS_MAX. Excludes constant columns. O(n p^2 + p^4). */
void factors_fit(const struct mat *X, const double *y, struct factors *out);

#endif
