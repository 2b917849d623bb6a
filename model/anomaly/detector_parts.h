/* Parts of a detector: rows in canonical order, models and a rule. For files that add ways to scale, to cluster or to judge. */
#ifndef MODEL_ANOMALY_DETECTOR_PARTS_H
#define MODEL_ANOMALY_DETECTOR_PARTS_H

#include "model/anomaly/detector.h"
#include "base/mat.h"
#include <stdint.h>

#define DETECTOR_VALUE_MAX 1e100 /* limit of the magnitude of values, so that their squares stay finite */
#define SCALE_UNIT_MIN	   1e-30 /* minimum unit of a scale, so that the squares of far outliers stay finite */

/* ---- names: columns and functions in alphabetical order ---- */

struct names {
	char **columns, **functions; /* [p] names of columns, and [n] names of functions, sorted, without duplicates */
	size_t p, n;
};

/* Sorts the names. columns [p] gets the observations' index of each sorted column; functions [n] gets the sorted place of each function of
 * the observations. ASSAY_E_USAGE: a name occurs twice. */
enum assay_status names_sort(const struct observations *observations, struct names *out, size_t *columns, size_t *functions,
			     struct assay_error *err);
/* Does the same for other observations with the same columns. ASSAY_E_USAGE: other columns. A function that `names` lacks gets SIZE_MAX. */
enum assay_status names_match(const struct names *names, const struct observations *seen, size_t *columns, size_t *functions,
			      struct assay_error *err);
void names_release(struct names *names); /* accepts a zeroed struct */

/* ---- rows: observations sorted by function, run and values, so that their order in the input does not matter ---- */

/* Samples of one function in one run: rows first to first + n - 1. */
struct row_group {
	size_t function, run, first, n;
};

struct rows {
	struct mat z;		  /* [n x columns] values, possibly stretched; columns in the order of `names` */
	double *weight;		  /* [n] number of calls that each row represents */
	size_t *origin;		  /* [n] index of each row in the observations */
	struct row_group *groups; /* [n_groups] sorted by function, then run */
	size_t n_groups;
	size_t n_excluded; /* number of rows excluded because a value is NaN or infinite */
};

/* Sorts the rows. `columns` and `functions` are from names_sort(). Skips rows of functions at SIZE_MAX. used [p]: if false, the column is
 * set to 0. stretch [p]: values become asinh(value / stretch); if NULL, values stay unchanged. */
void rows_sort(const struct observations *observations, const size_t *columns, size_t p, const bool *used, const size_t *functions,
	       const double *stretch, struct rows *out);
void rows_release(struct rows *rows); /* accepts a zeroed struct */
/* Returns the number of consecutive groups of one function, counted from group `first`. */
size_t rows_count_groups(const struct rows *rows, size_t first);

/* ---- scales ---- */

/* Statistics of each function and column over the normal samples. The arrays are [functions x columns], except `known`. */
struct scale {
	bool *known;	    /* [functions] true if the function has samples */
	double *center;	    /* medians */
	double *unit;	    /* divisors of the values, > 0 */
	double *low, *high; /* smallest and largest value of each column, in units relative to the center */
	size_t functions, columns;
};

struct scale scale_new(size_t functions, size_t columns); /* returns a scale with unit 1 and all else 0 */

/* A way to scale columns, so that one unit means the same in all columns. */
struct detector_scaling {
	bool stretched; /* values are scaled by asinh, so an error below the square of one unit is negligible */
	/* Fills the new *scale from the runs whose use[run] is true. */
	void (*learn)(const struct rows *rows, const bool *use, double tolerance, struct scale *scale);
};

/* ---- models: a scale for each function and column, a scorer for each cluster of functions ---- */

/* The scorer of one cluster of functions. */
struct cluster_scorer {
	struct scorer *scorer; /* NULL if no column varies, or if there are too few rows */
	size_t *columns;       /* [n_columns] indices of the columns that the scorer gets */
	size_t n_columns;
};

struct model {
	struct scale scale;
	struct cluster_scorer *experts; /* [clusters] one expert per cluster */
};

struct models {
	struct model *items; /* [n] fitted models */
	size_t n, clusters;
	size_t *cluster; /* [functions] index of each function's cluster */
	size_t functions;
	const struct detector_options *options;
};

/* Fits models->n models; model i learns from the runs whose use[i][run] is true. The caller sets the other members of *models first. */
void models_fit(const struct rows *rows, const bool *const *use, struct models *models);
void models_release(struct models *models); /* accepts a zeroed struct; keeps `cluster`, which the caller owns */

/* Judges parts->rows rows of one function, from row `first` on. parts [n x columns]: each column's part of the row's error, from the
 * scorer, or the squared distance outside the normal range if that is larger. toward [n x columns]: square roots of the parts, positive if
 * the value is above the expected value. error [n]: sum of the parts of each row. */
void models_judge(const struct models *models, size_t model, size_t function, const struct rows *rows, size_t first, struct mat *parts,
		  struct mat *toward, double *error);

/* Computes error [rows]; model of_run[run] judges the rows of a run (model 0 if of_run is NULL). NaN if it does not know the function. */
void models_compute_errors(const struct models *models, const struct rows *rows, const size_t *of_run, double *error);

