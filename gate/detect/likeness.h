/* Finds functions that look like the stressors whose part of the time grew: it compares the counters in a function's added time with those
 * in the time of each stressor. */
#ifndef GATE_DETECT_LIKENESS_H
#define GATE_DETECT_LIKENESS_H

#include "gate/decide/contributions.h"
#include "gate/detect/function_evidence.h"
#include "runs/running/evidence.h"

#define LIKENESS_FUNCTIONS 5   /* number of leading functions that are compared */
#define LIKENESS_LEVEL	   .05 /* largest p, for all functions together */
#define LIKENESS_LEAST	   .5  /* least similarity of a match, however certain it is */
#define LIKENESS_ADDED_MIN .05 /* least added part of a function's time, so that there is added time to compare */

/* Similarity of a group of stressors, against other stressors. */
struct likeness_match {
	double similarity; /* mean over its members */
	double p;	   /* probability that as many stressors, drawn at random from all, are as similar */
	size_t as_similar; /* stressors outside the group that are at least as similar as the group */
};

struct likeness_function {
	const char *name;      /* borrowed */
	const char *missing;   /* reason why it is not compared; NULL: it is */
	const char *most_like; /* the most similar stressor; borrowed */
	double most_similarity;
	struct likeness_match group; /* p: for one function; NaN: there is no group */
	bool matches;		     /* similar enough, and not by chance, also of so many functions */
};

struct likeness {
	char *missing;			  /* reason why nothing is compared; NULL: it is, or there is nothing to compare */
	const char *no_group;		  /* reason why no group is compared; NULL: one is */
	const struct contribution *group; /* the group that grew most (of an improvement: shrank); borrowed; NULL: none */
	size_t members;			  /* members of the group with counter signatures */
	const char **counters;		  /* [n_counters] counters that both have and that differ between stressors; borrowed */
	size_t n_counters;
	const char *unit; /* counter that measures time; borrowed */
	size_t stressors, fingerprints;
	bool improved;			     /* the time decreased */
	struct likeness_function *functions; /* [n], in the order of the detector */
	size_t n;
};

/* Compares the leading functions. All arguments must outlive *out, which is overwritten; likeness_release() it. Never fails: problems are
 * in `missing`. Without changed functions it is empty. Cost: reads the counters of these machines' fingerprints. */
void likeness_of(struct lab *lab, const struct evidence *evidence, const struct verdict *verdict, const struct contributions *contributions,
		 const struct function_evidence *functions, struct likeness *out);
void likeness_release(struct likeness *likeness); /* accepts zeroed */

/* Adds the member "signatures", null if empty, and some lines for users. */
void likeness_add(const struct likeness *likeness, struct document *d);

#endif
