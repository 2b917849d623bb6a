/* Both models together, and their errors on unseen hardware types. The candidates are a fixed grid: additive models of two sizes and two
 * sharpnesses, alone or blended in quarters with boosted stumps (on logs), and the stumps alone. A candidate's weight is its relative error
 * on held-out types, to the power -types. Everything is done by type, and nested: validation of a blend holds out a type first. */
#ifndef MODEL_PROFILE_BLEND_H
#define MODEL_PROFILE_BLEND_H

#include "model/profile/additive.h"
#include "model/profile/features.h"

#define BLEND_SIZES	 2
#define BLEND_SHARPNESS	 2
#define BLEND_ADDITIVE	 (BLEND_SIZES * BLEND_SHARPNESS)
#define BLEND_PARTS	 4 /* parts of stumps: 0, 1/4, 1/2, 3/4 */
#define BLEND_CANDIDATES (BLEND_ADDITIVE * BLEND_PARTS + 1)

extern const struct additive_options blend_grid[BLEND_ADDITIVE];

/* Boosted stumps (trees of depth 1) on the logs of type means, squared error, with shared ties. With about ten types, twenty and more
 * features split them equally well, and the data cannot distinguish these. So a stage is the mean of all of them; if they disagree about a
 * new machine, its prediction lies between. Credit for a split is shared among the tied groups, and within a group among its features.
 * Source: Friedman, Annals of Statistics 29(5), 2001, algorithm 3. Deterministic. O(stages * types * features). */
struct stumps {
	size_t cols;
	double start; /* mean log cost */
	double *step; /* the model is start + the sum over features of a step function: [cols x cuts_max] the step ... */
	double *cut;  /* ... that applies above this log */
	size_t *cuts; /* [cols] number of cuts */
	size_t cuts_max;
	double *importance; /* [cols] shared credit; the sum is one, or all are 0 without splits */
	double tied;	    /* mean number of tied features, weighted by gain; 0 without splits */
};

/* Data to fit; both must outlive it. Immutable: may be shared by threads. */
struct blend_data {
	struct features features;
	struct additive_sums sums;
	size_t rows, types;
	double *log_cost;  /* [rows], of the cost in units of sums.y_scale */
	double *type_cost; /* [types] mean log cost of their rows */
	size_t *type;	   /* [rows] */
};

/* Prepares data. rates [rows x p] as for features_of(), cost [rows] > 0, lower is better, type [rows] < types, each type with rows. */
void blend_data_of(const struct mat *rates, const double *cost, const size_t *type, size_t types, struct blend_data *out);
void blend_data_release(struct blend_data *data); /* accepts zeroed */

/* Weights of the candidates, whose sum is one, and their marginal sums. */
struct blend_choice {
	double additive[BLEND_ADDITIVE]; /* weight within the additive part; the sum is one */
	double stumps;			 /* share of the stumps, 0 to 1 */
	double weight[BLEND_CANDIDATES];
};

/* Chooses weights. count [types] as in additive_fit(), at least 3 above 0. Cost: as many fits of both models as types count. */
void blend_choose(const struct blend_data *data, const double *count, struct blend_choice *out);

struct blend {
	struct additive additive; /* weighed by `choice` */
	struct stumps stumps;
	struct blend_choice choice;
};
void blend_fit(const struct blend_data *data, const double *count, const struct blend_choice *choice, struct blend *out);
void blend_release(struct blend *blend);			     /* accepts zeroed */
double blend_predict(const struct blend *blend, const double *logs); /* logarithm of the cost in units of sums.y_scale */

/* Validates predictions [rows], logs of cost, each row from types other than its own; types >= 4. mape: mean over types of the mean over
 * their rows of |predicted / measured - 1|. q2: 1 - squared log error / that of the mean of the other types, by type. */
struct blend_validation {
	double *predicted;	      /* [rows] */
	double *type_error;	      /* [types] mean of |predicted / measured - 1| */
	struct blend_choice *choices; /* [types], chosen without that type */
	double mape, q2;
};
void blend_validate(const struct blend_data *data, size_t threads, struct blend_validation *out);
void blend_validation_release(struct blend_validation *validation); /* accepts zeroed */

#endif
