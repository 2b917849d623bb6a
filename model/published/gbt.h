/* Gradient-boosted regression trees with squared error. Source: Friedman, Annals of Statistics 29(5), 2001, algorithm 3. The split score is
 * scikit-learn's `friedman_mse`. Training errors equal those of scikit-learn under the conditions in docs/evidence/statistics.md.
 *
 * The data cannot distinguish features that split a node equally well. Of the features within GBT_TIE of the largest gain, the first one in
 * column order determines the split, so give columns in name order. All tied features share the credit equally. Deterministic, without
 * randomness. O(trees * depth * n * p) after one sort per column. */
#ifndef MODEL_PUBLISHED_GBT_H
#define MODEL_PUBLISHED_GBT_H

#include "base/error.h"
#include "base/mat.h"

#include <stdbool.h>

/* Scales the columns of X [rows x cols], rows > 0, to mean 0 and variance 1, as scikit-learn's StandardScaler does: the variance has the
 * denominator n, and a column without variance is divided by 1. Fills mean and scale [cols]. */
void gbt_standardise(struct mat *X, double *mean, double *scale);

#define GBT_TIE 1e-12 /* maximum relative difference between the gains of equally good splits */

struct gbt_options {
	size_t trees;		  /* number of boosting stages, > 0 */
	size_t max_depth;	  /* maximum depth of each tree; 1 gives stumps */
	size_t min_samples_split; /* minimum number of rows of a node that is split; >= 2 */
	double learning_rate;	  /* in (0, 1] */
};

/* Options of the paper's repository: 1000 trees, depth 4, learning rate 0.01. */
extern const struct gbt_options gbt_paper;

struct gbt; /* trees and statistics of a fit; does not change after gbt_fit() */

/* Fits trees.
 * X     [n x p] row-major, finite; rows are machines, columns are standardised stressor rates. As in scikit-learn, values are compared
 *       as float32, values closer than 1e-7 are equal, and thresholds are half-way between values.
 * y     [n] the application's metric, in any unit; finite. *out gets the fit, or NULL on failure; gbt_free() it.
 * Returns ASSAY_OK; ASSAY_E_NODATA if n < 2 or p == 0; ASSAY_E_LIMIT if n > GBT_ROWS_MAX. */
#define GBT_ROWS_MAX 65535
enum assay_status gbt_fit(const struct mat *X, const double *y, const struct gbt_options *opts, struct gbt **out, struct assay_error *err);
void gbt_free(struct gbt *gbt); /* accepts NULL */

/* Statistics of a fit, owned by the fit. The importances [p] add up to 1; without splits, all importances are 0. */
struct gbt_info {
	const double *mse; /* [trees + 1] mean squared error on the training rows after each number of trees; [0] without trees */
	const double *importance_sum;	   /* sum of impurity decreases over all trees (scikit-learn >= 0.20) */
	const double *importance_per_tree; /* importances normalised within each tree, then averaged (before 0.20, as in the paper) */
	double tied_per_split;		   /* mean number of tied features per split, weighted by gain: 1 without ties, 0 without splits */
	size_t ambiguous_splits;	   /* number of splits that the data do not determine, because ties give different partitions */
};
struct gbt_info gbt_info(const struct gbt *gbt);

/* Predicts the rows of X [m x p] into out[m]; p as in the fit. Only tests call this function, to check the trees. */
void gbt_predict(const struct gbt *gbt, const struct mat *X, double *out);

#endif
