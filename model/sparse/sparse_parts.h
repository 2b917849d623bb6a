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

/* By how much the new runs cost more. */
struct sparse_costs {
	const size_t *column; /* [parts] of X, which counts how often a run does what the part is; SIZE_MAX: nothing does */
	const double *excess; /* [new runs], as a part of the prediction */
	double noise;	      /* standard deviation of a run's, above 0 */
	double sample;	      /* the least error of a part: what one sample is of all of the new runs, above 0 */
};

/* out [parts]: by the samples, and with costs by these, too: each run costs more by as much as it does of the parts that became slower, of
 * which there may be several (least squares, in which what samples say of a part is one equation; `is` stays as it was sampled). Both have
 * more than one run, and the same parts. O(runs * parts * (terms + parts) + parts^3). */
void sparse_parts_of(const struct sparse *model, const struct sparse_parts *old, const struct sparse_parts *new,
		     const struct sparse_costs *costs, struct sparse_part *out);

/* out [model->terms + 1]: the same for the terms of a model, the first for what runs cost without them, by the costs of runs with X alone.
 * excess and noise as above. */
void sparse_terms_of(const struct sparse *model, const struct mat *X, const double *excess, double noise, struct sparse_part *out);

#endif
