/* Zero-positive detection: learns from samples of normal runs alone, says which of other runs are not normal, in which functions, by which
 * columns. Source: Alam and others, "A Zero-Positive Learning Approach for Diagnosing Software Performance Regressions",
 * NeurIPS 2019 (AutoPerf), whose rules are among the options; the default is calibrated on runs that were held out.
 *
 *   observations --scale--> columns --clusters--> a scorer each --held-out runs--> errors --calibrate--> thresholds
 *   observations of other runs --scale--> errors --> shares of anomalous samples --> runs, functions, columns
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
	struct mat values;           /* [n x p]; NaN: not counted */
	const size_t *function;      /* [n] < functions */
	const size_t *run;           /* [n] < runs */
	const double *weight;        /* [n] calls that it stands for, > 0 */
	size_t functions, runs;
	const char *const *functions_names; /* [functions]; canonical order is by name */
	const char *const *columns;  /* [p] names */
	const double *material;      /* [p] > 0: the smallest difference of the column near zero that would matter to anybody; in the column's unit */
};

enum detector_scaling {
	DETECTOR_ASINH, /* asinh, so that differences are absolute near zero (one unit: `material`) and relative elsewhere (one unit: `tolerance`); a function's
			   own spread within its runs is the unit where it is more (model/anomaly/scale.h). An error below one unit's square matters to nobody */
	DETECTOR_UNIT,  /* to [0, 1] over the normal samples, as published */
};

enum detector_threshold {
	DETECTOR_HELD_OUT,  /* of shares of anomalous samples in held-out runs, on the maximum over functions, for `rate` (model/anomaly/calibrate.h) */
	DETECTOR_DEVIATION, /* a sample: mean + t standard deviations of the errors of training samples */
	DETECTOR_FIXED,     /* a sample: root mean square error above `fixed` (.1, .2, .4) of the range, as the paper's arbitrary ones */
};

#define DETECTOR_ONE_EACH SIZE_MAX /* clusters: a scorer for every function */

struct detector_options {
	const struct scorer_kind *scorer;
	enum detector_scaling scaling;
	enum detector_threshold threshold;
	double rate;       /* false positives a run that are asked for, (0, 1) */
	double tolerance;  /* relative difference that matters to nobody (.05) */
	double t, fixed;
	bool single_sample; /* one anomalous sample makes a run anomalous, as published; else its share */
	bool watch_constant; /* columns, also those that are constant and not given to the scorer, are anomalous when they leave the range that
				they had in the function's normal samples (not so in the paper) */
	size_t clusters;   /* of functions; 0: chosen; DETECTOR_ONE_EACH */
	bool clusters_paper; /* chosen as published: until the false positive rate on training data stops falling */
	size_t folds;      /* of runs, >= 2: so many models are fitted, each without one of them */
	uint64_t seed;
	size_t threads;
};
extern const struct detector_options detector_defaults; /* autoencoder, held out, .05 */
extern const struct detector_options detector_paper;

struct detector; /* fitted, or read from a model that was kept */

/* Why a column is not given to the scorers: no sample has it; it is the same in all samples of each function. */
enum detector_dropped { DETECTOR_USED, DETECTOR_NOT_COUNTED, DETECTOR_CONSTANT };

/* normal: at least 2 runs (3 for DETECTOR_HELD_OUT), 1 function. *out: detector_free(). ASSAY_E_NODATA: too few runs or samples; the message says how many
 * more. ASSAY_E_USAGE: the rate cannot be supported by so many runs (below 1 / (runs + 1)), or a name is there twice. Rows with NaN or infinities in a
 * column that others have are left out and counted. Any order of rows, columns and functions, any number of threads: same bits. */
enum assay_status detector_fit(const struct observations *normal, const struct detector_options *options, struct detector **out,
			       struct assay_error *err);
void detector_free(struct detector *detector); /* accepts NULL */

/* What it learned from. */
struct detector_about {
	size_t runs, samples, left_out, functions, columns;
	size_t clusters;
	size_t *cluster;                  /* [functions] */
	enum detector_dropped *dropped;   /* [columns] */
	char topology[64];                /* of the largest cluster */
	double rate_measured;             /* of held-out normal runs that the others call anomalous; published thresholds: of training runs */
	bool sufficient;                  /* Algorithm 1 (model/anomaly/termination.h) says that more runs would change nothing */
	size_t runs_chosen;               /* after which it ended; all when not sufficient */
	size_t runs_more;                 /* how many more it would take, about; 0 when sufficient */
};
const struct detector_about *detector_about(const struct detector *detector); /* owned by the detector */

/* A column's part in what is wrong with a function. */
struct detection_column {
	size_t column;
	double votes;     /* share of anomalous samples of which it is the leading column */
	double part;      /* of their errors */
	int direction;    /* +1: more than normal, -1: less */
	double normal, now; /* medians, in the column's unit */
};

struct detection_function {
	size_t function;          /* of the observations that were judged */
	bool known;               /* the detector has learned it; false: nothing else here is known */
	bool anomalous;           /* in more runs than the asked rate lets expect: with a probability of at most `rate` were they normal */
	bool small;               /* anomalous, but not in so many of them by anything that matters */
	size_t runs, runs_anomalous, samples, samples_anomalous;
	size_t runs_small;        /* of the anomalous ones, by nothing that matters: a mean error below one unit's square (DETECTOR_ASINH) */
	double score, threshold;  /* of the run in which it is stranger by most: above the threshold exactly where a run is anomalous */
	double error, error_threshold; /* median of samples; above which a sample is anomalous */
	double excess;            /* mean of the errors above the threshold, weighted by calls; times time is the order of functions */
	struct detection_column *columns; /* [n_columns], leading first; none without anomalous samples or runs */
	size_t n_columns;
};

struct detection {
	struct detection_function *functions; /* [n], as in the observations */
	size_t n;
	bool *run_anomalous;      /* [runs] */
	bool *run_small;          /* [runs] anomalous by nothing that matters */
	double *run_p;            /* [runs] conformal p: (1 + held-out runs at least as strange) / (1 + held-out runs); NaN for other thresholds, and where nothing known was seen */
	size_t runs, runs_anomalous, runs_small;
	size_t left_out;          /* samples with NaN */
	double *errors;           /* [observations] of each sample, NaN when left out */
};

/* seen: same columns by name, in any order, else ASSAY_E_USAGE that names the difference. Functions are found by name. */
enum assay_status detector_judge(const struct detector *detector, const struct observations *seen, struct detection *out,
				 struct assay_error *err);
void detection_release(struct detection *detection); /* accepts zeroed */

/* Errors of the held-out normal samples, for histograms: *out[*n], borrowed, of the function with this name. */
void detector_normal_errors(const struct detector *detector, const char *function, const double **out, size_t *n);

/* A model that is kept (docs/formats.md); not of a scorer without `write`. read: ASSAY_E_FORMAT, ASSAY_E_VERSION. Writing and reading changes no
 * verdict's bits. */
cJSON *detector_write(const struct detector *detector);
enum assay_status detector_read(const cJSON *json, struct detector **out, struct assay_error *err);

#endif
