/* The cost of runs as a sum of few terms: a sparse polynomial of the columns that describe each run. After Chun et al., "Mantis: Predicting
 * System Performance through Program Analysis and Modeling" (USENIX ATC 2013): removes columns that never vary or repeat another; LASSO;
 * products of the surviving columns; LASSO again. Unlike Mantis, coefficients are not negative, since more work is never faster, and errors
 * are relative. Pairs of columns that are correlated with the residual have products, too, although neither column may explain anything by
 * itself. The LASSO's choice is fitted again without the penalty if that has smaller errors. Cross-validation chooses lambda, the refit and
 * the degree. The reported errors come from a cross-validation around all of this. Runs of one input are never on both sides. Deterministic
 * for one order of rows and columns. */
#ifndef MODEL_SPARSE_SPARSE_H
#define MODEL_SPARSE_SPARSE_H

#include "base/mat.h"

#include <stdbool.h>
#include <stddef.h>

#define SPARSE_COLUMNS_MAX   20000
#define SPARSE_DEGREE_MAX    3
#define SPARSE_COVERAGE	     .9
#define SPARSE_ELSEWHERE_MAX .01
#define SPARSE_INPUTS_MIN    4 /* minimum number of inputs for nested cross-validation */

struct sparse_term {
	size_t column[SPARSE_DEGREE_MAX]; /* [degree] columns whose product is the term, ascending */
	size_t degree;
	double coefficient; /* above 0; with `paper`, of any sign */
};

/* Statistics of a column in the learned runs. */
struct sparse_column {
	double low, high;
	size_t same_as; /* index of a column of which this column is a linear function (slope, offset) in all runs; own index if constant;
			   SIZE_MAX if there is none */
	double slope, offset;
	bool counted; /* the column counts how often a run did something */
};

struct sparse_options {
	size_t degree;	     /* highest degree of a term, 1 to SPARSE_DEGREE_MAX */
	const bool *counted; /* [columns] the column counts how often a run did something; NULL: no column does */
	bool paper;	     /* as published: any sign, absolute errors, products of the surviving columns only, fixed degree */
};

struct sparse {
	size_t columns, runs, inputs;
	struct sparse_column *column; /* [columns] statistics of each column */
	struct sparse_term *term;     /* [terms] terms, sorted by their part of the cost, largest first */
	size_t terms;
	double intercept;		 /* not below 0; with `paper`, of any sign */
	double least;			 /* minimum of predictions, relative to the smallest learned cost; above 0 */
	double error_median, error_mean; /* median and mean of sparse_error() over runs of held-out inputs that are similar */
	size_t unlike;			 /* number of runs of held-out inputs that are not similar */
	double *apart;			 /* [runs] log(cost / prediction) by models that did not see the run's input; NaN: not similar */
	double *left_out;		 /* [runs] predictions of the models that did not see the run's input */
	struct mat factor;		 /* leverage_factor() of the learned runs (excess.h) */
	double interval; /* the cost of a new run is between prediction / interval and prediction * interval with probability
			    SPARSE_COVERAGE; may be infinite */
};

/* Fits a model. X [n x columns], columns <= SPARSE_COLUMNS_MAX, finite; y [n], above 0; group[n], the input of each run, below `inputs`,
 * which is at least SPARSE_INPUTS_MIN. Overwrites *out; free it with sparse_release(). */
void sparse_fit(const struct mat *X, const double *y, const size_t *group, size_t inputs, const struct sparse_options *how,
		struct sparse *out);
void sparse_release(struct sparse *model); /* accepts a zeroed struct */

/* Returns the cost of a term for a row of column values [columns]. */
double sparse_term_cost(const struct sparse_term *term, const double *row);
bool sparse_uses(const struct sparse *model, size_t column); /* reports whether a term has the column */
double sparse_predict(const struct sparse *model, const double *row);
/* Returns |prediction / cost - 1|: the fit minimises this error, and all shown errors use it. */
double sparse_error(double cost, double prediction);
/* Returns the column by which a row differs from all learned rows; SIZE_MAX if it is similar. The row has all columns of the terms. Tests
 * in order: a column of a term that is outside its range by more than a tenth of the range; one that no longer equals a column of a term,
 * or that never varied and now does; one of a term, if the terms have a new combination; or, of the counts without a term, the one farthest
 * outside, if all such counts exceed SPARSE_ELSEWHERE_MAX of all counts. `elsewhere`: counts that are no columns, because they were 0 in
 * all learned runs. If these exceed what is outside in each column, returns the number of columns. */
size_t sparse_unlike(const struct sparse *model, const double *row, double elsewhere);

/* Columns that never vary, or follow another column: they are a linear function of the other column in all runs. */

/* Overwrites column[X->cols]; sets `counted` to false. Each column refers to the first one that it follows. O(rows * columns), and the
 * square of the number of columns that may follow each other. */
void columns_of(const struct mat *X, struct sparse_column *column);

#endif
