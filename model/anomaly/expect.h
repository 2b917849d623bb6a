/* What a quantity should be with this input: fitted on runs with different inputs, so that others can be compared at like inputs. Two ways,
 * the one that errs less for runs that it has not seen, if it errs by a tenth less than one value for all:
 *
 * - linear in the numbers of the input, in those that help, one after the other or two at once; robust (Huber's estimator, by weighted
 *   least squares: Huber, "Robust Statistics", 1981)
 * - the median of the runs with the same input
 *
 * That inputs have features which foretell the time is from Mantis (Kwon and others, USENIX ATC 2013); its features are counted in the
 * program, these are what it was asked. */
#ifndef MODEL_ANOMALY_EXPECT_H
#define MODEL_ANOMALY_EXPECT_H

#include "base/mat.h"

#include <stdbool.h>

#define EXPECT_NUMBERS_USED 3 /* of an input, at most */

/* What runs were asked to do; the caller's. */
struct expect_inputs {
	struct mat numbers;  /* [runs x numbers] on a scale on which the quantity may be linear in them: logarithms of both; finite */
	const size_t *input; /* [runs] < inputs; SIZE_MAX: none of these */
	size_t inputs;
};

enum expect_by { EXPECT_BY_NOTHING, EXPECT_BY_NUMBERS, EXPECT_BY_INPUT };

struct expect {
	enum expect_by by;
	size_t n;						    /* numbers that are used */
	size_t number[EXPECT_NUMBERS_USED];			    /* [n] which */
	double low[EXPECT_NUMBERS_USED], high[EXPECT_NUMBERS_USED]; /* what they were */
	double slope[EXPECT_NUMBERS_USED], intercept;
	double *median; /* [inputs] EXPECT_BY_INPUT; NaN: too few runs had it */
	size_t inputs;
};

/* y [runs]: the quantity of the runs in use, finite. *out: expect_release(). O(runs * numbers^2). The order of runs changes nothing but
 * rounding. */
void expect_fit(const struct expect_inputs *runs, const double *y, const bool *use, struct expect *out);
void expect_release(struct expect *expect); /* accepts zeroed */

/* What it should be in a run of these. False: nothing is known of such an input, as no run had it, or a number is further outside than half
 * the range that it had; or with EXPECT_BY_NOTHING. */
bool expect_of(const struct expect *expect, const struct expect_inputs *runs, size_t run, double *out);

#endif
