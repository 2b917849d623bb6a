/* Which part of what runs cost has grown beyond what a model expects of it: functions, lines. Each part takes a share of the prediction
 * that is a sum of what the terms take of it, fitted by least squares to the runs learned; other runs should have that share of theirs. The
 * shares of all parts add up to the costs, and so do their growths to the excess (excess.h). */
#ifndef MODEL_SPARSE_PARTS_H
#define MODEL_SPARSE_PARTS_H

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

#endif
