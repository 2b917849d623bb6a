/* Which functions look like the stressors whose part of the time grew: what a function's added time is made of, by its counters,
 * against what the time of each stressor is made of. */
#ifndef GATE_DETECT_LIKENESS_H
#define GATE_DETECT_LIKENESS_H

#include "gate/decide/contributions.h"
#include "gate/detect/function_evidence.h"
#include "runs/running/evidence.h"

#define LIKENESS_FUNCTIONS 5   /* leading ones that are compared */
#define LIKENESS_LEVEL	   .05 /* of p, for all functions together */
#define LIKENESS_LEAST	   .5  /* a function that is less similar does not look like the group, however certain it is */
#define LIKENESS_ADDED_MIN .05 /* of a function's time: what took hardly longer has no added time to look at */

/* Is a group of stressors more similar than others? */
struct likeness_match {
	double similarity; /* mean over its members */
	double p;	   /* that as many stressors, drawn at random, are as similar, the members among them */
	size_t as_similar; /* stressors outside the group that are at least as similar as the group */
};

struct likeness_function {
	const char *name;      /* borrowed */
	const char *missing;   /* why it is not compared; NULL: it is */
	const char *most_like; /* the most similar stressor; borrowed */
	double most_similarity;
	struct likeness_match group; /* p as it is for one function; NaN: there is no group */
	bool matches;		     /* similar enough, and that is hardly chance, even of so many functions */
};

struct likeness {
	char *missing;			  /* why nothing is compared; NULL: it is, or there is nothing to compare */
	const char *no_group;		  /* why it is not compared with a group; NULL: it is */
	const struct contribution *group; /* that grew most (shrank, of an improvement); borrowed; NULL: none */
	size_t members;			  /* of the group, that have signatures */
	const char **counters;		  /* [n_counters] that both have, and that differ between stressors; borrowed */
	size_t n_counters;
	const char *unit; /* counter of the time; borrowed */
	size_t stressors, fingerprints;
	bool improved;			     /* it is time that is gone */
	struct likeness_function *functions; /* [n], as they were found */
	size_t n;
};

/* All arguments must outlive *out, which is overwritten; likeness_release() it. Never fails: what goes wrong is `missing`.
 * Without functions that changed it is empty. Cost: reading the counters of these machines' fingerprints. */
void likeness_of(struct lab *lab, const struct evidence *evidence, const struct verdict *verdict, const struct contributions *contributions,
		 const struct function_evidence *functions, struct likeness *out);
void likeness_release(struct likeness *likeness); /* accepts zeroed */

/* Adds the member "signatures", null where it is empty, and some lines for people. */
void likeness_add(const struct likeness *likeness, struct document *d);

#endif
