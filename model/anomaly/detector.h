/* Zero-positive detection: learns from samples of normal runs only. Reports which other runs are anomalous, in which functions, and by
 * which columns. Source: Alam and others, "A Zero-Positive Learning Approach for Diagnosing Software Performance Regressions", NeurIPS 2019
 * (AutoPerf). The default rule that judges a run differs from AutoPerf's: it is calibrated on held-out runs (model/anomaly/held_out.c).
 *
 *   observations --scale--> columns --clusters--> one scorer per cluster --held-out runs--> errors --rule--> thresholds
 *   observations of other runs --scale--> errors --rule--> anomalous runs, functions, columns */
#ifndef MODEL_ANOMALY_DETECTOR_H
#define MODEL_ANOMALY_DETECTOR_H

#include "base/error.h"
#include "base/mat.h"
#include "model/anomaly/scorer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Samples of functions in runs. The caller owns all memory. */
struct observations {
	struct mat values;	/* [n x p] value of each column; NaN if not counted */
	const size_t *function; /* [n] index of each sample's function, < functions */
	const size_t *run;	/* [n] index of each sample's run, < runs */
	const double *weight;	/* [n] number of calls that the sample represents, > 0 */
	size_t functions, runs;
	const char *const *functions_names; /* [functions] names of the functions; their alphabetical order is the canonical order */
	const char *const *columns;	    /* [p] names of the columns */
	const double *min_relevant_delta;   /* [p] smallest relevant difference near zero, in the column's unit, > 0 */
	const double *work;		    /* [n] work in one call of each sample, by which event counts were divided; NULL if unknown */
	const bool *per_call;		    /* [p] only with `work`: whether a column is a mean over calls, not over work */
};

/* Scalings make columns comparable. Rules derive anomalous runs from errors of samples (model/anomaly/detector_parts.h). */
struct detector_scaling;
struct detector_rule;
struct clustering;
extern const struct detector_scaling detector_asinh; /* asinh: one unit is `min_relevant_delta` near 0 and `tolerance` (relative) elsewhere;
							or the spread within runs, if larger */
extern const struct detector_rule detector_held_out; /* calibrated on held-out runs, so that `rate` holds */

#define DETECTOR_ONE_PER_FUNCTION SIZE_MAX /* value of `clusters`: one scorer per function */

struct detector_options {
	const struct scorer_kind *scorer;
	const struct detector_scaling *scaling;
	const struct detector_rule *rule;
	double rate;		     /* accepted probability that a normal run is called anomalous, in (0, 1) */
	double tolerance;	     /* largest negligible relative difference; default 0.05 */
	double t, fixed;	     /* parameters of the rules detector_deviation and detector_fixed */
	bool single_sample;	     /* true: one anomalous sample makes a run anomalous; false: all samples of the run together decide */
	bool check_constant_columns; /* treat a column outside the range of the function's normal samples as anomalous, even if no scorer
					has it */
	size_t clusters; /* maximum number of clusters of functions; DETECTOR_ONE_PER_FUNCTION; or 0 if choose_clusters() decides */
	size_t (*choose_clusters)(const struct clustering *clustering, size_t *of); /* fills of [functions]; NULL: one cluster */
	size_t folds; /* number of parts into which the runs are divided, >= 2; each part is judged by a model fitted to the others */
	uint64_t seed;
	size_t threads;
};
extern const struct detector_options detector_defaults;

struct detector; /* a fitted detector */

/* Reason why scorers do not get a column: no sample has it, or it is constant in the samples of each function. */
enum detector_column_use { DETECTOR_USED, DETECTOR_NOT_COUNTED, DETECTOR_CONSTANT };

/* Fits a detector to normal samples of at least 1 function in 2 runs (3 if the rule holds runs out). The caller frees *out with
 * detector_free(). ASSAY_E_NODATA: too few runs or samples; the message says how many are missing. ASSAY_E_USAGE: a name occurs twice, or
 * `rate` is below 1 / (runs + 1), so that there are too few runs. Samples that lack a finite value in a counted column are excluded and
 * counted. The bits of the result do not depend on the number of threads or on the order of rows, columns and functions. */
enum assay_status detector_fit(const struct observations *normal, const struct detector_options *options, struct detector **out,
			       struct assay_error *err);
