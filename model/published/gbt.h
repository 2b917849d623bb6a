/* Gradient-boosted regression trees, squared error.
 * Source: Friedman, Annals of Statistics 29(5), 2001, algorithm 3; split score as in scikit-learn's `friedman_mse`, whose
 * training errors it meets (docs/evidence/statistics.md says where and how).
 *
 * Features that split a node equally well are distinguished by nothing in the data. So the partition is that of the first feature
 * (in column order: give columns in name order) among those within GBT_TIE of the largest gain, and the credit for the split is
 * shared equally among all of them. Deterministic: no randomness anywhere. O(trees * depth * n * p) after one sort a column. */
#ifndef MODEL_PUBLISHED_GBT_H
#define MODEL_PUBLISHED_GBT_H

#include "base/error.h"
#include "base/mat.h"

#include <stdbool.h>

/* Columns of X [rows x cols], rows > 0, to zero mean and unit variance, as scikit-learn's StandardScaler: variance with n in the
 * denominator, a column without variance is divided by 1. mean and scale are [cols], filled. */
void gbt_standardise(struct mat *X, double *mean, double *scale);

#define GBT_TIE 1e-12 /* relative difference of gains below which two splits are equally good */

struct gbt_options {
	size_t trees;		  /* boosting stages, > 0 */
	size_t max_depth;	  /* of one tree, 1 = stumps */
	size_t min_samples_split; /* a node with fewer rows is a leaf, >= 2 */
	double learning_rate;	  /* (0, 1] */
};

/* What the paper's repository uses: 1000 trees, depth 4, learning rate .01. */
extern const struct gbt_options gbt_paper;

struct gbt; /* the trees and what the fit left behind; immutable */

/* X     [n x p] row-major, rows = machines, cols = standardised stressor rates; finite. Values are compared as float32, two that
 *       are closer than 1e-7 are one value, thresholds lie half-way: as scikit-learn does.
 * y     [n], the application's metric, any unit; finite.
 * out   overwritten; gbt_free() it. NULL on failure.
 * Returns ASSAY_OK, or ASSAY_E_NODATA when n < 2 or p == 0; ASSAY_E_LIMIT when n > GBT_ROWS_MAX. */
#define GBT_ROWS_MAX 65535
enum assay_status gbt_fit(const struct mat *X, const double *y, const struct gbt_options *opts, struct gbt **out, struct assay_error *err);
void gbt_free(struct gbt *gbt); /* accepts NULL */

/* What the fit left behind, borrowed. Importances [p] sum to one (all zero when no tree split). */
struct gbt_about {
	const double *mse;	      /* [trees + 1] mean squared error on the training rows after so many trees; 0: the constant model */
	const double *importance_sum; /* by the sum of impurity decreases over all trees (scikit-learn >= 0.20) */
	const double *importance_per_tree; /* normalised within each tree and then averaged (before 0.20, which the paper used) */
	double tied_per_split;	 /* mean number of features that tie in a split, weighted by its gain; 1 = every split was decided by one
				    feature, 0 = no tree split */
	size_t ambiguous_splits; /* splits in which features, or two cuts of one feature, tied whose partitions of the rows differ: there
				    the data do not decide the tree itself, and another implementation may end elsewhere */
};
struct gbt_about gbt_about(const struct gbt *gbt);

/* Predictions for X [m x p] (p as in the fit) into out[m]. The profile does not use them; they tell whether the trees are right, which
 * importances do not. */
void gbt_predict(const struct gbt *gbt, const struct mat *X, double *out);

#endif
