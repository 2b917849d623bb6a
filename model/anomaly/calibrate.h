/* From errors of samples to runs that are anomalous, so that a normal run is with the probability that was asked for.
 *
 * Each normal run is judged by what was learned without its fold of runs; a new run is compared with each normal run by what was learned without that
 * one's fold, so that the two are treated alike (cross-conformal prediction: Vovk, Annals of Mathematics and Artificial Intelligence 74, 2015; CV+: Barber,
 * Candes, Ramdas, Tibshirani, Annals of Statistics 49(1), 2021). How strange a run is, is the maximum over its functions of
 *
 *   (S - mean) / sqrt(between + (within + largest^2 / (samples + 1)) / n),   S = sum of weight * s / sum of weight,   s = log(1 + error / threshold)
 *
 * where threshold (a quantile of the function's errors), mean, between and within (variances between runs and between the samples of one) are of `samples`
 * held-out errors outside the fold, n is the effective number of samples and `largest` the largest s of the run: what has not been seen in so many samples
 * may still happen in one of (samples + 1), as Laplace's rule of succession has it. S is the share of anomalous samples, made continuous: far below
 * the threshold a sample counts almost nothing, far above it the logarithm of its error. O(samples log samples) a fold. */
#ifndef MODEL_ANOMALY_CALIBRATE_H
#define MODEL_ANOMALY_CALIBRATE_H

#include "model/anomaly/scale.h"

#define CALIBRATE_NOTHING (-10.0) /* of a run whose mean error is below `least`: less than any other */

#define CALIBRATE_THRESHOLD_LEAST 1e-30 /* of a sample: errors below are rounding, and what is divided by it stays finite */

struct calibrate_options {
	double rate;	    /* of normal runs that may be called anomalous */
	double least;	    /* a mean error of a run below it is nothing, and a sample's no anomaly */
	bool single_sample; /* S is the logarithm of the largest error / threshold, and is compared as it is */
};

/* What a fold says of a function. */
struct calibrate_level {
	bool known;
	double threshold; /* of a sample */
	double mean, between, within;
	double samples; /* that this rests on */
};

struct calibration {
	struct calibrate_options options;
	size_t functions, folds, runs;
	struct calibrate_level *levels; /* [folds x functions] */
	size_t *fold;			/* [runs] */
	double *statistic;		/* [runs] the normal runs' own */
	size_t allowed;			/* a run is anomalous when fewer normal ones than this are as strange, >= 1 */
};

/* Normal runs that a rate needs: the least n with rate >= 1 / (n + 1). */
size_t calibrate_runs_needed(double rate);

/* Below how many normal runs as strange a run is anomalous, at most `rate` of (runs + 1); 0: so many runs do not support the rate. */
size_t calibrate_allowed(double rate, size_t runs);

/* groups by function, then run; errors [folds x samples]: row k by models that have not seen fold k, nor the run itself; NaN where they do not know the
 * function; weight [samples] > 0; fold [runs] < folds. rate >= 1 / (runs + 1), else it is a bug. *out: calibration_release(). */
void calibrate_fit(const struct scale_group *groups, size_t n_groups, const struct mat *errors, const double *weight, const size_t *fold,
		   size_t functions, size_t runs, const struct calibrate_options *options, struct calibration *out);
void calibration_release(struct calibration *calibration); /* accepts zeroed */

/* Known in at least two folds. */
bool calibrate_known(const struct calibration *calibration, size_t function);
/* Of a sample of the function, over the folds that know it: the median. */
double calibrate_threshold(const struct calibration *calibration, size_t function);

/* How strange samples [n] of a function in one run are to a fold: CALIBRATE_NOTHING when it does not know the function, or their mean error is below `least`. */
double calibrate_statistic(const struct calibration *calibration, size_t fold, size_t function, const double *error,
			   const double *weight, size_t n);

/* strange [folds]: of one run. p: (1 + normal runs at least as strange) / (1 + normal runs), which is `rate` or less in anomalous runs. score: above
 * the threshold by as much as it is stranger than the run that decides; score > calibrate_limit() exactly when anomalous. */
void calibrate_compare(const struct calibration *calibration, const double *strange, double *p, double *score);
double calibrate_limit(const struct calibration *calibration);
bool calibrate_anomalous(const struct calibration *calibration, double p);

/* Share of normal runs that the others call anomalous. */
double calibrate_measured(const struct calibration *calibration);

/* The probability that at least `anomalous` of n further normal runs are stranger than all but allowed - 1 of `runs` normal ones: they share the limit, so it
 * is not binomial but negative hypergeometric. Of one run: allowed / (runs + 1). */
double calibrate_chance(size_t runs, size_t allowed, size_t n, size_t anomalous);

#endif
