/* The additive model of run time: T_m = sum over k of w_k / rate_mk with w_k >= 0. For each resource, machine m takes the application's
 * work on it divided by the machine's rate. A constant adds the time that no stressor explains.
 *
 * There are more stressors than hardware types, and stressors are correlated, so that no single fit is reliable. Therefore many models are
 * fitted and averaged: all models of one and two columns, and those of three and four columns that a beam search finds. Each fit minimises
 * the squared relative error by least squares; hardware types weigh equally. The weight of a model is its mean |log error| on held-out
 * types, to the power -sharpness * types. This is Bayesian model averaging with the leave-one-out predictive error as likelihood (Hoeting,
 * Madigan, Raftery, Volinsky, Statistical Science 14(4), 1999; Geisser and Eddy, JASA 74, 1979). Deterministic. */
#ifndef MODEL_PROFILE_ADDITIVE_H
#define MODEL_PROFILE_ADDITIVE_H

#include "base/mat.h"
#include "model/profile/features.h"

#define ADDITIVE_SIZE_MAX 4 /* maximum number of columns of a model */

/* Sums over the rows of each hardware type, which are all data that models need. Column features->n is the constant; its group is
 * features->groups. The sums do not change, so threads may share them. */
struct additive_sums {
	size_t types, cols, groups; /* numbers of types, columns and groups; `cols` and `groups` include the constant */
	struct mat *G;		    /* [types] of [cols x cols]: mean of r r' over the rows of the type; r_k = y_scale / (rate_k y) */
	struct mat h;		    /* [types x cols] mean of r over the rows of the type */
	size_t *group;		    /* [cols] group of each column */
	double y_scale;		    /* geometric mean over types of the cost */
	struct mat views;	    /* set by additive_sums_add_view(); without rows before */
};

/* Computes the sums. cost [rows] > 0, where less is better; `type` as for features_select(). */
void additive_sums_compute(const struct features *features, const double *cost, const size_t *type, struct additive_sums *out);

/* Adds a second source for the same weights: the classes of the application's time. differs [cols - 1 x classes] is the part of a column's
 * time in a class, minus this part of the application's time; 0 if unknown. With column shares s on a type, the sum of s_k differs_k over
 * columns is unexplained in a class. Its square is added to the squared relative error of the cost, in fits and on held-out types. The
 * constant's time has the application's own classes. */
void additive_sums_add_view(struct additive_sums *sums, const struct mat *differs);
void additive_sums_release(struct additive_sums *sums); /* accepts a zeroed struct */

struct additive_options {
	size_t size;	  /* maximum number of columns of a model, 1 to ADDITIVE_SIZE_MAX */
	double sharpness; /* exponent of the weights per type, > 0 */
};

struct additive_model {
	size_t size;
	size_t col[ADDITIVE_SIZE_MAX]; /* [size] columns, ascending */
	double w[ADDITIVE_SIZE_MAX];   /* [size] coefficients > 0, in units of y_scale */
	double held_out_error;	       /* mean |log error| on held-out types */
	double weight;		       /* set by additive_weigh(); the weights of all models add up to 1 */
};

struct additive {
	size_t cols;
	struct additive_model *models; /* [n] fitted models */
	size_t n, capacity;
	size_t types; /* number of types that count in the fit */
};

/* Fits all models of up to `size` columns and computes their errors. additive_weigh() then sets the weights.
 * count  [types] multiplicity of each type: 0 excludes the type, a resample repeats it; at least 2 types are above 0. */
void additive_fit(const struct additive_sums *sums, const double *count, size_t size, struct additive *out);
void additive_release(struct additive *fit); /* accepts a zeroed struct */

/* Sets the weight of each model to its mean over n options, weighted by part [n], whose sum is 1. Overwrites earlier weights. The size of
 * an option is at most that of the fit. Models below 1e-5 of the largest weight get weight 0. */
void additive_weigh(struct additive *fit, const struct additive_options *options, const double *part, size_t n);

/* Returns the predicted log cost, in units of sums->y_scale, on a machine: the weighted mean over the models. logs [cols - 1] has the
 * machine's log rates in the form of features->logs. */
double additive_predict(const struct additive *fit, const double *logs);

/* Divides the predicted time into shares [cols] of the columns, which add up to 1. The last share is that of the constant. */
void additive_shares(const struct additive *fit, const double *logs, double *share);

#endif
