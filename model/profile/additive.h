/* The additive model of run time: T_m = sum over k of w_k / rate_mk with w_k >= 0, the time that machine m spends on each
 * resource being the work on it divided by how fast the machine does it; plus a constant, the time that no stressor explains.
 *
 * There are more stressors than types of machines, and they move together, so that no single fit can be believed. Therefore all
 * models of one and two columns, and of three and four what a beam search finds, are fitted by least squares on relative error
 * (types weigh equally) and averaged. The weight of a model is its mean |log error| on types that were excluded, to the power
 * -sharpness * types: Bayesian model averaging with the leave-one-out predictive error for the likelihood (Hoeting, Madigan,
 * Raftery, Volinsky, Statistical Science 14(4), 1999; Geisser and Eddy, JASA 74, 1979). Deterministic. */
#ifndef MODEL_PROFILE_ADDITIVE_H
#define MODEL_PROFILE_ADDITIVE_H

#include "base/mat.h"
#include "model/profile/features.h"

#define ADDITIVE_SIZE_MAX 4 /* columns of one model */

/* Sums over the rows of each type, from which everything else is computed. Column features->n is the constant, its group is
 * features->groups. Immutable: may be shared by threads. */
struct additive_sums {
	size_t types, cols, groups; /* cols and groups with the constant's */
	struct mat *G;		    /* [types] of [cols x cols]: mean over the type's rows of r r', r_k = y_scale / (rate_k y) */
	struct mat h;		    /* [types x cols] mean of r */
	size_t *group;		    /* [cols] */
	double y_scale;		    /* geometric mean of the cost over types */
	struct mat views;	    /* of additive_sums_see(); no rows without */
};

/* cost [rows] > 0, lower is better; type as given to features_of. */
void additive_sums_of(const struct features *features, const double *cost, const size_t *type, struct additive_sums *out);

/* A second view of the same weights: where the time went. differs [cols - 1 x classes]: the part of a column's time that is of a class,
 * less that of the application's own time; 0 where that is not known. Of a type's time, the columns' shares s leave sum of s_k differs_k
 * unexplained in each class: its square is added to that of the relative error of the cost, and to the error on types excluded. The
 * constant's time is of the application's own classes. */
void additive_sums_see(struct additive_sums *sums, const struct mat *differs);
void additive_sums_release(struct additive_sums *sums); /* accepts zeroed */

struct additive_options {
	size_t size;	  /* columns of the largest models, 1 to ADDITIVE_SIZE_MAX */
	double sharpness; /* > 0 */
};

struct additive_model {
	size_t size;
	size_t col[ADDITIVE_SIZE_MAX]; /* ascending */
	double w[ADDITIVE_SIZE_MAX];   /* > 0, in units of y_scale */
	double left_out;	       /* mean |log error| on types excluded */
	double weight;		       /* of additive_weigh(); they sum to one */
};

struct additive {
	size_t cols;
	struct additive_model *models; /* [n] */
	size_t n, capacity;
	size_t types; /* distinct ones with weight */
};

/* All models of up to `size` columns with their errors, at least one; not weighed yet.
 * count  [types] how often each type counts: 0 = excluded, a resample has its multiplicities; at least 2 of them above 0. */
void additive_fit(const struct additive_sums *sums, const double *count, size_t size, struct additive *out);
void additive_release(struct additive *fit); /* accepts zeroed */

/* Gives every model its weight: the mean over n options, `part` of each [n] that sum to one. May be called again. Sizes are at
 * most that of the fit. Models whose weight is below 1e-5 of the largest get none. */
void additive_weigh(struct additive *fit, const struct additive_options *options, const double *part, size_t n);

/* The logarithm of the cost, in units of sums->y_scale, on a machine with these logs [cols - 1], in the form of features->logs:
 * the weighted mean of the models'. */
double additive_predict(const struct additive *fit, const double *logs);

/* How the predicted time divides: share [cols], the last one the constant's; they sum to one. */
void additive_shares(const struct additive *fit, const double *logs, double *share);

#endif
