/* Parts of a detector: rows in canonical order, models, a rule. New ways to scale, to cluster or to judge need this header. */
#ifndef MODEL_ANOMALY_DETECTOR_PARTS_H
#define MODEL_ANOMALY_DETECTOR_PARTS_H

#include "model/anomaly/detector.h"
#include "base/mat.h"
#include <stdint.h>

#define DETECTOR_FARTHEST 1e100 /* maximum magnitude of values, so that the squares of values stay finite */
#define SCALE_UNIT_LEAST  1e-30 /* minimum unit of a scale, so that squares of far outliers stay finite */

/* ---- names: columns and functions in canonical order ---- */

struct names {
	char **columns, **functions; /* [p], [n] sorted, without duplicates */
	size_t p, n;
};

/* Sorts the names. columns [p], functions [n]: positions of `out` in the observations, and the reverse. ASSAY_E_USAGE: a repeated name. */
enum assay_status names_of(const struct observations *observations, struct names *out, size_t *columns, size_t *functions,
			   struct assay_error *err);
/* Does the same for other observations with the same columns, else ASSAY_E_USAGE. A function that `names` lacks gets SIZE_MAX. */
enum assay_status names_match(const struct names *names, const struct observations *seen, size_t *columns, size_t *functions,
			      struct assay_error *err);
void names_release(struct names *names); /* accepts a zeroed struct */

/* ---- observations in an order that does not depend on the input: by function, run, values ---- */

/* Samples of one function in one run: n rows from row `first` on. */
struct row_group {
	size_t function, run, first, n;
};

struct rows {
	struct mat z;		  /* [n x columns] values, stretched or unchanged; columns in the order of `names` */
	double *weight;		  /* [n] number of calls per row */
	size_t *origin;		  /* [n] index of the row in the observations */
	struct row_group *groups; /* [n_groups] sorted by function, then run */
	size_t n_groups;
	size_t left_out; /* number of rows excluded because of NaN or infinity */
};

/* Sorts rows. `columns` and `functions` are from names_of(); rows of functions at SIZE_MAX are skipped. used [p]: false sets the column to
 * 0. stretch [p]: values become asinh(value / stretch); NULL: values stay unchanged. */
void rows_of(const struct observations *observations, const size_t *columns, size_t p, const bool *used, const size_t *functions,
	     const double *stretch, struct rows *out);
void rows_release(struct rows *rows); /* accepts a zeroed struct */
/* Returns the number of groups of one function, counted from group `first`. */
size_t rows_groups(const struct rows *rows, size_t first);

/* ---- scales ---- */

/* Statistics of each function and column over the normal samples. The arrays are [functions x columns], except `known`. */
struct scale {
	bool *known;	    /* [functions] whether the function has samples */
	double *center;	    /* medians */
	double *unit;	    /* divisors of the values, > 0 */
	double *low, *high; /* smallest and largest value of each column, in units from the center */
	size_t functions, columns;
};

struct scale scale_new(size_t functions, size_t columns); /* unit 1, all else 0 */

/* A way to scale columns, so that one unit has the same meaning in all columns. */
struct detector_scaling {
	bool stretched; /* values are scaled by asinh; an error below the square of one unit is then negligible */
	/* Fills the new *scale from the runs for which use[run] is true. */
	void (*learn)(const struct rows *rows, const bool *use, double tolerance, struct scale *scale);
};

/* ---- models: a scale per function and column, a scorer per cluster of functions ---- */

/* The scorer of one cluster of functions. */
struct expert {
	struct scorer *scorer; /* NULL if nothing varies, or if there are too few rows */
	size_t *columns;       /* [n_columns] columns that the scorer gets */
	size_t n_columns;
};

struct model {
	struct scale scale;
	struct expert *experts; /* [clusters] scorer of each cluster */
};

struct models {
	struct model *items; /* [n] models */
	size_t n, clusters;
	size_t *cluster; /* [functions] index of each function's cluster */
	size_t functions;
	const struct detector_options *options;
};

/* Fits models->n models: model i to the runs for which use[i][run] is true. The caller sets the other members of *models first. */
void models_fit(const struct rows *rows, const bool *const *use, struct models *models);
void models_release(struct models *models); /* accepts a zeroed struct; keeps the clusters */

/* Judges rows `first` to `first` + parts->rows, which belong to one function. parts [n x columns]: each column's part of the row's error,
 * from the scorer, or the squared distance outside the normal range if larger. toward [n x columns]: signed roots of the parts, positive
 * above the expected value. error [n]: sums of the parts. */
void models_judge(const struct models *models, size_t model, size_t function, const struct rows *rows, size_t first, struct mat *parts,
		  struct mat *toward, double *error);

/* Computes error [rows] by model of_run[run] of each row's run (NULL: model 0); NaN if that model does not know the function. */
void models_errors(const struct models *models, const struct rows *rows, const size_t *of_run, double *error);

/* ---- clusters of functions ---- */

