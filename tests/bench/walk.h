/* The comparison of two versions as published with quiho: walk down the ranking of the baseline's profile (gate/profile/profile.h)
 * and stop at the first stressor whose importance differs. For comparison with the gate: most unchanged versions look changed to it, a
 * uniform slowdown does not, and it cannot tell whether a change is for the worse. docs/evidence/statistics.md has the measurements.
 * Source: Jimenez et al., "quiho", ICPE 2018, section 3.3. */
#ifndef TESTS_BENCH_WALK_H
#define TESTS_BENCH_WALK_H

#include "gate/decide/effect.h"
#include "runs/running/evidence.h"

#define WALK_EPSILON 10.0 /* in points, of which the most important stressor of a profile has 100 */

/* Importances of the paper's model, in points. */
struct walk_profile {
	const char **features; /* [n], in name order; borrowed from the evidence */
	double *points;	       /* [n]; all 0 when no tree split */
	size_t n;
};

/* ASSAY_E_NODATA as paper_profile_of(). The evidence must outlive *out; walk_profile_release() it. One fit, some 50 ms. */
enum assay_status walk_profile_of(const struct evidence *evidence, const struct run_set *runs, struct walk_profile *out,
				  struct assay_error *err);
void walk_profile_release(struct walk_profile *profile);

struct walk_step {
	const char *feature;	    /* borrowed */
	double baseline, candidate; /* points; 0 where a profile does not have it */
};

struct walk {
	double epsilon;
	struct walk_step *steps; /* [n], most important of the baseline first, ties by name */
	size_t n;
	size_t stopped;		/* the step at which it stopped; n: it did not */
	double distance;	/* the largest difference of all steps: with an epsilon of at least that it does not stop */
	enum decision decision; /* regression when it stopped, else pass */
};

/* epsilon >= 0. walk_release() *out. */
void walk_of(const struct walk_profile *baseline, const struct walk_profile *candidate, double epsilon, struct walk *out);
void walk_release(struct walk *walk);

#endif
