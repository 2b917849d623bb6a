/* A catalog in pictures: how much stressors vary over the machines, which move together, and in how many things the machines differ. After
 * section 3 of the paper on quiho (runs/running/quiho.h). Hardware types weigh equally; docs/evidence/statistics.md has the numbers. */
#ifndef GATE_EXPLORE_EXPLORE_H
#define GATE_EXPLORE_EXPLORE_H

#include "base/buf.h"
#include "gate/page/omissions.h"
#include "model/pca.h"
#include "model/profile/features.h"
#include "runs/running/evidence.h"

#include <stddef.h>

/* One stressor over the machines. */
struct explore_stressor {
	const char *name;  /* borrowed */
	size_t machines;   /* that have a rate */
	double *type_rate; /* [n_types] geometric means of the machines' medians, of each type that has one */
	size_t n_types;
	double middle; /* median of the types' */
	double cv;     /* standard deviation / mean of the types' rates; NaN below two types */
	double within; /* the same over the passes of one fingerprint: median of the types' medians; NaN where there is one pass */
};

struct explore {
	const struct evidence *evidence;	 /* borrowed */
	const struct fingerprint **fingerprints; /* [n], by machine, then type: one a machine, or one a hardware type that it had */
	size_t n, machines;			 /* machines: distinct names */
	size_t *type;				 /* [n] < types */
	const char **types;			 /* [types], by name; borrowed */
	size_t n_types;
	struct explore_stressor *stressors; /* [n_stressors], by name */
	size_t n_stressors, measured;	    /* measured: those with a rate anywhere */
	struct features features;	    /* of the medians [n x n_stressors]; zeroed where there are no fingerprints */
	size_t *order;			    /* [features.n] distinct columns, those that move together side by side */
	struct pca pca;			    /* of features.type_logs */
	struct omissions omissions;	    /* machines, fingerprints and stressors that are not in it */
};

/* The fingerprints of that battery, version of stress-ng and architecture that most machines have, the latest of each machine and
 * hardware type. The evidence must outlive *out; explore_release() it. */
void explore_of(const struct evidence *evidence, struct explore *out);
void explore_release(struct explore *explore); /* accepts zeroed */

/* Appends the page: the same data give the same bytes. `lab` is the laboratory's name, or NULL. */
void explore_page(const struct explore *explore, const char *lab, struct buf *out);

#endif
