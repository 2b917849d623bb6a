/* Where in the sources a candidate takes longer than its inputs should, if it is one place: by what the sampling clock met in the runs of
 * both versions (struct cost_places) against what the baseline's model expects of it on these inputs, and by how well the places
 * follow which inputs cost more (model/sparse/sparse_parts.h). A place is what stands behind a loop's test and before that of the next one
 * in the same function, or what stands before the first. */
#ifndef GATE_COST_COST_WHERE_H
#define GATE_COST_COST_WHERE_H

#include "base/document.h"
#include "gate/cost/cost_model.h"
#include "model/sparse/sparse_parts.h"

struct cost_where_place {
	const char *function, *file; /* file: of the line */
	unsigned line;		     /* of the candidate's source, where most was added; 0: not known */
	const char *loop; /* the feature of the baseline's loop that is likeliest in it; NULL: none is known, or it is outside of all */
	double likely;	  /* that it is this function */
	struct sparse_part of; /* part of the cost */
};

struct cost_where {
	struct cost_where_place *items; /* [n], the likeliest first: one of them with .95, where it is one function */
	size_t n;
	double alike; /* how likely it is that all became slower alike */
	bool slower;
	size_t old_inputs, new_inputs; /* that have samples; too few of either: nothing is known */
};

/* What the candidate ran: input[n] of it, with their rows as the fit of all features has them, X [n x fit.n]. Names are borrowed of both;
 * free() items. */
struct cost_where_asked {
	const struct cost_model *model;
	const struct costs *candidate;
	const size_t *input;
	const struct mat *X;
	const double *ratio; /* [n] and usual: of sparse_excess_of(); of inputs that both ran 0 is usual */
	double usual;
	bool slower; /* the candidate certainly is; else nothing is looked for */
};
void cost_where_of(const struct cost_where_asked *asked, struct cost_where *out);

/* A line in words, and the table `slower_at`; nothing where nothing is known. */
void cost_where_answer(const struct cost_where *where, struct document *d);

#endif
