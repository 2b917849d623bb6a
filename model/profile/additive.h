/* The additive model of run time: T_m = sum over k of w_k / rate_mk with w_k >= 0. Machine m spends on each resource the application's work
 * on it divided by the machine's rate. A constant is added: the time that no stressor explains.
 *
 * There are more stressors than hardware types, and they are correlated, so that no single fit is reliable. Therefore many models are
 * fitted by least squares on relative error (types weigh equally) and averaged: all models of one and two columns, and those of three and
 * four that a beam search finds. The weight of a model is its mean |log error| on held-out types, to the power -sharpness * types. The
 * method is Bayesian model averaging with the leave-one-out predictive error as likelihood (Hoeting, Madigan, Raftery, Volinsky,
 * Statistical Science 14(4), 1999; Geisser and Eddy, JASA 74, 1979). Deterministic. */
#ifndef MODEL_PROFILE_ADDITIVE_H
#define MODEL_PROFILE_ADDITIVE_H

#include "base/mat.h"
#include "model/profile/features.h"

#define ADDITIVE_SIZE_MAX 4 /* maximum number of columns of a model */

/* Sums over the rows of each hardware type; models need no other data. Column features->n is the constant; its group is features->groups.
 * Immutable: threads may share it. */
struct additive_sums {
	size_t types, cols, groups; /* `cols` and `groups` include the constant */
	struct mat *G;		    /* [types] of [cols x cols]: mean of r r' over the type's rows, where r_k = y_scale / (rate_k y) */
	struct mat h;		    /* [types x cols] mean of r over the type's rows */
	size_t *group;		    /* [cols] group of each column */
	double y_scale;		    /* geometric mean of the cost over types */
	struct mat views;	    /* set by additive_sums_add(); else without rows */
};

/* Computes the sums. cost [rows] > 0, lower is better; `type` as for features_of(). */
void additive_sums_of(const struct features *features, const double *cost, const size_t *type, struct additive_sums *out);

/* Adds a second view of the same weights: the class of the time. differs [cols - 1 x classes]: the part of a column's time in a class, less
 * that part of the application's own time; 0 if unknown. On a type, column shares s leave sum of s_k differs_k unexplained per class. The
 * square of this is added to that of the relative error of the cost, in the fit and on held-out types. The constant's time has the
 * application's own classes. */
void additive_sums_add(struct additive_sums *sums, const struct mat *differs);
void additive_sums_release(struct additive_sums *sums); /* accepts a zeroed struct */

struct additive_options {
	size_t size;	  /* maximum number of columns of a model, 1 to ADDITIVE_SIZE_MAX */
	double sharpness; /* exponent of the weights, per type; > 0 */
};

struct additive_model {
	size_t size;
	size_t col[ADDITIVE_SIZE_MAX]; /* [size] columns, ascending */
	double w[ADDITIVE_SIZE_MAX];   /* [size] coefficients > 0, in units of y_scale */
	double left_out;	       /* mean |log error| on held-out types */
	double weight;		       /* weight of the model, set by additive_weigh(); the sum over all models is one */
};

struct additive {
	size_t cols;
	struct additive_model *models; /* [n] fitted models */
	size_t n, capacity;
	size_t types; /* number of distinct types with weight */
};

/* Fits all models of up to `size` columns and computes their errors; additive_weigh() sets weights.
 * count  [types] multiplicity of each type: 0 excludes it, a resample repeats it; at least 2 are above 0. */
void additive_fit(const struct additive_sums *sums, const double *count, size_t size, struct additive *out);
void additive_release(struct additive *fit); /* accepts a zeroed struct */

/* Sets the weight of every model: the mean over n options, weighted by part [n], whose sum is one. May be called again. Option sizes are at
 * most that of the fit. Models below 1e-5 of the largest weight get weight 0. */
void additive_weigh(struct additive *fit, const struct additive_options *options, const double *part, size_t n);

/* Returns the predicted log cost, in units of sums->y_scale, on a machine with logs [cols - 1] in the form of features->logs: the weighted
 * mean over the models. */
double additive_predict(const struct additive *fit, const double *logs);

/* Splits the predicted time into shares [cols] that add up to 1. The last share belongs to the constant term. */
void additive_shares(const struct additive *fit, const double *logs, double *share);

#endif
