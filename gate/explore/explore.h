/* A catalog in pictures: how much every stressor varies over the machines, which move together, how many things the machines
 * really differ in, and what applications stress. Hardware types weigh equally; docs/evidence/statistics.md has the numbers. */
#ifndef GATE_EXPLORE_EXPLORE_H
#define GATE_EXPLORE_EXPLORE_H

#include "base/buf.h"
#include "gate/page/parts.h"
#include "model/profile/features.h"
#include "model/pca.h"
#include "runs/running/evidence.h"

#include <stdbool.h>
#include <stddef.h>

/* One stressor over the machines. */
struct explore_stressor {
	const char *name;  /* borrowed */
	size_t machines;   /* that have a rate */
	double *type_rate; /* [types] geometric mean of the machines' medians; NaN where none has one */
	double middle;	   /* median of the types' */
	double cv;	   /* standard deviation / mean of the types' rates; NaN below two types */
	double within;	   /* the same over the passes of one fingerprint: median of the types' medians; NaN where there is one pass */
};

struct explore {
	const struct evidence *evidence;	 /* borrowed */
	const struct fingerprint **fingerprints; /* [n], by machine, then time: one a machine, or one a hardware type that it had */
	size_t n, machines;			 /* machines: distinct names */
	size_t *type;				 /* [n] < types */
	const char **types;			 /* [types], by name; borrowed */
	size_t n_types;
	struct explore_stressor *stressors; /* [n_stressors], those with a rate anywhere, by name */
	size_t n_stressors;

	struct mat rates;	  /* [n x n_stressors] medians; NaN: not measured */
	struct features features; /* of rates; zeroed where there are no fingerprints */
	size_t *order;		  /* [features.n] distinct columns, those that move together side by side */
	struct mat correlation;	  /* [features.n x features.n] Spearman's over the types, by distinct column */
	struct pca pca;		  /* of features.type_logs */

	struct omissions omissions; /* machines, fingerprints and stressors that are not in it */
};

/* The fingerprints of that battery, version of stress-ng and architecture that most machines have, the latest of each machine and
 * hardware type. The evidence must outlive *out; explore_release() it. */
void explore_of(const struct evidence *evidence, struct explore *out);
void explore_release(struct explore *explore); /* accepts zeroed */

/* A version of an application with its profile, which is not fitted where there is too little. */
struct explore_application {
	struct run_set runs;
	struct page_profile shown;
};

/* Takes over the runs (and zeroes them). What the profile leaves out is added to the omissions. *out may not move. */
void explore_application_of(const struct evidence *evidence, struct run_set *runs, struct explore_application *out,
			    struct omissions *omissions);
void explore_application_release(struct explore_application *application); /* accepts zeroed */

/* Appends the page: the same data give the same bytes. `omissions`: what the applications left out, and applications that are not
 * shown. `lab` is the laboratory's name, or NULL. */
void explore_page(const struct explore *explore, const struct explore_application *applications, size_t n,
		  const struct omissions *omissions, const char *lab, struct buf *out);

/* The section about principal components. */
void explore_components(struct document *d, const struct explore *explore);

#endif
