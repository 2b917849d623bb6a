/* Where in the sources a candidate takes longer than its inputs should: functions by what the sampling clock met of them in the runs of
 * both versions (runs/running/cost_places.h), each against what the baseline's model expects of it on these inputs (model/sparse/parts.h),
 * and in each the loop. What a loop takes is what stands behind its test and before that of the next one in the same function. */
#ifndef GATE_COST_COST_WHERE_H
#define GATE_COST_COST_WHERE_H

#include "base/document.h"
#include "gate/cost/cost_model.h"
#include "model/sparse/parts.h"

struct cost_where_place {
	const char *function, *file;	/* file: of the line */
	unsigned line;			/* of the candidate's source, where most was added; 0: not known */
	const char *loop;		/* the feature of the baseline's loop to which most was added; NULL: none is known */
	struct sparse_part of, in_loop; /* parts of the cost */
};

struct cost_where {
	struct cost_where_place *items; /* [n], which certainly (.95, one by one) take longer, those that take most first */
	size_t n;
	size_t old_inputs, new_inputs; /* that have samples; too few of either: nothing is known */
};

/* What the candidate ran: input[n] of it, with their rows as the fit of all features has them, X [n x fit.n]. Names are borrowed of both;
 * free() items. */
struct cost_where_asked {
	const struct cost_model *model;
	const struct costs *candidate;
	const size_t *input;
	const struct mat *X;
};
void cost_where_of(const struct cost_where_asked *asked, struct cost_where *out);

/* A line in words, and the table `slower_at`; nothing where nothing is known. */
void cost_where_answer(const struct cost_where *where, struct document *d);

#endif
