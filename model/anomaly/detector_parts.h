/* Parts of a detector: rows in canonical order, their models, a rule. For new ways to scale, to cluster, or to judge. */
#ifndef MODEL_ANOMALY_DETECTOR_PARTS_H
#define MODEL_ANOMALY_DETECTOR_PARTS_H

#include "model/anomaly/detector.h"
#include "base/mat.h"
#include <stdint.h>

#define DETECTOR_FARTHEST 1e100 /* values farther away count as this, so that their squares stay finite */
#define SCALE_UNIT_LEAST  1e-30 /* so that squares of far outliers stay finite */

/* ---- names: columns and functions in canonical order ---- */

struct names {
	char **columns, **functions; /* [p], [n] sorted, each once */
	size_t p, n;
};

/* Sorts names. columns [p], functions [n]: positions of `names` in the observations, and the reverse. ASSAY_E_USAGE: a repeated name. */
enum assay_status names_of(const struct observations *observations, struct names *out, size_t *columns, size_t *functions,
			   struct assay_error *err);
/* Does the same for other observations with the same columns, else ASSAY_E_USAGE. SIZE_MAX: a function that is not in `names`. */
enum assay_status names_match(const struct names *names, const struct observations *seen, size_t *columns, size_t *functions,
			      struct assay_error *err);
void names_release(struct names *names); /* accepts zeroed */

/* ---- observations in an order independent of their input: by function, run, values ---- */

/* Samples of one function in one run: rows `first` to `first` + n. */
struct row_group {
	size_t function, run, first, n;
};

struct rows {
	struct mat z;		  /* [n x columns] columns and functions as in `names`; stretched or unchanged */
	double *weight;		  /* [n] */
	size_t *origin;		  /* [n] row in the observations */
	struct row_group *groups; /* [n_groups] by function, then run */
	size_t n_groups;
	size_t left_out; /* number of rows with NaN or infinity */
};

/* Sorts rows. columns, functions: as from names_of(); rows of functions at SIZE_MAX are skipped. used [p]: a column that is not counted is
 * 0. stretch [p]: values become asinh(value / stretch); NULL: they stay unchanged. */
void rows_of(const struct observations *observations, const size_t *columns, size_t p, const bool *used, const size_t *functions,
	     const double *stretch, struct rows *out);
void rows_release(struct rows *rows); /* accepts zeroed */
/* Returns the number of groups of one function, from `first` on. */
size_t rows_groups(const struct rows *rows, size_t first);

/* ---- scales ---- */

/* Statistics of each function and column over the normal samples. All [functions x columns]. */
struct scale {
	bool *known;	    /* [functions] whether it has samples */
	double *center;	    /* median */
	double *unit;	    /* > 0 */
	double *low, *high; /* smallest and largest value, in units from the center */
	size_t functions, columns;
};

struct scale scale_new(size_t functions, size_t columns); /* unit 1, all else 0 */

/* A way to scale columns, so that one unit has the same meaning in all. */
struct detector_scaling {
	bool stretched; /* differences are absolute near zero and relative elsewhere; then an error below one unit's square is negligible */
	/* Learns *scale, which is new, from the runs in use[run]. */
	void (*learn)(const struct rows *rows, const bool *use, double tolerance, struct scale *scale);
};

/* ---- models: a scale per function, a scorer per cluster of functions ---- */

/* The scorer of a cluster of functions. */
struct expert {
	struct scorer *scorer; /* NULL: nothing varies, or there are too few rows */
	size_t *columns;       /* [n_columns] of its rows */
	size_t n_columns;
};

struct model {
	struct scale scale;
	struct expert *experts; /* [clusters] */
};

struct models {
	struct model *items; /* [n] */
	size_t n, clusters;
	size_t *cluster; /* [functions] */
	size_t functions;
	const struct detector_options *options;
};

/* Fits models->n models, model i to the runs in use[i][run]; the rest of *models is set before. */
void models_fit(const struct rows *rows, const bool *const *use, struct models *models);
void models_release(struct models *models); /* accepts zeroed; keeps the clusters */

/* Judges rows `first` to `first` + parts->rows of one function. parts [n x columns]: parts of their errors (of the scorer, or the distance
 * outside the normal range if larger). toward [n x columns]: signed roots, above or below the expected value. error [n]: their sums. */
void models_judge(const struct models *models, size_t model, size_t function, const struct rows *rows, size_t first, struct mat *parts,
		  struct mat *toward, double *error);

/* Computes error [rows] by the model of each row's run, of_run[run] (NULL: the first); NaN: that model does not know the function. */
void models_errors(const struct models *models, const struct rows *rows, const size_t *of_run, double *error);

/* ---- clusters of functions ---- */

