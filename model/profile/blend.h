/* A blend of additive models and boosted stumps, and its errors on unseen hardware types. The candidates are a fixed grid: additive models
 * of two sizes and two sharpnesses, alone or blended in quarters with boosted stumps (on logs), and stumps alone. A candidate's weight is
 * its relative error on held-out types, to the power -types. Validation is nested: it holds out a type before it chooses weights. */
#ifndef MODEL_PROFILE_BLEND_H
#define MODEL_PROFILE_BLEND_H

#include "model/profile/additive.h"
#include "model/profile/features.h"

#define BLEND_SIZES	 2
#define BLEND_SHARPNESS	 2
#define BLEND_ADDITIVE	 (BLEND_SIZES * BLEND_SHARPNESS)
#define BLEND_PARTS	 4 /* number of weights of the stumps in a blend: 0, 1/4, 1/2, 3/4 */
#define BLEND_CANDIDATES (BLEND_ADDITIVE * BLEND_PARTS + 1)

extern const struct additive_options blend_grid[BLEND_ADDITIVE];

/* Boosted stumps (trees of depth 1) on the logs of type means, with squared error and shared ties. With about ten types and twenty or more
 * features, many features split the types equally well, and the data cannot distinguish them. So a stage is the mean of all tied stumps; if
 * they disagree about a new machine, its prediction lies between. Credit for a split is shared among the tied groups, and within a group
 * among its features. Source: Friedman, Annals of Statistics 29(5), 2001, algorithm 3. Deterministic. O(stages * types * features). */
struct stumps {
	size_t cols;
	double start; /* mean log cost, to which the steps add */
	double *step; /* [cols x cuts_max] height of each step of a feature's step function */
	double *cut;  /* [cols x cuts_max] log above which the step applies */
	size_t *cuts; /* [cols] number of cuts */
	size_t cuts_max;
	double *importance; /* [cols] credit of the columns, shared among tied columns; the sum is one, or 0 without splits */
	double tied;	    /* mean number of tied features, weighted by gain; 0 without splits */
};

/* Data that blend functions read. Immutable: threads may share it. */
struct blend_data {
	struct features features;
	struct additive_sums sums;
	size_t rows, types;
	double *log_cost;  /* [rows] log of the cost in units of sums.y_scale */
	double *type_cost; /* [types] mean log cost of the type's rows */
	size_t *type;	   /* [rows] hardware type */
};

/* Prepares data. rates [rows x p] as for features_of(), cost [rows] > 0, lower is better, type [rows] < types; each type has rows. */
void blend_data_of(const struct mat *rates, const double *cost, const size_t *type, size_t types, struct blend_data *out);
void blend_data_release(struct blend_data *data); /* accepts a zeroed struct */

/* Weights of the candidates, whose sum is one, and their marginal sums. */
struct blend_choice {
	double additive[BLEND_ADDITIVE]; /* weights of the additive models; the sum of these weights is one */
	double stumps;			 /* share of the stumps, 0 to 1 */
	double weight[BLEND_CANDIDATES];
};

/* Chooses weights. count [types] as in additive_fit(), at least 3 above 0. Fits both models once per type that counts. */
void blend_choose(const struct blend_data *data, const double *count, struct blend_choice *out);

struct blend {
	struct additive additive; /* weighed by `choice` */
	struct stumps stumps;
	struct blend_choice choice;
};
void blend_fit(const struct blend_data *data, const double *count, const struct blend_choice *choice, struct blend *out);
void blend_release(struct blend *blend);			     /* accepts a zeroed struct */
double blend_predict(const struct blend *blend, const double *logs); /* log of the cost, in units of sums.y_scale */

/* Predicts each row from the other types, which validates the blend; types >= 4. mape: mean over types of the mean |predicted / measured -
 * 1| of their rows. q2: 1 - squared log error / squared log error of the mean of the other types, by type. */
struct blend_validation {
	double *predicted;	      /* [rows] log of the predicted cost */
	double *type_error;	      /* [types] mean of |predicted / measured - 1| */
	struct blend_choice *choices; /* [types] chosen without that type */
	double mape, q2;
};
void blend_validate(const struct blend_data *data, size_t threads, struct blend_validation *out);
void blend_validation_release(struct blend_validation *validation); /* accepts a zeroed struct */

#endif
