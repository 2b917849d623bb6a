/* Finds functions that resemble the stressors whose part of the time grew, by the counters of the functions and of the stressors. */
#ifndef GATE_DETECT_LIKENESS_H
#define GATE_DETECT_LIKENESS_H

#include "gate/decide/contributions.h"
#include "gate/detect/function_evidence.h"
#include "runs/running/evidence.h"

#define LIKENESS_FUNCTIONS	5   /* number of leading functions to compare */
#define LIKENESS_LEVEL		.05 /* maximum p of a match, for all functions together */
#define LIKENESS_SIMILARITY_MIN .5  /* minimum similarity of a match, even if chance does not explain it */
#define LIKENESS_ADDED_MIN	.05 /* minimum added fraction of a function's time; if less was added, there is too little to compare */

/* Similarity of a function to a group of stressors, compared with other stressors. */
struct likeness_match {
	double similarity;   /* mean over the members of the group */
	double p;	     /* probability that as many stressors, drawn at random from all, are as similar */
	size_t n_as_similar; /* number of stressors outside the group that are at least as similar as the group */
};

struct likeness_function {
	const char *name;	  /* name of the function; borrowed */
	const char *missing;	  /* reason why the function was not compared; NULL if it was */
	const char *most_similar; /* most similar stressor; borrowed */
	double most_similarity;
	struct likeness_match group; /* similarity to the group, with p for one function; NaN if there is no group */
	bool is_match;		     /* similar enough, and not by chance after correction for the number of functions */
};

struct likeness {
	char *missing;			  /* reason why no function was compared; NULL if functions were compared, or if there are none */
	const char *no_group_reason;	  /* reason why no group was compared; NULL if one was */
	const struct contribution *group; /* group that grew most (for an improvement, fell most); borrowed; NULL if there is none */
	size_t members;			  /* number of members of the group that have counters */
	const char **counters; /* [n_counters], counters that functions and stressors have, and that differ between stressors; borrowed */
	size_t n_counters;
	const char *unit; /* counter that measures time; borrowed */
	size_t stressors, fingerprints;
	bool improved;			     /* the time decreased */
	struct likeness_function *functions; /* [n], in the detector's order */
	size_t n;
};

/* Compares the leading functions with stressors, by the counters of the fingerprints of these machines. Overwrites *out; the caller calls
 * likeness_release(). All arguments must outlive *out. Reports errors in `missing`. If no function changed, *out is empty. */
void likeness_compute(struct lab *lab, const struct evidence *evidence, const struct verdict *verdict,
		      const struct contributions *contributions, const struct function_evidence *functions, struct likeness *out);
void likeness_release(struct likeness *likeness); /* Accepts a zeroed struct. */

/* Adds the member "signatures", which is null if nothing was compared, and some lines for users. */
void likeness_describe(const struct likeness *likeness, struct document *d);

#endif
