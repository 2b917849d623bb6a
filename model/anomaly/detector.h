/* Zero-positive detection: learns from samples of normal runs alone, says which other runs are not normal, in which functions, by which
 * columns. Source: Alam and others, "A Zero-Positive Learning Approach for Diagnosing Software Performance Regressions", NeurIPS 2019
 * (AutoPerf); how a run is judged is our own: calibrated on runs that were held out (model/anomaly/held_out.c).
 *
 *   observations --scale--> columns --clusters--> a scorer each --held-out runs--> errors --rule--> thresholds
 *   observations of other runs --scale--> errors --rule--> runs, functions, columns
 */
#ifndef MODEL_ANOMALY_DETECTOR_H
#define MODEL_ANOMALY_DETECTOR_H

#include "base/error.h"
#include "base/mat.h"
#include "model/anomaly/scorer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Samples of functions in runs. All is the caller's. */
struct observations {
	struct mat values;	/* [n x p]; NaN: not counted */
	const size_t *function; /* [n] < functions */
	const size_t *run;	/* [n] < runs */
	const double *weight;	/* [n] calls that it represents, > 0 */
	size_t functions, runs;
	const char *const *functions_names; /* [functions]; canonical order is by name */
	const char *const *columns;	    /* [p] names */
	const double *min_relevant_delta;   /* [p] > 0: the smallest difference near zero that is relevant; in the column's unit */
	const double *work;		    /* [n] of one of the calls: what events are counted by; NULL: nothing is */
	const bool *per_call;		    /* [p] where there is work: a mean over calls, not over work */
};

/* How columns become comparable, and how errors of samples become anomalous runs (model/anomaly/detector_parts.h). */
struct detector_scaling;
struct detector_rule;
struct clustering;
extern const struct detector_scaling detector_asinh; /* asinh, so that differences are absolute near zero (one unit: `min_relevant_delta`)
							and relative elsewhere (one unit: `tolerance`); a function's own spread within its
							runs is the unit where it is more */
extern const struct detector_rule detector_held_out; /* calibrated on runs that were held out, for `rate` */

#define DETECTOR_ONE_EACH SIZE_MAX /* clusters: a scorer for every function */

struct detector_options {
	const struct scorer_kind *scorer;
	const struct detector_scaling *scaling;
	const struct detector_rule *rule;
	double rate;	     /* of false positives per run, (0, 1) */
	double tolerance;    /* relative difference that is negligible (.05) */
	double t, fixed;     /* of the rules that have such a parameter */
	bool single_sample;  /* one anomalous sample makes a run anomalous; else all of its samples together */
	bool watch_constant; /* columns, also constant ones that scorers do not get, are anomalous outside the range of the function's
				normal samples */
	size_t clusters;     /* of functions, at most; DETECTOR_ONE_EACH; 0: as choose_clusters says */
	size_t (*choose_clusters)(const struct clustering *clustering, size_t *of); /* NULL: one for all functions */
	size_t folds; /* of runs, >= 2: so many models are fitted, each without one of them */
	uint64_t seed;
	size_t threads;
};
extern const struct detector_options detector_defaults;

struct detector; /* fitted */

/* Why a column is not given to the scorers: no sample has it; it is the same in all samples of each function. */
enum detector_dropped { DETECTOR_USED, DETECTOR_NOT_COUNTED, DETECTOR_CONSTANT };

/* normal: at least 2 runs (3 where the rule holds runs out), 1 function. *out: detector_free(). ASSAY_E_NODATA: too few runs or samples;
 * the message says how many more. ASSAY_E_USAGE: so few runs cannot support the rate (below 1 / (runs + 1)), or a name occurs twice. Rows
 * with NaN or infinities in a column that others have are excluded and counted. Any order of rows, columns and functions, any number of
 * threads: same bits. */
enum assay_status detector_fit(const struct observations *normal, const struct detector_options *options, struct detector **out,
			       struct assay_error *err);
void detector_free(struct detector *detector); /* accepts NULL */

/* Normal runs that a rate needs where the rule holds runs out: the least n with rate >= 1 / (n + 1). */
size_t detector_runs_needed(double rate);
/* asinh(x / stretch) has a slope of `tolerance` per `min_relevant_delta` at 0, and of 1 per relative change far from it. */
double detector_stretch(double min_relevant_delta, double tolerance);

/* What it learned from. */
struct detector_about {
	size_t runs, samples, left_out, functions, columns;
	size_t clusters;
	size_t *cluster;		/* [functions] */
	enum detector_dropped *dropped; /* [columns] */
	char topology[64];		/* of the largest cluster */
	double rate_measured;		/* of normal runs that are called anomalous, each by the others if runs are held out */
	bool sufficient;		/* AutoPerf's algorithm 1 says that more runs would change nothing */
	size_t runs_chosen;		/* after which it ended; all when not sufficient */
	size_t runs_more;		/* how many more it would take, about; 0 when sufficient */
};
const struct detector_about *detector_about(const struct detector *detector); /* owned by the detector */

/* What a function did in the mean, normally and now: of all its samples, anomalous or not, each run a number. */
struct detection_mean {
	double normal, now; /* in the column's unit; NaN: not counted */
	bool apart;	    /* by more than chance explains in runs such as the normal ones */
};

/* A column's part in what is wrong with a function. */
struct detection_column {
	size_t column;
	double votes;	    /* share of anomalous samples of which it is the leading column */
	double part;	    /* of their errors */
	int direction;	    /* +1: more than normal, -1: less */
	double normal, now; /* means, as in detection_mean */
};

struct detection_function {
	size_t function; /* of the observations that were judged */
	bool known;	 /* the detector has learned it; false: nothing else here is set */
	bool anomalous;	 /* in more runs than the rate explains: normal ones would be with a probability of at most `rate` */
	bool small;	 /* anomalous, but in too few runs by more than something negligible */
	size_t runs, runs_anomalous, samples, samples_anomalous;
	size_t runs_small;	       /* of the anomalous ones, by something negligible: a mean error below one unit's square */
	double score, threshold;       /* of the run in which it is strangest: above the threshold exactly where a run is anomalous */
	double error, error_threshold; /* median of samples; above which a sample is anomalous */
	double excess;		       /* mean of the errors above the threshold, weighted by calls; times time is the order of functions */
	struct detection_column *columns; /* [n_columns], leading first; none without anomalous samples or runs */
	size_t n_columns;
	struct detection_mean *means; /* [p + 1] of the columns, and of its calls in a run */
	bool *in_run;		      /* [runs] anomalous there */
	bool in_total; /* anomalous by how often it is called and how much it does in all, over all runs; else by its samples */
};

struct detection {
	struct detection_function *functions; /* [n], as in the observations */
	size_t n;
	bool *run_anomalous; /* [runs] */
	bool *run_small;     /* [runs] anomalous by something negligible */
	double *run_p; /* [runs] conformal p: (1 + held-out runs at least as strange) / (1 + held-out runs); NaN without held-out runs, and
			  where nothing known was seen */
	size_t runs, runs_anomalous, runs_small;
	size_t left_out; /* samples with NaN */
	double *errors;	 /* [observations] of each sample, NaN when excluded */
};

/* seen: the same columns by name, in any order, else ASSAY_E_USAGE that names the difference. Functions are found by name. */
enum assay_status detector_judge(const struct detector *detector, const struct observations *seen, struct detection *out,
				 struct assay_error *err);
void detection_release(struct detection *detection); /* accepts zeroed */

#endif
