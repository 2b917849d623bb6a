/* What a detector is made of: rows in canonical order, models of them, a rule. For those who add a way to scale, to cluster, or to judge.
 */
#ifndef MODEL_ANOMALY_DETECTOR_PARTS_H
#define MODEL_ANOMALY_DETECTOR_PARTS_H

#include "model/anomaly/detector.h"
#include "base/mat.h"
#include <stdint.h>

#define DETECTOR_FARTHEST 1e100 /* values that are further off count as this: their squares have to be numbers */
#define SCALE_UNIT_LEAST  1e-30 /* so that squares of what lies far outside are numbers */

/* ---- names: columns and functions in canonical order ---- */

struct names {
	char **columns, **functions; /* [p], [n] sorted, each once */
	size_t p, n;
};

/* columns [p], functions [n]: where each of `names` stands in the observations; where each of the observations' functions stands in
 * `names`. ASSAY_E_USAGE: a name occurs twice. */
enum assay_status names_of(const struct observations *observations, struct names *out, size_t *columns, size_t *functions,
			   struct assay_error *err);
/* The same for other observations with the same columns, else ASSAY_E_USAGE; SIZE_MAX: a function that is not among the names. */
enum assay_status names_match(const struct names *names, const struct observations *seen, size_t *columns, size_t *functions,
			      struct assay_error *err);
void names_release(struct names *names); /* accepts zeroed */

/* ---- observations in an order that does not depend on how they came: by function, run, values ---- */

/* Samples of one function in one run: rows first to first + n. */
struct row_group {
	size_t function, run, first, n;
};

struct rows {
	struct mat z;		  /* [n x columns] columns and functions as in `names`; stretched, or as they are */
	double *weight;		  /* [n] */
	size_t *origin;		  /* [n] row of the observations */
	struct row_group *groups; /* [n_groups] by function, then run */
	size_t n_groups;
	size_t left_out; /* with NaN or infinities */
};

/* columns, functions: as names_of has them; rows of functions at SIZE_MAX are skipped. used [p]: a column that is not counted is 0.
 * stretch [p]: values become asinh(value / stretch); NULL: they stay as they are. */
void rows_of(const struct observations *observations, const size_t *columns, size_t p, const bool *used, const size_t *functions,
	     const double *stretch, struct rows *out);
void rows_release(struct rows *rows); /* accepts zeroed */
/* The groups of one function, from `first` on: returns how many. */
size_t rows_groups(const struct rows *rows, size_t first);

/* ---- scales ---- */

/* What is known of each function and column, over the normal samples. All [functions x columns]. */
struct scale {
	bool *known;	    /* [functions] has samples */
	double *center;	    /* median */
	double *unit;	    /* > 0 */
	double *low, *high; /* smallest and largest, in units from the center */
	size_t functions, columns;
};

struct scale scale_new(size_t functions, size_t columns); /* units of 1, all else 0 */

/* A way to scale columns, so that one unit is alike in all. */
struct detector_scaling {
	bool stretched; /* differences count absolutely near zero and relatively elsewhere; then an error below one unit's square is
			     negligible */
	/* *scale is new; of runs in use[run]. */
	void (*learn)(const struct rows *rows, const bool *use, double tolerance, struct scale *scale);
};

/* ---- models: a scale for each function, a scorer for each cluster of them ---- */

