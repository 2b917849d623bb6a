/* Blends additive models and boosted stumps, and computes the error of the blend on unseen hardware types. The candidates are a fixed grid:
 * additive models of two sizes and two sharpnesses, each with stumps at weight 0, 1/4, 1/2 or 3/4, and stumps only. A candidate's weight is
 * its relative error on held-out types, to the power -types. Validation is nested: it holds out a type before weights are chosen. */
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

/* Boosted stumps (trees of depth 1) on the logs of type means, with squared error. With about ten types and twenty or more features, many
 * features split the types equally well, and the data cannot distinguish them. So each stage is the mean of all tied stumps: if they
 * disagree about a new machine, its prediction lies between theirs. Tied groups share the credit for a split equally, and so do the tied
 * features of a group. Source: Friedman, Annals of Statistics 29(5), 2001, algorithm 3. Deterministic. O(stages * types * features). */
struct stumps {
	size_t cols;
	double start; /* mean log cost, to which the steps are added */
	double *step; /* [cols x cuts_max] height of each step */
	double *cut;  /* [cols x cuts_max] log rate above which the step is added */
	size_t *cuts; /* [cols] number of cuts */
	size_t cuts_max;
	double *importance; /* [cols] credit of each column; adds up to 1, or to 0 without splits */
	double tied;	    /* mean number of tied features per split, weighted by gain; 0 without splits */
};

/* Data of a blend. The data do not change after blend_data_init(), so that threads may share them. */
struct blend_data {
	struct features features;
	struct additive_sums sums;
	size_t rows, types;
	double *log_cost;  /* [rows] log of the cost, which is in units of sums.y_scale */
	double *type_cost; /* [types] mean of log_cost over the rows of the type */
	size_t *type;	   /* [rows] hardware type */
};

/* Prepares data. rates [rows x p] as for features_select(); cost [rows] > 0, less is better; type [rows] < types; each type has rows. */
void blend_data_init(const struct mat *rates, const double *cost, const size_t *type, size_t types, struct blend_data *out);
void blend_data_release(struct blend_data *data); /* accepts a zeroed struct */

/* Weights of the candidates, which add up to 1, and sums of these weights. */
struct blend_choice {
	double additive[BLEND_ADDITIVE]; /* weights of the additive models, relative to each other; add up to 1 */
	double stumps;			 /* weight of the stumps, 0 to 1 */
	double weight[BLEND_CANDIDATES];
};

/* Chooses weights. count [types] as in additive_fit(), at least 3 above 0. Fits both models once per type that counts. */
void blend_choose(const struct blend_data *data, const double *count, struct blend_choice *out);

struct blend {
	struct additive additive; /* averaged with the weights in `choice` */
	struct stumps stumps;
	struct blend_choice choice;
};
void blend_fit(const struct blend_data *data, const double *count, const struct blend_choice *choice, struct blend *out);
void blend_release(struct blend *blend);			     /* accepts a zeroed struct */
double blend_predict(const struct blend *blend, const double *logs); /* returns the log of the cost, which is in units of sums.y_scale */

/* Validates the blend: predicts each row from the other types. types >= 4. mape: mean over types of the mean of |predicted / measured - 1|.
 * q2: 1 - sum of squared log errors / the same sum for the mean of the other types as prediction; types weigh equally. */
struct blend_validation {
	double *predicted;	      /* [rows] log of the predicted cost */
	double *type_error;	      /* [types] mean of |predicted / measured - 1| */
	struct blend_choice *choices; /* [types] weights chosen without that type */
	double mape, q2;
};
void blend_validate(const struct blend_data *data, size_t threads, struct blend_validation *out);
void blend_validation_release(struct blend_validation *validation); /* accepts a zeroed struct */

#endif
