/* Expected value of a quantity for an input. It is fitted on runs with different inputs, so that other runs can be compared at similar
 * inputs. There are two ways. It uses the one with the smaller error on held-out runs, if that error is a tenth below the error of one
 * value for all:
 *
 * - linear in the helpful numbers of the input, added one by one or two at once; robust (Huber's estimator, by weighted least squares:
 * Huber, "Robust Statistics", 1981)
 * - the median of the runs with the same input
 *
 * Predicting time from features of the input is from Mantis (Kwon and others, USENIX ATC 2013). Mantis counts its features in the program;
 * these are the program's arguments. */
#ifndef MODEL_ANOMALY_EXPECT_H
#define MODEL_ANOMALY_EXPECT_H

#include "base/mat.h"

#include <stdbool.h>

#define EXPECT_NUMBERS_USED 3 /* most numbers of an input in use */

/* Inputs of runs; the caller's. */
struct expect_inputs {
	struct mat numbers;  /* [runs x numbers] on a scale on which the quantity may be linear in them: logarithms of both; finite */
	const size_t *input; /* [runs] < inputs; SIZE_MAX: another input */
	size_t inputs;
};

enum expect_by { EXPECT_BY_NOTHING, EXPECT_BY_NUMBERS, EXPECT_BY_INPUT };

struct expect {
	enum expect_by by;
	size_t n;						    /* number of numbers in use */
	size_t number[EXPECT_NUMBERS_USED];			    /* [n] their columns */
	double low[EXPECT_NUMBERS_USED], high[EXPECT_NUMBERS_USED]; /* [n] their ranges */
	double slope[EXPECT_NUMBERS_USED], intercept;
	double *median; /* [inputs] EXPECT_BY_INPUT; NaN: too few runs had it */
	size_t inputs;
};

/* Fits y [runs], finite for the runs in use. *out: expect_release(). O(runs * numbers^2). The order of runs affects only rounding. */
void expect_fit(const struct expect_inputs *runs, const double *y, const bool *use, struct expect *out);
void expect_release(struct expect *expect); /* accepts zeroed */

/* Computes the expected value for a run. False: EXPECT_BY_NOTHING, a new input, or a number outside its range by over half of that. */
bool expect_of(const struct expect *expect, const struct expect_inputs *runs, size_t run, double *out);

#endif
