/* The method that quiho publishes to compare two versions. It walks down the ranking of the baseline's profile (gate/profile/profile.h)
 * and stops at the first stressor whose importance differs. The benchmarks compare the method with the gate. It flags most unchanged
 * versions, misses a uniform slowdown, and cannot distinguish better from worse. docs/evidence/statistics.md has the measurements.
 * Source: Jimenez et al., "quiho", ICPE 2018, section 3.3. */
#ifndef TESTS_BENCH_WALK_H
#define TESTS_BENCH_WALK_H

#include "gate/decide/effect.h"
#include "runs/running/evidence.h"

#define WALK_EPSILON 10.0 /* in points; the most important stressor of a profile has 100 points */

/* Importances of stressors in the paper's model, in points. */
struct walk_profile {
	const char **features; /* [n], sorted by name; borrowed from the evidence */
	double *points;	       /* [n]; all 0 if no tree of the model has a split */
	size_t n;
};

/* Computes the profile of `runs` in 50 ms. `*out` borrows from the evidence. Returns ASSAY_E_NODATA as paper_profile_fit() does. */
enum assay_status walk_profile_of(const struct evidence *evidence, const struct run_set *runs, struct walk_profile *out,
				  struct assay_error *err);
void walk_profile_release(struct walk_profile *profile);

struct walk_step {
	const char *feature;	    /* borrowed */
	double baseline, candidate; /* in points; 0 if the profile does not contain the feature */
};

struct walk {
	double epsilon;
	struct walk_step *steps; /* [n], by descending importance in the baseline, ties by name */
	size_t n;
	size_t stopped;		/* index of the step at which the walk stopped; n if it did not stop */
	double distance;	/* largest difference of all steps; the walk does not stop if epsilon is at least this large */
	enum decision decision; /* DECISION_REGRESSION if the walk stopped, otherwise DECISION_PASS */
};

/* Compares two profiles by the walk. epsilon >= 0. The caller releases `*out` by walk_release(). */
void walk_of(const struct walk_profile *baseline, const struct walk_profile *candidate, double epsilon, struct walk *out);
void walk_release(struct walk *walk);

#endif
