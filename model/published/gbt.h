/* Gradient-boosted regression trees with squared error. Source: Friedman, Annals of Statistics 29(5), 2001, algorithm 3. The split score is
 * scikit-learn's `friedman_mse`; training errors equal scikit-learn's (docs/evidence/statistics.md says where and how).
 *
 * The data cannot distinguish features that split a node equally well. Among features within GBT_TIE of the largest gain, the first feature
 * (in column order: give columns in name order) determines the partition. All tied features share the credit for the split equally.
 * Deterministic, without randomness. O(trees * depth * n * p) after one sort per column. */
#ifndef MODEL_PUBLISHED_GBT_H
#define MODEL_PUBLISHED_GBT_H

#include "base/error.h"
#include "base/mat.h"

#include <stdbool.h>

/* Scales columns of X [rows x cols], rows > 0, to zero mean and unit variance, as scikit-learn's StandardScaler: the variance has
 * denominator n; a column without variance is divided by 1. Fills mean and scale [cols]. */
void gbt_standardise(struct mat *X, double *mean, double *scale);

#define GBT_TIE 1e-12 /* maximum relative difference of gains of splits that are equally good */

struct gbt_options {
	size_t trees;		  /* number of boosting stages, > 0 */
	size_t max_depth;	  /* depth of each tree; 1 for stumps */
	size_t min_samples_split; /* minimum number of rows of a node to split; >= 2 */
	double learning_rate;	  /* in (0, 1] */
};

/* Options in the paper's repository: 1000 trees, depth 4, learning rate 0.01. */
extern const struct gbt_options gbt_paper;

struct gbt; /* trees and statistics of a fit; immutable */

/* X     [n x p] row-major, rows = machines, cols = standardised stressor rates; finite. Compares values as float32; two that are closer
 * than 1e-7 are one value, thresholds are half-way, as in scikit-learn.
 * y     [n], the application's metric, any unit; finite.
 * out   overwritten; gbt_free() it. NULL on failure.
 * Returns ASSAY_OK, or ASSAY_E_NODATA when n < 2 or p == 0; ASSAY_E_LIMIT when n > GBT_ROWS_MAX. */
#define GBT_ROWS_MAX 65535
enum assay_status gbt_fit(const struct mat *X, const double *y, const struct gbt_options *opts, struct gbt **out, struct assay_error *err);
void gbt_free(struct gbt *gbt); /* accepts NULL */

/* Statistics of a fit, owned by the fit. The sum of importances [p] is one; without splits, all importances are zero. */
struct gbt_about {
	const double *mse; /* [trees + 1] mean squared error on the training rows after each number of trees; [0]: of the constant model */
	const double *importance_sum;	   /* sum of impurity decreases over all trees (scikit-learn >= 0.20) */
	const double *importance_per_tree; /* normalised within each tree, then averaged (before 0.20, as in the paper) */
	double tied_per_split;	 /* mean number of tied features per split, weighted by gain; 1: no split had a tie, 0: there is no split */
	size_t ambiguous_splits; /* number of splits in which tied features, or two cuts of one feature, partition the rows differently: the
				    data do not determine the tree, and other implementations may differ */
};
struct gbt_about gbt_about(const struct gbt *gbt);

/* Predicts X [m x p] (p as in the fit) into out[m]. Only tests use this function, to check the trees themselves. */
void gbt_predict(const struct gbt *gbt, const struct mat *X, double *out);

#endif
