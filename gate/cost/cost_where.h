/* Where in the sources a candidate takes longer than its inputs should, which may be several places: by what the sampling clock met in the
 * runs of both versions (struct cost_places) against what the baseline's model expects of it on these inputs, and by how well the places
 * follow which inputs cost more (model/sparse/excess.h). A place is what stands behind a loop's test and before that of the next one
 * in the same function, or what stands before the first. */
#ifndef GATE_COST_COST_WHERE_H
#define GATE_COST_COST_WHERE_H

#include "base/document.h"
#include "gate/cost/cost_model.h"
#include "model/sparse/excess.h"

struct cost_where_place {
	const char *function, *file; /* file: of the line */
	size_t segment;		     /* its number among all places */
	unsigned line;		     /* of the candidate's source, where most was added; 0: not known */
	const char *loop;	     /* the feature of the baseline's loop; NULL: none is known, or it is outside of all */
	struct sparse_part of;	     /* part of the cost that is expected */
};

struct cost_where {
	struct cost_where_place *items; /* [n], what adds most first, up to all that the runs cost more */
	size_t n;
	double t, all; /* of the intervals, for any of all places; what all runs cost more, or all places add */
};

/* What the candidate ran: input[n] of it, with their rows as the fit of all features has them, X [n x fit.n]. It certainly is slower. */
struct cost_where_asked {
	const struct cost_model *model;
	const struct costs *candidate;
	const size_t *input;
	const struct mat *X;
	const double *excess; /* [n], as a part of what is expected of each */
	double more;	      /* its mean */
};
/* Nothing is known where too few inputs of either have samples. Names are borrowed of both; free() items. */
void cost_where_of(const struct cost_where_asked *asked, struct cost_where *out);

/* Lines in words, and the table `slower_at`. */
void cost_where_answer(const struct cost_where *where, struct document *d);

/* By so much the costs of single runs lie off what the model expects of them: a standard deviation. */
double cost_where_noise(const struct cost_model *model);

#endif