/* The scorer of a cluster of functions. */
struct expert {
	struct scorer *scorer; /* NULL: nothing varies, or there are too few rows */
	size_t *columns;       /* [n_columns] that it gets */
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

/* Fits models->n models, model i to the runs in use[i][run]; the rest of *models is set. */
void models_fit(const struct rows *rows, const bool *const *use, struct models *models);
void models_release(struct models *models); /* accepts zeroed; not the clusters */

/* Rows first to first + parts->rows of one function: parts [n x columns] of their errors (what the scorer says, or how far outside the
 * normal range where that is more), toward [n x columns] the signed roots: above what was expected or below; error [n] the sums of the
 * parts. */
void models_judge(const struct models *models, size_t model, size_t function, const struct rows *rows, size_t first, struct mat *parts,
		  struct mat *toward, double *error);

/* error [rows] of each row by the model of its run, of_run[run] (NULL: the first); NaN where that does not know the function. */
void models_errors(const struct models *models, const struct rows *rows, const size_t *of_run, double *error);

/* ---- clusters of functions ---- */

/* The rows by which clusters are chosen, few of each function. */
struct clustering {
	struct rows rows;
	size_t functions, runs;
	const struct detector_options *options;
};

/* of [functions]: k clusters by k-means over samples, a function where most of its samples are (AutoPerf); 1 or SIZE_MAX: one, or one each.
 * Returns how many there are. */
size_t clusters_by_kmeans(const struct clustering *c, size_t k, size_t *of);
/* of [functions]: as the options say. Returns how many. */
size_t clusters_choose(const struct rows *rows, size_t functions, size_t runs, const struct detector_options *options, size_t *of);

/* ---- means ---- */

/* Of the runs that have a function: how many, mean, and squared distances from it. */
struct run_mean {
	double n, mean, squares;
};

/* [functions x (p + 1)], the caller's: of each column over the runs, and of the calls in a run. columns [p]: as rows_of() had them. */
struct run_mean *run_means_of(const struct observations *observations, const size_t *columns, size_t p, const struct rows *rows,
			      size_t functions);
#define DETECTION_CHANCE .01 /* of two means of the same runs being farther apart than is called chance */
/* What a function does in all, in how many calls: by the set of runs, not by samples, of which none need be unusual. Marks it as anomalous
 * in all its runs when calls or work in a call are apart, by DETECTION_CHANCE over all n functions; or any column, of one whose samples are
 * off by something negligible (all as its first one used to be); seen: of its runs; normal, now [p + 1]. */
void detection_judge_totals(const struct observations *seen, const struct run_mean *normal, const struct run_mean *now,
			    const size_t *columns, size_t p, size_t n, struct detection_function *out);
struct detection_mean detection_mean_of(const struct run_mean *normal, const struct run_mean *now);

/* ---- the detector ---- */

struct detector {
	struct detector_options options;
	struct names names;
	double *stretch;	/* [columns]; NULL when scaling is not stretched */
	bool *known;		/* [functions] */
	struct run_mean *means; /* [functions x (columns + 1)] of the normal runs, in the column's unit */
	struct models models;	/* one without each fold; one, when the rule holds no runs out */
	size_t folds;
	double *threshold; /* [functions] of a sample's error */
	struct detector_about about;

	/* The rule's. */
	struct calibration *calibration;
	double *share; /* [functions] largest share of anomalous samples in a normal run; 0 where the rule has no use for it */
};

/* The error below which a difference is negligible. */
double detector_negligible(const struct detector_options *options);

/* What a rule learns from: errors of the normal samples. */
struct detector_training {
	const struct rows *rows;
	const double
	    *error; /* [rows] by a model that has not seen the run if the rule holds runs out; NaN: that does not know the function */
};

/* What is said of a function in a run. */
struct run_score {
	double score, limit;
	bool anomalous, small; /* above the limit; by something negligible */
};

/* From errors of samples to runs that are anomalous. */
struct detector_rule {
	bool holds_out; /* errors of normal runs are by models that have not seen them */
	/* Sets d->threshold, d->known, d->about.rate_measured and what the rule needs itself. All arrays are there, zeroed. */
	void (*learn)(struct detector *d, const struct detector_training *training);
	/* scores [groups of rows]: of those of this run; *p [1]: as detection.run_p, NaN when it is left alone. Safe from several threads.
	 */
	void (*judge)(const struct detector *d, const struct rows *rows, const double *error, size_t run, struct run_score *scores,
		      double *p);
	/* The probability that of n normal runs so many, > 0, are called anomalous. */
	double (*chance)(const struct detector *d, size_t n, size_t anomalous);
	void (*free)(struct detector *d); /* or NULL */
};

/* ---- what is found ---- */

struct detection detection_new(const struct observations *seen); /* with room for all, zeroed */
/* By votes, then by part, then by place. */
void detection_columns_sort(struct detection_column *columns, size_t n);

/* k-means: Lloyd's algorithm from k-means++ (Arthur and Vassilvitskii, SODA 2007; each first center the best of a few draws), best of
 * several starts. O(starts * iterations * n * k * p). Deterministic for a seed, same bits with any number of threads. */

struct kmeans {
	struct mat centers; /* [k x p] */
	size_t n;	    /* rows */
	size_t *cluster;    /* [n] */
	double within;	    /* sum of squared distances to the centers */
	size_t iterations;
};

/* rows [n x p], finite; 1 <= k <= n. Fewer distinct rows than k: some clusters are empty, their centers are those of others.
 * *out is overwritten; kmeans_release() it. */
void kmeans_fit(const struct mat *rows, size_t k, size_t starts, uint64_t seed, size_t threads, struct kmeans *out);
void kmeans_release(struct kmeans *kmeans); /* accepts zeroed */

#endif