/* The rows by which clusters are chosen, a few per function. */
struct clustering {
	struct rows rows;
	size_t functions, runs;
	const struct detector_options *options;
};

/* Finds k clusters by k-means over samples; a function belongs to the cluster with most of its samples (AutoPerf). k = 1 or SIZE_MAX: one,
 * or one per function. of [functions]. Returns how many there are. */
size_t clusters_by_kmeans(const struct clustering *c, size_t k, size_t *of);
/* Chooses clusters by the options; of [functions]. Returns how many. */
size_t clusters_choose(const struct rows *rows, size_t functions, size_t runs, const struct detector_options *options, size_t *of);

/* ---- means ---- */

/* Over the runs that have a function: their number, mean, and sum of squared distances from it. */
struct run_mean {
	double n, mean, squares;
};

/* Returns [functions x (p + 1)], the caller's: means over the runs of each column, and of the calls. columns [p]: as for rows_of(). */
struct run_mean *run_means_of(const struct observations *observations, const size_t *columns, size_t p, const struct rows *rows,
			      size_t functions);
#define DETECTION_CHANCE .01 /* probability that two means of the same runs differ more than is attributed to chance */
/* Judges a function's calls and total work over the set of runs instead of samples, none of which need be unusual. Marks it as anomalous in
 * all its runs if calls, or work per call, differ by DETECTION_CHANCE over all n functions. For a function whose samples differ by a
 * negligible amount, any column suffices. seen: its runs; normal, now [p + 1]. */
void detection_judge_totals(const struct observations *seen, const struct run_mean *normal, const struct run_mean *now,
			    const size_t *columns, size_t p, size_t n, struct detection_function *out);
struct detection_mean detection_mean_of(const struct run_mean *normal, const struct run_mean *now);

/* ---- the detector ---- */

struct detector {
	struct detector_options options;
	struct names names;
	double *stretch;	/* [columns]; NULL: the scaling is not stretched */
	bool *known;		/* [functions] */
	struct run_mean *means; /* [functions x (columns + 1)] over the normal runs, in the column's unit */
	struct models models;	/* one without each fold; only one if the rule holds no runs out */
	size_t folds;
	double *threshold; /* [functions] threshold of a sample's error */
	struct detector_about about;

	/* Set by the rule. */
	struct calibration *calibration;
	double *share; /* [functions] largest share of anomalous samples in a normal run; 0 if the rule does not use it */
};

/* Returns the error below which a difference is negligible. */
double detector_negligible(const struct detector_options *options);

/* Training data of a rule: errors of the normal samples. */
struct detector_training {
	const struct rows *rows;
	const double
	    *error; /* [rows] by a model that has not seen the run if the rule holds runs out; NaN: it does not know the function */
};

/* Verdict on a function in a run. */
struct run_score {
	double score, limit;
	bool anomalous, small; /* above the limit; by a negligible amount */
};

/* Turns errors of samples into anomalous runs. */
struct detector_rule {
	bool holds_out; /* errors of normal runs come from models that have not seen these */
	/* Sets d->threshold, d->known, d->about.rate_measured and the rule's own data. All arrays exist, zeroed. */
	void (*learn)(struct detector *d, const struct detector_training *training);
	/* Fills scores [groups of rows] for the groups of this run. *p [1]: as detection.run_p; leaving it means NaN. Thread-safe. */
	void (*judge)(const struct detector *d, const struct rows *rows, const double *error, size_t run, struct run_score *scores,
		      double *p);
	/* Returns the probability that at least `anomalous` (> 0) of n normal runs are called anomalous. */
	double (*chance)(const struct detector *d, size_t n, size_t anomalous);
	void (*free)(struct detector *d); /* may be NULL */
};

/* ---- results ---- */

struct detection detection_new(const struct observations *seen); /* room for all, zeroed */
/* Sorts by votes, then by part, then by position. */
void detection_columns_sort(struct detection_column *columns, size_t n);

/* k-means: Lloyd's algorithm from k-means++ (Arthur and Vassilvitskii, SODA 2007; each next center is the best of a few draws), best of
 * several starts. O(starts * iterations * n * k * p). Deterministic for a seed, same bits with any number of threads. */

struct kmeans {
	struct mat centers; /* [k x p] */
	size_t n;	    /* rows */
	size_t *cluster;    /* [n] */
	double within;	    /* sum of squared distances to the centers */
	size_t iterations;
};

/* Clusters rows [n x p], finite; 1 <= k <= n. With fewer distinct rows than k, some clusters are empty, and their centers equal others.
 * Overwrites *out; kmeans_release() it. */
void kmeans_fit(const struct mat *rows, size_t k, size_t starts, uint64_t seed, size_t threads, struct kmeans *out);
void kmeans_release(struct kmeans *kmeans); /* accepts zeroed */

#endif
