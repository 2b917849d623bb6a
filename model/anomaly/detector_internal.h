/* What the files of the detector share: rows in canonical order, fitted models, the detector itself. */
#ifndef MODEL_ANOMALY_DETECTOR_INTERNAL_H
#define MODEL_ANOMALY_DETECTOR_INTERNAL_H

#include "model/anomaly/calibrate.h"
#include "model/anomaly/detector.h"
#include "model/anomaly/scale.h"

#define DETECTOR_VERSION     2 /* 1 had a model for each pair of folds */
#define DETECTOR_ERRORS_KEPT 2000  /* of a function, for histograms */
#define DETECTOR_TRAIN_MAX   20000 /* rows that one scorer learns from; of more, every so many-th */
#define DETECTOR_CHUNK	     2048  /* rows that are judged at once */
#define DETECTOR_FARTHEST    1e100 /* values that are further off stand there: their squares have to be numbers */

/* ---- observations in canonical order (detector_rows.c) ---- */

struct rows {
	struct mat z;	   /* [n x columns] stretched (DETECTOR_ASINH) or as they are; columns and functions as the detector has them */
	double *weight;	   /* [n] */
	size_t *origin;	   /* [n] row of the observations */
	struct scale_group *groups; /* [n_groups] by function, then run; rows by value within */
	size_t n_groups;
	size_t left_out;   /* with NaN or infinities */
};

/* columns [p]: of each of the detector's, its place in the observations; functions [observations' functions]: its place in the detector, SIZE_MAX: rows are
 * skipped. used [p]: a column that is not counted is 0. stretch [p], NULL: values as they are. */
void rows_of(const struct observations *observations, const size_t *columns, size_t p, const bool *used, const size_t *functions,
	     const double *stretch, struct rows *out);
void rows_release(struct rows *rows); /* accepts zeroed */

/* order[n] of names, by name. Returns the place in `order` of the first that is there twice; n: none is. */
size_t names_order(const char *const *names, size_t n, size_t *order);
size_t names_find(char *const *sorted, size_t n, const char *name); /* n: not there */

/* ---- models (detector_model.c) ---- */

/* The scorer of a cluster of functions. */
struct expert {
	struct scorer *scorer; /* NULL: nothing varies, or there are too few rows */
	size_t *columns;       /* [n_columns] that it gets */
	size_t n_columns;
};

struct model {
	struct scale scale;
	struct expert *experts; /* [clusters] */
	size_t clusters;
};

struct model_options {
	const struct scorer_kind *scorer;
	enum detector_scaling scaling;
	double tolerance;
	bool watch;
	uint64_t seed;
	size_t threads;
};

/* n models, model i of the runs with use[i][run]; cluster [functions] < clusters, the same for all. At most train_max rows a scorer. */
void models_fit(const struct rows *rows, const bool *const *use, size_t n, size_t functions, const size_t *cluster, size_t clusters,
		size_t train_max, const struct model_options *options, struct model *out);
void model_release(struct model *model); /* accepts zeroed */

/* Rows of one function: parts [n x columns] of their errors (what the scorer says, or how far outside the normal range where that is more), toward
 * [n x columns] their signed roots: above what was expected or below. units [n x columns] from scale_row. */
void model_parts(const struct model *model, size_t cluster, size_t function, bool watch, const struct mat *units, struct mat *parts,
		 struct mat *toward);

/* error [rows] of each row by the model of its run, models[of_run[run]] (NULL: models[0]); NaN where it does not know the function. */
void model_errors(const struct rows *rows, const struct model *models, const size_t *of_run, const size_t *cluster, bool watch, size_t threads,
		  double *error);

/* ---- the detector ---- */

struct detector {
	struct detector_options options;
	char **columns;	   /* [about.columns] by name */
	double *stretch;   /* [columns]; NULL with DETECTOR_UNIT */
	char **functions;  /* [about.functions] by name */
	bool *known;	   /* [functions] */
	double *median;	   /* [functions x columns] of the normal samples, in the column's unit */
	double **errors;   /* [functions][n_errors] for histograms */
	size_t *n_errors;
	struct model *models; /* [n_models] one without each fold; one with published thresholds */
	size_t n_models, folds;
	struct calibration calibration; /* DETECTOR_HELD_OUT */
	double *threshold; /* [functions] of a sample */
	double *share;	   /* [functions] largest of a normal run; published thresholds */
	struct detector_about about;
};

struct model_options detector_model_options(const struct detector_options *options);
struct calibrate_options detector_calibrate_options(const struct detector_options *options);
/* The model that judges a new run: folds are dealt on where the normal runs ended, so that new ones are in folds as those are. */
size_t detector_model_of(const struct detector *detector, size_t run);
/* Of the weight, that of the samples whose error is above the threshold. */
double detector_share(const double *error, const double *weight, size_t n, double threshold);

/* What is learned from errors: thresholds, what is known of functions, whether the runs suffice (detector_learn.c). */
struct training {
	const struct observations *normal;
	const size_t *columns; /* [p] of the detector's, the place in the observations */
	const struct rows *rows;
	const double *error;   /* [rows] by a model that has not seen the run; NaN: it does not know the function. Published thresholds: of training */
};
void detector_learn(struct detector *detector, const struct training *training);

#endif