/* ---- clusters of functions ---- */

/* Rows from which clusters are chosen; a few per function. */
struct clustering {
	struct rows rows;
	size_t functions, runs;
	const struct detector_options *options;
};

/* Clusters functions by k-means over their samples; a function joins the cluster with most of its samples (AutoPerf). k = 1 gives one
 * cluster, k = SIZE_MAX one per function. Fills of [functions] and returns the number of clusters. */
size_t clusters_by_kmeans(const struct clustering *c, size_t k, size_t *of);
/* Clusters functions as the options require. Fills of [functions] and returns the number of clusters. */
size_t clusters_choose(const struct rows *rows, size_t functions, size_t runs, const struct detector_options *options, size_t *of);

/* ---- means ---- */

/* Number of runs that have a function, mean over these runs, and sum of squared distances from the mean. */
struct run_mean {
	double n, mean, squares;
};

/* Returns means over runs, [functions x (p + 1)]: of each column, then of the calls. free() them. columns [p]: as for rows_sort(). */
struct run_mean *run_means_compute(const struct observations *observations, const size_t *columns, size_t p, const struct rows *rows,
				   size_t functions);
#define DETECTION_CHANCE .01 /* maximum probability, if runs are equal, that their means are called different */
/* Judges a function by its number of calls and its total work over all runs; no single sample need be unusual. Marks the function as
 * anomalous in all its runs if its calls, or its work per call, differ by more than chance (DETECTION_CHANCE, corrected for n functions).
 * If its samples differ by a negligible amount, any column suffices. seen: the judged runs; normal, now: [p + 1]. */
void detection_judge_totals(const struct observations *seen, const struct run_mean *normal, const struct run_mean *now,
			    const size_t *columns, size_t p, size_t n, struct detection_function *out);
struct detection_mean detection_compare_means(const struct run_mean *normal, const struct run_mean *now);

/* ---- the detector ---- */

struct detector {
	struct detector_options options;
	struct names names;
	double *stretch;	/* [columns] stretch of each column; NULL if the scaling does not stretch */
	bool *known;		/* [functions] true if the detector has learned the function */
	struct run_mean *means; /* [functions x (columns + 1)] means over the normal runs, in the columns' units */
	struct models models;	/* one model per fold, fitted to the other folds; one model for all runs if the rule holds none out */
	size_t folds;
	double *threshold; /* [functions] error above which a sample is anomalous */
	struct detector_info about;

	/* Data of the rule. */
	struct calibration *calibration;
	double *share; /* [functions] largest share of anomalous samples in a normal run; 0 if the rule does not use it */
};

/* Returns the error below which a difference is negligible; 0 if none is. */
double detector_negligible_error(const struct detector_options *options);

/* Data from which a rule learns: errors of the normal samples. */
struct detector_training {
	const struct rows *rows;
	const double *error; /* [rows] by a model that did not learn the run, if the rule holds runs out; NaN: unknown function */
};

/* Verdict on one function in one run. */
struct run_score {
	double score, limit;
	bool anomalous, is_negligible; /* the score is above the limit; anomalous, but by a negligible amount */
};

/* A rule decides from the errors of samples which runs are anomalous. */
struct detector_rule {
	bool holds_out; /* errors of normal runs come from models that did not learn these runs */
	/* Sets d->threshold, d->known, d->about.rate_measured and the rule's own data. All arrays are allocated and zeroed. */
	void (*learn)(struct detector *d, const struct detector_training *training);
	/* Fills scores [groups of rows] for the groups of `run`. *p is NaN on entry; may set it as in detection.run_p. Thread-safe. */
	void (*judge)(const struct detector *d, const struct rows *rows, const double *error, size_t run, struct run_score *scores,
		      double *p);
	/* Returns the probability that at least `anomalous` (> 0) of n normal runs are called anomalous. */
	double (*chance)(const struct detector *d, size_t n, size_t anomalous);
	void (*free)(struct detector *d); /* NULL if the rule has no data */
};

/* ---- results ---- */

struct detection detection_new(const struct observations *seen); /* allocates and zeroes all arrays */
/* Sorts columns by votes, then by parts, both descending, then by column index. */
void detection_columns_sort(struct detection_column *columns, size_t n);

/* k-means: Lloyd's algorithm after k-means++ (Arthur and Vassilvitskii, SODA 2007; each next center is the best of a few draws). Returns
 * the best of several starts. O(starts * iterations * n * k * p). The same seed gives the same bits with any number of threads. */

struct kmeans {
	struct mat centers; /* [k x p] means of the clusters */
	size_t n;	    /* number of rows */
	size_t *cluster;    /* [n] cluster of each row */
	double within;	    /* sum of squared distances between rows and the centers of their clusters */
	size_t iterations;
};

/* Clusters rows [n x p], finite; 1 <= k <= n. With fewer than k distinct rows, some clusters are empty, and their centers equal others.
 * Overwrites *out; the caller frees it with kmeans_release(). */
void kmeans_fit(const struct mat *rows, size_t k, size_t starts, uint64_t seed, size_t threads, struct kmeans *out);
void kmeans_release(struct kmeans *kmeans); /* accepts a zeroed struct */

#endif
