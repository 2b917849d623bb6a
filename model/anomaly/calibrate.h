/* From errors of samples to runs that are anomalous, so that a normal run is with the probability that was asked for.
 *
 * Conformal prediction (Vovk, Gammerman, Shafer, "Algorithmic Learning in a Random World", 2005): a new run joins the normal ones, each of them
 * all is compared with the others, and p is the share of them that are at least as strange as the new one. Were it normal, too, any of them
 * would be the strangest with the same probability, so that p <= rate with exactly that probability where there are no ties; whatever the
 * distribution is. This asks that the new one is treated as the others are: errors come from models that have not seen the run (the caller's
 * folds), and the new run is among those with which a normal one is compared. Without the latter .42 instead of .52 of runs that are 2 standard
 * deviations off are found (19 runs; tests/model/test_calibrate.c).
 *
 * How strange a run is, is the maximum over its functions of
 *
 *   (S - mean) / sqrt(between + (within + largest^2 / (samples + 1)) / n),   S = sum of weight * s / sum of weight,   s = log(1 + error / threshold)
 *
 * where threshold is a quantile of the function's errors, mean, between and within (variances between runs and between the samples of one) are
 * of the other runs' `samples`, n is the effective number of samples and `largest` the largest s of the run: what has not been seen in so many
 * samples may still happen in one of (samples + 1), as Laplace's rule of succession has it. S is the share of anomalous samples, made
 * continuous: far below the threshold a sample counts almost nothing, far above it the logarithm of its error. What differs by something that
 * matters (a mean error of `least`) is stranger than all that does not: the bar orders, and takes nothing away from the rate. */
#ifndef MODEL_ANOMALY_CALIBRATE_H
#define MODEL_ANOMALY_CALIBRATE_H

#include "model/anomaly/scale.h"

#define CALIBRATE_THRESHOLD_LEAST 1e-30 /* of a sample: errors below are rounding, and what is divided by it stays finite */

struct calibrate_options {
	double rate;	    /* of normal runs that may be called anomalous */
	double least;	    /* a mean error of a run below it matters to nobody, and a sample's is no anomaly */
	bool single_sample; /* S is the logarithm of the largest error / threshold, and is compared as it is */
};

/* A function in a run. */
struct calibrate_summary {
	double samples; /* 0: the run does not have it */
	double mean;	/* S */
	double n;	/* effective number of samples */
	double largest; /* s */
	double squares; /* of the samples' distances from S */
	bool matters;
};

struct calibration {
	struct calibrate_options options;
	size_t functions, runs;
	double *threshold;		  /* [functions] of a sample; NaN: no run has the function */
	struct calibrate_summary *normal; /* [functions x runs] */
	size_t allowed;			  /* a run is anomalous when fewer normal ones than this are as strange, >= 1 */
};

/* Normal runs that a rate needs: the least n with rate >= 1 / (n + 1). */
size_t calibrate_runs_needed(double rate);

/* Below how many normal runs as strange a run is anomalous, at most `rate` of (runs + 1); 0: so many runs do not support the rate. */
size_t calibrate_allowed(double rate, size_t runs);

/* groups by function, then run; error [samples]: by a model that has not seen the run; NaN where it does not know the function. weight [samples] > 0.
 * rate >= 1 / (runs + 1), else it is a bug. *out: calibration_release(). O(samples log samples). */
void calibrate_fit(const struct scale_group *groups, size_t n_groups, const double *error, const double *weight, size_t functions,
		   size_t runs, const struct calibrate_options *options, struct calibration *out);
void calibration_release(struct calibration *calibration); /* accepts zeroed */

/* Samples [n] of a function that is known, in one run. */
struct calibrate_summary calibrate_summary_of(const struct calibration *calibration, size_t function, const double *error,
					      const double *weight, size_t n);

/* seen [functions]: a new run. strange [functions]: of each of its functions; what does not matter is below CALIBRATE_MATTERS. p: (1 + normal runs at least as
 * strange) / (1 + normal runs). Returns the limit: what is stranger is anomalous; the run's strangest function is exactly when p <= rate.
 * O(functions x runs). */
#define CALIBRATE_MATTERS (-9.0)
double calibrate_judge(const struct calibration *calibration, const struct calibrate_summary *seen, double *strange, double *p);

/* Share of normal runs that the others call anomalous. */
double calibrate_measured(const struct calibration *calibration);

/* The probability that at least `anomalous` of n further normal runs are stranger than all but allowed - 1 of `runs` normal ones: they share the limit, so it
 * is not binomial but negative hypergeometric. Of one run: allowed / (runs + 1). */
double calibrate_chance(size_t runs, size_t allowed, size_t n, size_t anomalous);

#endif
