/* The cost of runs as a sum of few terms: a sparse polynomial of the columns that describe each run. After Chun et al., "Mantis: Predicting
 * System Performance through Program Analysis and Modeling" (USENIX ATC 2013): removes columns that never vary or repeat another; LASSO;
 * products of the surviving columns; LASSO again. The differences: coefficients are not negative, since more work is never faster; errors
 * are relative. Pairs of columns that are correlated with the residual have products, too, though neither may explain anything by itself.
 * The LASSO's choice is fitted again without its penalty if that has smaller errors. Cross-validation chooses lambda, the refit and the
 * degree; the reported errors are from a cross-validation around all of it. Runs of one input are never on both sides. Deterministic for
 * one order of rows and columns. */
#ifndef MODEL_SPARSE_SPARSE_H
#define MODEL_SPARSE_SPARSE_H

#include "base/mat.h"

#include <stdbool.h>
#include <stddef.h>

#define SPARSE_COLUMNS_MAX   20000
#define SPARSE_DEGREE_MAX    3
#define SPARSE_COVERAGE	     .9
#define SPARSE_ELSEWHERE_MAX .01
#define SPARSE_INPUTS_MIN    4 /* fewest inputs for nested cross-validation */

struct sparse_term {
	size_t column[SPARSE_DEGREE_MAX]; /* [degree], ascending; their product */
	size_t degree;
	double coefficient; /* above 0; with `paper`, of any sign */
};

/* Statistics of a column in the learned runs. */
struct sparse_column {
	double low, high;
	size_t same_as; /* SIZE_MAX: none; else it equals slope * that column + offset in all of them; itself: it never varies */
	double slope, offset;
	bool counted; /* as in the options */
};

struct sparse_options {
	size_t degree;	     /* 1 to SPARSE_DEGREE_MAX */
	const bool *counted; /* [columns]: it counts how often a run did something; NULL: none does */
	bool paper;	     /* as published: any sign, absolute errors, products of the surviving columns, fixed degree */
};

struct sparse {
	size_t columns, runs, inputs;
	struct sparse_column *column; /* [columns] */
	struct sparse_term *term;     /* [terms], those with most of the cost first */
	size_t terms;
	double intercept;		 /* not below 0; with `paper`, of any sign */
	double least;			 /* lower limit of predictions, relative to the smallest learned cost: above 0 */
	double error_median, error_mean; /* sparse_error() over runs of held-out inputs that are similar to the others */
	size_t unlike;			 /* number of runs of held-out inputs that are not similar */
	double
	    *apart; /* [runs], in the order of the rows: log(cost / prediction) by models that did not see their inputs; NaN: not similar */
	double *left_out;  /* [runs] predictions of those models */
	struct mat factor; /* excess.h */
	double
	    interval; /* a new run costs between prediction / interval and prediction * interval, with SPARSE_COVERAGE; may be infinite */
};

/* Fits a model. X [n x columns], columns <= SPARSE_COLUMNS_MAX, finite; y [n], above 0; group[n], the input of each run, below `inputs`,
 * which is at least SPARSE_INPUTS_MIN. Overwrites *out; sparse_release() it. */
void sparse_fit(const struct mat *X, const double *y, const size_t *group, size_t inputs, const struct sparse_options *how,
		struct sparse *out);
void sparse_release(struct sparse *model); /* accepts zeroed */

/* Returns the cost of a term for these column values [columns]. */
double sparse_term_cost(const struct sparse_term *term, const double *row);
bool sparse_uses(const struct sparse *model, size_t column); /* whether a term has the column */
double sparse_predict(const struct sparse *model, const double *row);
/* Returns |prediction / cost - 1|: the fit minimises it, and all shown errors use it. */
double sparse_error(double cost, double prediction);
/* Returns the column by which a row is unlike all learned ones; SIZE_MAX: it is not. The row has all columns of the terms. In order: a
 * column of a term that is outside its range by more than a tenth of it; one that no longer equals a column of a term, or that never varied
 * and now does; one of a term, if the terms have a new combination; or the count without a term that is farthest outside, if all such
 * counts make more than SPARSE_ELSEWHERE_MAX of all counts. `elsewhere`: counts missing in the columns because they were 0 in all learned
 * runs; if these are the majority, returns the number of columns. */
size_t sparse_unlike(const struct sparse *model, const double *row, double elsewhere);

/* Columns that never vary, or follow another one: a linear function of it in all runs. */

/* Overwrites column[X->cols], with `counted` false. Each column refers to the first one that it follows. O(rows * columns), and the square
 * of the number of columns that may follow each other. */
void columns_of(const struct mat *X, struct sparse_column *column);

#endif
