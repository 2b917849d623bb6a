/* Models the cost of runs as a sum of few terms: a sparse polynomial of the columns that describe each run. Source: Chun et al., "Mantis:
 * Predicting System Performance through Program Analysis and Modeling" (USENIX ATC 2013). Mantis removes columns that never vary or that
 * repeat another one, applies the LASSO, adds products of the selected columns, and applies the LASSO again. Unlike in Mantis, coefficients
 * are not negative, since more work is never faster, and errors are relative. Products of pairs of columns that correlate with the residual
 * are also tried, although neither column may explain anything by itself. The selected terms are fitted again without the penalty if that
 * reduces errors. Cross-validation chooses lambda, the refit and the degree; an outer one gives the reported errors. All runs of one input
 * are in one fold. Deterministic for one order of rows and columns. */
#ifndef MODEL_SPARSE_SPARSE_H
#define MODEL_SPARSE_SPARSE_H

#include "base/mat.h"

#include <stdbool.h>
#include <stddef.h>

#define SPARSE_COLUMNS_MAX   20000
#define SPARSE_DEGREE_MAX    3
#define SPARSE_COVERAGE	     .9
#define SPARSE_UNREACHED_MAX .01
#define SPARSE_INPUTS_MIN    4 /* minimum number of inputs for nested cross-validation */

struct sparse_term {
	size_t column[SPARSE_DEGREE_MAX]; /* [degree] columns whose product is the term, in ascending order */
	size_t degree;
	double coefficient; /* > 0; of any sign with options.paper */
};

/* Statistics of a column in the learned runs. */
struct sparse_column {
	double low, high;
	size_t same_as; /* another column of which this one is a linear function (slope, offset) in all runs; own index if constant;
			   SIZE_MAX if there is none */
	double slope, offset;
	bool counted; /* the column counts executions of something in a run */
};

struct sparse_options {
	size_t degree;	     /* highest degree of a term, 1 to SPARSE_DEGREE_MAX */
	const bool *counted; /* [columns] whether a column counts executions of something in a run; NULL: no column does */
	bool paper; /* published method: coefficients of any sign, absolute errors, products only of selected columns, fixed degree */
};

struct sparse {
	size_t columns, runs, inputs;
	struct sparse_column *column; /* [columns] statistics of each column */
	struct sparse_term *term;     /* [terms] sorted by their part of the cost, largest first */
	size_t terms;
	double intercept;		 /* >= 0; of any sign with options.paper */
	double least;			 /* minimum of predictions, > 0; a fixed part of the smallest learned cost */
	double error_median, error_mean; /* median and mean of sparse_error() over held-out runs with similar inputs */
	size_t n_dissimilar;		 /* number of held-out runs whose inputs are unlike the learned inputs */
	double *log_errors;	      /* [runs] log(cost / prediction) by a model that did not learn the input; NaN for an unlike input */
	double *held_out_predictions; /* [runs] predictions by models that did not learn the run's input */
	struct mat factor;	      /* leverage_cholesky_factor() of the learned runs (excess.h) */
	double interval; /* factor, may be infinite: a new run's cost is between prediction / interval and prediction * interval with
			    probability SPARSE_COVERAGE */
};

/* Fits a model. X [n x columns], finite, columns <= SPARSE_COLUMNS_MAX; y [n] > 0, costs; group [n], the input of each run, < inputs;
 * inputs >= SPARSE_INPUTS_MIN. Overwrites *out; the caller frees it with sparse_release(). */
void sparse_fit(const struct mat *X, const double *y, const size_t *group, size_t inputs, const struct sparse_options *how,
		struct sparse *out);
void sparse_release(struct sparse *model); /* accepts a zeroed struct */

/* Returns the cost of a term for a row of column values [columns]. */
double sparse_term_cost(const struct sparse_term *term, const double *row);
bool sparse_uses_column(const struct sparse *model, size_t column); /* reports whether a term has the column */
double sparse_predict(const struct sparse *model, const double *row);
/* Returns |prediction / cost - 1|. The fit minimises this error, and all reports show it. */
double sparse_error(double cost, double prediction);
/* Returns a column in which `row` is unlike all learned rows; SIZE_MAX if the row is similar. The row has all columns of the terms. The
 * tests find, in this order: a term's column outside its range by more than a tenth of the range; a column that no longer follows a term's
 * column, or no longer is constant; a column of a term, if the combination of the terms is new; of the counts without a term, the one
 * farthest outside its range, if the sum outside exceeds SPARSE_UNREACHED_MAX of all counts. `elsewhere` is the sum of counts that are no
 * columns, because they were 0 in all learned runs. Returns the number of columns if `elsewhere` exceeds the distances of all columns. */
size_t sparse_find_dissimilar(const struct sparse *model, const double *row, double elsewhere);

/* Columns that never vary, or that follow another column: they are a linear function of that column in all runs. */

/* Overwrites column[X->cols]; sets `counted` to false. Each same_as is the first column that the column follows. O(rows * columns), plus
 * the square of the number of columns that may follow each other. */
void columns_find_dependent(const struct mat *X, struct sparse_column *column);

#endif
