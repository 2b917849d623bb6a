/* What runs cost, as a sum of few terms: a sparse polynomial of what is known about each run. After Chun et al., "Mantis: Predicting System
 * Performance through Program Analysis and Modeling" (USENIX ATC 2013): columns that never vary or repeat another one leave; LASSO;
 * products of what survives; LASSO again. Unlike there, coefficients are not negative, since more work is never faster; errors are
 * relative; pairs of columns that follow what the sum leaves have products, too, though neither may explain anything by itself; and what
 * the LASSO has chosen is fitted again without its price where that errs less. Lambda, that, and the degree are chosen by cross-validation;
 * the errors reported are of a cross-validation around all of it. Runs of one input are never on both sides. Deterministic for one order of
 * rows and columns. */
#ifndef MODEL_SPARSE_SPARSE_H
#define MODEL_SPARSE_SPARSE_H

#include "base/mat.h"

#include <stdbool.h>
#include <stddef.h>

#define SPARSE_COLUMNS_MAX   20000
#define SPARSE_DEGREE_MAX    3
#define SPARSE_COVERAGE	     .9
#define SPARSE_ELSEWHERE_MAX .01
#define SPARSE_INPUTS_MIN    4 /* cross-validation within cross-validation needs so many */

struct sparse_term {
	size_t column[SPARSE_DEGREE_MAX]; /* [degree], rising; their product */
	size_t degree;
	double coefficient; /* above 0; of the published procedure of any sign */
};

/* What is known of a column from the runs learned. */
struct sparse_column {
	double low, high;
	size_t same_as; /* SIZE_MAX: nothing; else it is slope * that column + offset in all of them; itself: it never varies */
	double slope, offset;
	bool counted; /* as it was said in the options */
};

struct sparse_options {
	size_t degree;	     /* 1 to SPARSE_DEGREE_MAX */
	const bool *counted; /* [columns]: how often a run did something; NULL: none of them */
	bool paper;	     /* as published: any sign, absolute errors, products of what survives, the degree as it is */
};

struct sparse {
	size_t columns, runs, inputs;
	struct sparse_column *column; /* [columns] */
	struct sparse_term *term;     /* [terms], those with most of the cost first */
	size_t terms;
	double intercept;		 /* not below 0; of the published procedure of any sign */
	double least;			 /* predictions are at least this, a part of the smallest cost learned: above 0 */
	double error_median, error_mean; /* sparse_error() over runs of inputs excluded that are not unlike those left in */
	size_t unlike;			 /* runs of inputs excluded that are */
	double *apart; /* [runs], in the order of the rows: log(cost / prediction) by models that did not see their inputs; NaN: unlike */
	double *left_out;  /* [runs] what those models predicted */
	struct mat factor; /* excess.h */
	double
	    interval; /* a new run costs between prediction / interval and prediction * interval, with SPARSE_COVERAGE; may be infinite */
};

/* X [n x columns], columns <= SPARSE_COLUMNS_MAX, finite; y [n], above 0; group[n], the input of each run, below `inputs`, which is at
 * least SPARSE_INPUTS_MIN. *out is overwritten; sparse_release() it. */
void sparse_fit(const struct mat *X, const double *y, const size_t *group, size_t inputs, const struct sparse_options *how,
		struct sparse *out);
void sparse_release(struct sparse *model); /* accepts zeroed */

/* What a term costs where the columns have these values: [columns]. */
double sparse_term_cost(const struct sparse_term *term, const double *row);
bool sparse_uses(const struct sparse *model, size_t column); /* whether a term has it */
double sparse_predict(const struct sparse *model, const double *row);
/* |prediction / cost - 1|: what the fit minimises, and what all errors are that are shown. */
double sparse_error(double cost, double prediction);
/* Why a row, which has what terms need, is unlike all that were learned; SIZE_MAX: it is not. A column of a term that is more than a tenth
 * of its range outside of it; one that is no longer equal to one of a term, or that never varied and now has another value; one of a term,
 * where terms are together what they never were; or of the counts that no term has the one furthest outside of what was learned, where all
 * that are so make more than SPARSE_ELSEWHERE_MAX of all counts. `elsewhere`: counts that the columns lack since they were 0 in all runs
 * learned; where most is theirs, the answer is the number of columns. */
size_t sparse_unlike(const struct sparse *model, const double *row, double elsewhere);

/* Which columns never vary, or follow another one: a linear function of it in all runs. */

/* Overwrites column[X->cols], whose `counted` becomes false. Each follows the first that it does. O(rows * columns), and of those that may
 * follow each other the square. */
void columns_of(const struct mat *X, struct sparse_column *column);

#endif
