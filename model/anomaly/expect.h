/* Predicts a quantity from the input of a run, so that runs can be compared at similar inputs. There are two predictors, both fitted to
 * runs with different inputs. expect_fit() uses the predictor with the smaller error on held-out runs, if that error is at least a tenth
 * below the error of a constant:
 *
 * - a linear function of useful numbers of the input, which are added one by one or two at once; robust (Huber's estimator, by weighted
 * least squares: Huber, "Robust Statistics", 1981)
 * - the median of the runs with the same input
 *
 * Mantis (Kwon and others, USENIX ATC 2013) also predicts time from features of the input. Mantis counts its features in the program; here,
 * the features are the program's arguments. */
#ifndef MODEL_ANOMALY_EXPECT_H
#define MODEL_ANOMALY_EXPECT_H

#include "base/mat.h"

#include <stdbool.h>

#define EXPECT_NUMBERS_USED 3 /* maximum number of an input's numbers in a fit */

/* Inputs of runs, owned by the caller. */
struct expect_inputs {
	struct mat numbers;  /* [runs x numbers] finite; the quantity should depend linearly on them: take logarithms of both */
	const size_t *input; /* [runs] index of each run's input, < inputs; SIZE_MAX for any other input */
	size_t inputs;
};

enum expect_predictor { EXPECT_BY_NOTHING, EXPECT_BY_NUMBERS, EXPECT_BY_INPUT };

struct expect {
	enum expect_predictor by;
	size_t n;						    /* number of columns in use */
	size_t number[EXPECT_NUMBERS_USED];			    /* [n] indices of the columns in use */
	double low[EXPECT_NUMBERS_USED], high[EXPECT_NUMBERS_USED]; /* [n] ranges of the columns in use, over the fitted runs */
	double slope[EXPECT_NUMBERS_USED], intercept;
	double *median; /* [inputs] for EXPECT_BY_INPUT; NaN if too few runs had the input */
	size_t inputs;
};

/* Fits y [runs], finite for the runs in use. expect_release() frees *out. O(runs * numbers^2). The order of runs affects only rounding. */
void expect_fit(const struct expect_inputs *runs, const double *y, const bool *use, struct expect *out);
void expect_release(struct expect *expect); /* accepts a zeroed struct */

/* Predicts the quantity for a run. False: no predictor, an unknown input, or a number outside its range by over half of the range. */
bool expect_predict(const struct expect *expect, const struct expect_inputs *runs, size_t run, double *out);

#endif
