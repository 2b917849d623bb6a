/* Which part of what runs cost has grown beyond what a model expects of it: functions, lines. Each part takes a share of the prediction
 * that is a sum of what the terms take of it, fitted by least squares to the runs learned; other runs should have that share of theirs. The
 * shares of all parts add up to the costs, and so do their growths to the excess (excess.h). */
#ifndef MODEL_SPARSE_SPARSE_PARTS_H
#define MODEL_SPARSE_SPARSE_PARTS_H

#include "model/sparse/sparse.h"

struct sparse_part {
	double was, is;	    /* its share of the predictions of the new runs, on average: expected, and as it is */
	double adds, error; /* the difference, with its standard error: by how much runs differ, and how well the old ones are known */
};

/* Runs with the columns of the model, X [n x columns], and what each part took of each: part [n x parts], at least 0. */
struct sparse_parts {
	const struct mat *X, *part;
};

/* out [parts]. Both have more than one run, and the same parts. O(runs * parts * terms). */
void sparse_parts_of(const struct sparse *model, const struct sparse_parts *old, const struct sparse_parts *new, struct sparse_part *out);

/* In which part the new runs became dearer, if it is one of them. A part in which that is has more samples than is expected of it, and each
 * run costs more by as much as it does of it: both likelihoods together, of the excess that was measured. Samples are few: their number is
 * taken as negative binomial, around what the old ones let expect, whose number counts as well. */
struct sparse_likely_asked {
	const struct sparse_parts *old, *new;
	double old_one, new_one; /* what one sample is worth, in the unit of the parts */
	const size_t *column;	 /* [parts] of X, which counts how often a run does what the part is; SIZE_MAX: nothing does */
	const double *ratio;	 /* [new->X->rows] as of sparse_excess_of(), with its usual */
	double usual;
};
/* likely [parts + 1]: probabilities, the last that all became dearer alike; their sum is 1. */
void sparse_parts_likely(const struct sparse *model, const struct sparse_likely_asked *asked, double *likely);

#endif