/* Rows from which clusters are chosen, a few per function. */
struct clustering {
	struct rows rows;
	size_t functions, runs;
	const struct detector_options *options;
};

/* Finds k clusters of functions by k-means over samples; a function joins the cluster with most of its samples (AutoPerf). k = 1 gives one
 * cluster, k = SIZE_MAX one per function. Fills of [functions] and returns the number of clusters. */
size_t clusters_by_kmeans(const struct clustering *c, size_t k, size_t *of);
/* Chooses clusters by the options. Fills of [functions] and returns the number of clusters. */
size_t clusters_choose(const struct rows *rows, size_t functions, size_t runs, const struct detector_options *options, size_t *of);

/* ---- means ---- */

/* Number of runs that have a function, mean over these runs, and sum of squared distances from the mean. */
struct run_mean {
	double n, mean, squares;
};

/* Returns means over the runs, [functions x (p + 1)]: of each column, then of the calls. free() them. columns [p]: as for rows_of(). */
struct run_mean *run_means_of(const struct observations *observations, const size_t *columns, size_t p, const struct rows *rows,
			      size_t functions);
#define DETECTION_CHANCE .01 /* maximum probability that means of equal runs differ by more than is attributed to chance */
/* Judges a function by its calls and total work over all runs; no single sample need be unusual. Marks the function as anomalous in all its
 * runs if its calls, or work per call, differ by DETECTION_CHANCE, corrected for all n functions. If its samples differ by a negligible
 * amount, any column suffices. seen: the judged runs; normal, now [p + 1]. */
void detection_judge_totals(const struct observations *seen, const struct run_mean *normal, const struct run_mean *now,
			    const size_t *columns, size_t p, size_t n, struct detection_function *out);
struct detection_mean detection_mean_of(const struct run_mean *normal, const struct run_mean *now);

/* ---- the detector ---- */

struct detector {
	struct detector_options options;
	struct names names;
	double *stretch;	/* [columns]; NULL if the scaling does not stretch */
	bool *known;		/* [functions] whether the detector has learned the function */
	struct run_mean *means; /* [functions x (columns + 1)] over the normal runs, in the column's unit */
	struct models models;	/* one model per fold, fitted to the other folds; a single model if the rule holds no runs out */
	size_t folds;
	double *threshold; /* [functions] threshold of the error of a sample */
	struct detector_about about;

	/* The rule sets these. */
	struct calibration *calibration;
	double *share; /* [functions] largest share of anomalous samples in a normal run; 0 if the rule does not use this share */
};

/* Returns the error below which a difference is negligible. */
double detector_negligible(const struct detector_options *options);

/* Training data for a rule: errors of the normal samples. */
struct detector_training {
	const struct rows *rows;
	const double *error; /* [rows] by a model that has not seen the run, if the rule holds runs out; NaN: unknown function */
};

/* Verdict on one function in one run. */
struct run_score {
	double score, limit;
	bool anomalous, small; /* score above the limit; anomalous by a negligible amount */
};

/* Decides from the errors of samples which runs are anomalous. */
struct detector_rule {
	bool holds_out; /* errors of normal runs come from models that have not seen these runs */
	/* Sets d->threshold, d->known, d->about.rate_measured and the rule's own data. All arrays exist and are zeroed. */
	void (*learn)(struct detector *d, const struct detector_training *training);
	/* Fills scores [groups of rows] for the groups of `run`. *p is as detection.run_p; if judge() leaves it, it is NaN. Thread-safe. */
	void (*judge)(const struct detector *d, const struct rows *rows, const double *error, size_t run, struct run_score *scores,
		      double *p);
	/* Returns the probability that at least `anomalous` (> 0) of n normal runs are called anomalous. */
	double (*chance)(const struct detector *d, size_t n, size_t anomalous);
	void (*free)(struct detector *d); /* NULL if the rule has no data */
};

/* ---- results ---- */

struct detection detection_new(const struct observations *seen); /* all arrays allocated and zeroed */
/* Sorts columns by votes, then parts (both descending), then column number. */
void detection_columns_sort(struct detection_column *columns, size_t n);

/* k-means: Lloyd's algorithm from k-means++ (Arthur and Vassilvitskii, SODA 2007; each next center is the best of a few draws). Keeps the
 * best of several starts. O(starts * iterations * n * k * p). The same seed gives the same bits with any number of threads. */

struct kmeans {
	struct mat centers; /* [k x p] mean of each cluster */
	size_t n;	    /* number of rows */
	size_t *cluster;    /* [n] index of each row's center */
	double within;	    /* sum of squared distances of the rows from the centers of their clusters */
	size_t iterations;
};

/* Clusters rows [n x p], finite; 1 <= k <= n. With fewer than k distinct rows, some clusters are empty, and their centers equal others.
 * Overwrites *out; free it with kmeans_release(). */
void kmeans_fit(const struct mat *rows, size_t k, size_t starts, uint64_t seed, size_t threads, struct kmeans *out);
void kmeans_release(struct kmeans *kmeans); /* accepts a zeroed struct */

#endif
