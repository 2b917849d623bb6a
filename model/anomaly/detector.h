/* Zero-positive detection: learns from samples of normal runs only, and reports which other runs are anomalous, in which functions, by
 * which columns. Source: Alam and others, "A Zero-Positive Learning Approach for Diagnosing Software Performance Regressions", NeurIPS 2019
 * (AutoPerf). The judgement of a run is assay's own: calibrated on held-out runs (model/anomaly/held_out.c).
 *
 *   observations --scale--> columns --clusters--> a scorer each --held-out runs--> errors --rule--> thresholds
 *   observations of other runs --scale--> errors --rule--> runs, functions, columns */
#ifndef MODEL_ANOMALY_DETECTOR_H
#define MODEL_ANOMALY_DETECTOR_H

#include "base/error.h"
#include "base/mat.h"
#include "model/anomaly/scorer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Samples of functions in runs. All memory is the caller's. */
struct observations {
	struct mat values;	/* [n x p]; NaN: not counted */
	const size_t *function; /* [n] < functions */
	const size_t *run;	/* [n] < runs */
	const double *weight;	/* [n] number of calls that it represents, > 0 */
	size_t functions, runs;
	const char *const *functions_names; /* [functions]; the canonical order is by name */
	const char *const *columns;	    /* [p] names */
	const double *min_relevant_delta;   /* [p] > 0: smallest relevant difference near zero, in the column's unit */
	const double *work;		    /* [n] work of one of the calls, by which events are divided; NULL: none */
	const bool *per_call;		    /* [p] if there is `work`: a mean over calls, not over work */
};

/* Ways to make columns comparable, and to turn errors of samples into anomalous runs (model/anomaly/detector_parts.h). */
struct detector_scaling;
struct detector_rule;
struct clustering;
extern const struct detector_scaling
    detector_asinh; /* asinh: differences are absolute near zero (one unit: `min_relevant_delta`) and relative elsewhere (one unit:
		       `tolerance`). If a function's spread within its runs is larger, it is the unit */
extern const struct detector_rule detector_held_out; /* calibrated on held-out runs, for `rate` */

#define DETECTOR_ONE_EACH SIZE_MAX /* for `clusters`: one scorer per function */

struct detector_options {
	const struct scorer_kind *scorer;
	const struct detector_scaling *scaling;
	const struct detector_rule *rule;
	double rate;	     /* false positives per run, (0, 1) */
	double tolerance;    /* negligible relative difference (0.05) */
	double t, fixed;     /* parameters of the rules that have them */
	bool single_sample;  /* one anomalous sample makes a run anomalous; else all of its samples together */
	bool watch_constant; /* a column outside the range of the function's normal samples is anomalous, even one without a scorer */
	size_t clusters;     /* most clusters of functions; DETECTOR_ONE_EACH; 0: by choose_clusters */
	size_t (*choose_clusters)(const struct clustering *clustering, size_t *of); /* NULL: one for all functions */
	size_t folds; /* folds of the runs, >= 2: that many models are fitted, each without one fold */
	uint64_t seed;
	size_t threads;
};
extern const struct detector_options detector_defaults;

struct detector; /* a fitted detector */

/* Why scorers do not get a column: no sample has it; it is constant in all samples of each function. */
enum detector_dropped { DETECTOR_USED, DETECTOR_NOT_COUNTED, DETECTOR_CONSTANT };

/* Fits a detector to normal samples: at least 2 runs (3 if the rule holds runs out), 1 function. *out: detector_free(). ASSAY_E_NODATA: too
 * few runs or samples; the message says how many more. ASSAY_E_USAGE: so few runs cannot support the rate (below 1 / (runs + 1)), or a name
 * occurs twice. Rows with NaN or infinity in a column that others have are excluded and counted. Any order of rows, columns and functions,
 * and any number of threads, give the same bits. */
enum assay_status detector_fit(const struct observations *normal, const struct detector_options *options, struct detector **out,
			       struct assay_error *err);
void detector_free(struct detector *detector); /* accepts NULL */

/* Returns the normal runs that a rate needs if the rule holds runs out: the least n with rate >= 1 / (n + 1). */
size_t detector_runs_needed(double rate);
/* Returns the stretch for which asinh(x / stretch) has slope `tolerance` per `min_relevant_delta` at 0, and 1 per relative change far
 * off. */
double detector_stretch(double min_relevant_delta, double tolerance);

/* Facts about the training of a detector. */
struct detector_about {
	size_t runs, samples, left_out, functions, columns;
	size_t clusters;
	size_t *cluster;		/* [functions] */
	enum detector_dropped *dropped; /* [columns] */
	char topology[64];		/* topology of the largest cluster's scorer */
	double rate_measured;		/* share of normal runs that are called anomalous, each by the others if runs are held out */
	bool sufficient;		/* AutoPerf's algorithm 1 finds that more runs would change nothing */
	size_t runs_chosen;		/* number of runs after which it ended; all if not sufficient */
	size_t runs_more;		/* estimated number of missing runs; 0 if sufficient */
};
const struct detector_about *detector_about(const struct detector *detector); /* owned by the detector */

/* Mean of a function, normally and now: of all its samples, anomalous or not; each run contributes one number. */
struct detection_mean {
	double normal, now; /* means in the column's unit; NaN: not counted */
	bool apart;	    /* they differ by more than chance explains in runs such as the normal ones */
};

/* A column's part in a function's anomaly. */
struct detection_column {
	size_t column;
	double votes;	    /* share of anomalous samples in which it is the leading column */
	double part;	    /* part of the errors of these samples */
	int direction;	    /* +1: above normal, -1: below */
	double normal, now; /* means as in detection_mean */
};

struct detection_function {
	size_t function; /* index in the judged observations */
	bool known;	 /* the detector has learned it; false: nothing else here is set */
	bool anomalous;	 /* anomalous in more runs than the rate explains: for normal runs, the probability is at most `rate` */
	bool small;	 /* anomalous, but in too few runs by more than a negligible amount */
	size_t runs, runs_anomalous, samples, samples_anomalous;
	size_t runs_small;	       /* anomalous runs with a negligible difference: a mean error below one unit's square */
	double score, threshold;       /* strangeness in its strangest run; above the threshold exactly if a run is anomalous */
	double error, error_threshold; /* median of its samples' errors; threshold of an anomalous sample */
	double excess; /* mean of the errors above the threshold, weighted by calls; its product with time orders functions */
	struct detection_column *columns; /* [n_columns], leading first; none without anomalous samples or runs */
	size_t n_columns;
	struct detection_mean *means; /* [p + 1] of the columns, and of its calls per run */
	bool *in_run;		      /* [runs] whether it is anomalous there */
	bool in_total;		      /* anomalous by its number of calls and total work over all runs; else by its samples */
};

struct detection {
	struct detection_function *functions; /* [n], in the order of the observations */
	size_t n;
	bool *run_anomalous; /* [runs] */
	bool *run_small;     /* [runs] anomalous by a negligible amount */
	double *run_p; /* [runs] conformal p: (1 + held-out runs at least as strange) / (1 + held-out runs); NaN without these, or without
			  known functions */
	size_t runs, runs_anomalous, runs_small;
	size_t left_out; /* number of samples with NaN */
	double *errors;	 /* [observations] error per sample; NaN if excluded */
};

/* Judges other runs. seen: the same columns by name, in any order; else ASSAY_E_USAGE names the difference. Matches functions by name. */
enum assay_status detector_judge(const struct detector *detector, const struct observations *seen, struct detection *out,
				 struct assay_error *err);
void detection_release(struct detection *detection); /* accepts zeroed */

#endif
