/* Finds functions that resemble the stressors whose part of the time grew: compares the counters in a function's added time with the
 * counters in the time of each stressor. */
#ifndef GATE_DETECT_LIKENESS_H
#define GATE_DETECT_LIKENESS_H

#include "gate/decide/contributions.h"
#include "gate/detect/function_evidence.h"
#include "runs/running/evidence.h"

#define LIKENESS_FUNCTIONS 5   /* number of leading functions that are compared */
#define LIKENESS_LEVEL	   .05 /* maximum p of a match, for all functions together */
#define LIKENESS_LEAST	   .5  /* minimum similarity of a match, even of a certain match */
#define LIKENESS_ADDED_MIN .05 /* minimum added part of a function's time; with less there is too little to compare */

/* Similarity of a function and a group of stressors, compared with other stressors. */
struct likeness_match {
	double similarity; /* mean over the members of the group */
	double p;	   /* probability that as many stressors, drawn at random from all, are as similar */
	size_t as_similar; /* number of stressors outside the group that are at least as similar as the group */
};

struct likeness_function {
	const char *name;      /* name of the function; borrowed */
	const char *missing;   /* reason why the function is not compared; NULL: compared */
	const char *most_like; /* the most similar stressor; borrowed */
	double most_similarity;
	struct likeness_match group; /* similarity to the group; p is for one function; NaN: there is no group */
	bool matches;		     /* similar enough, and not by chance, corrected for the number of functions */
};

struct likeness {
	char *missing;			  /* reason why nothing is compared; NULL: functions are, or there are none */
	const char *no_group;		  /* reason why no group is compared; NULL: a group is compared */
	const struct contribution *group; /* the group that grew most (for an improvement, shrank most); borrowed; NULL: none */
	size_t members;			  /* number of members of the group with counter signatures */
	const char **counters; /* [n_counters] counters that functions and stressors have and that differ between stressors; borrowed */
	size_t n_counters;
	const char *unit; /* counter that measures time; borrowed */
	size_t stressors, fingerprints;
	bool improved;			     /* the time decreased */
	struct likeness_function *functions; /* [n] in the order of the detector */
	size_t n;
};

/* Compares the leading functions into *out, which is overwritten; likeness_release() it. All arguments must outlive *out. Never fails:
 * problems are in `missing`. Without changed functions *out is empty. Reads the counters of the fingerprints of these machines. */
void likeness_of(struct lab *lab, const struct evidence *evidence, const struct verdict *verdict, const struct contributions *contributions,
		 const struct function_evidence *functions, struct likeness *out);
void likeness_release(struct likeness *likeness); /* accepts zeroed */

/* Adds the member "signatures", which is null if empty, and some lines for users. */
void likeness_add(const struct likeness *likeness, struct document *d);

#endif