void detector_free(struct detector *detector); /* accepts NULL */

/* Returns the number of normal runs that `rate` needs if the rule holds runs out: the smallest n with rate >= 1 / (n + 1). */
size_t detector_runs_needed(double rate);
/* Returns the stretch with which asinh(x / stretch) has slope `tolerance` per `min_relevant_delta` at 0, and 1 per relative change far
 * off. */
double detector_stretch(double min_relevant_delta, double tolerance);

/* Results of the training of a detector. `n_excluded` is the number of excluded samples. */
struct detector_info {
	size_t runs, samples, n_excluded, functions, columns;
	size_t clusters;
	size_t *cluster;		   /* [functions] index of each function's cluster */
	enum detector_column_use *dropped; /* [columns] reason why scorers do not get the column */
	char topology[64];		   /* text about the scorer of the largest cluster */
	double rate_measured;		   /* share of normal runs called anomalous; if runs are held out, by models fitted without them */
	bool is_sufficient;		   /* AutoPerf's algorithm 1 finds that more runs would change nothing */
	size_t n_runs_sufficient;	   /* number of runs after which algorithm 1 stopped; all runs if not sufficient */
	size_t n_runs_missing;		   /* estimated number of missing runs; 0 if sufficient */
};
const struct detector_info *detector_info(const struct detector *detector); /* owned by the detector */

/* Means of a column of one function, over all samples in normal runs and in judged runs. Each run contributes one number. */
struct detection_mean {
	double normal, now;  /* means in the column's unit; NaN if not counted */
	bool is_significant; /* the difference is larger than chance explains, given the variation of the normal runs */
};

/* Contribution of one column to a function's anomaly. */
struct detection_column {
	size_t column;
	double votes;	    /* share of the anomalous samples in which this column has the largest part of the error */
	double part;	    /* the column's part of the errors of the anomalous samples */
	int direction;	    /* +1: above normal, -1: below normal */
	double normal, now; /* means as in detection_mean */
};

struct detection_function {
	size_t function; /* index in the judged observations */
	bool known;	 /* the detector has learned the function; if false, only `function` is set */
	bool anomalous;	 /* anomalous in more runs than `rate` explains; if all runs are normal, this has a probability of at most `rate` */
	bool is_negligible; /* anomalous, but by more than a negligible amount only in as few runs as `rate` explains */
	size_t runs, runs_anomalous, samples, samples_anomalous;
	size_t n_runs_negligible; /* number of anomalous runs with a negligible difference: a mean error below the square of one unit */
	double score, threshold; /* score of the function's most anomalous run; some run is anomalous exactly if this exceeds `threshold` */
	double error, error_threshold;	  /* median error of the function's samples; a sample above error_threshold is anomalous */
	double excess;			  /* mean over calls of the error above the threshold; its product with the time ranks functions */
	struct detection_column *columns; /* [n_columns] columns, leading column first; NULL if no sample and no run is anomalous */
	size_t n_columns;
	struct detection_mean *means; /* [p + 1] means of the columns, then of the number of calls per run */
	bool *anomalous_in_run;	      /* [runs] true if the function is anomalous in the run */
	bool is_by_total;	      /* true: anomalous by calls and total work over all runs; false: by its samples */
};

struct detection {
	struct detection_function *functions; /* [n] in the order of the functions in the observations */
	size_t n;
	bool *run_anomalous;  /* [runs] true if at least one function is anomalous */
	bool *run_negligible; /* [runs] true if the run is anomalous, but only by a negligible amount */
	double *run_p; /* [runs] conformal p: (1 + number of held-out runs at least as anomalous) / (1 + number of held-out runs); NaN
			  without held-out runs, or without known functions */
	size_t runs, runs_anomalous, n_runs_negligible;
	size_t n_excluded; /* number of samples excluded because a value is not finite */
	double *errors;	   /* [observations] error of each sample; NaN if it was not judged */
};

/* Judges other runs. `seen` has the same columns, in any order; otherwise ASSAY_E_USAGE names the difference. Functions match by name. */
enum assay_status detector_judge(const struct detector *detector, const struct observations *seen, struct detection *out,
				 struct assay_error *err);
void detection_release(struct detection *detection); /* accepts a zeroed struct */

#endif
