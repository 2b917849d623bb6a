/* What a change has to do with: the stressors whose rates it follows over the hardware types, and its kind. Is it more of the same work, or
 * another resource? Did the mean over the types change (the interval of the ratio)? Does the ratio differ between types by more than noise?
 * And if so, did all of the work change as well? docs/evidence/statistics.md, "Uniform, or another resource?", has the rule and its error
 * rates. */
#ifndef GATE_DECIDE_CAUSE_H
#define GATE_DECIDE_CAUSE_H

#include "base/mat.h"
#include "base/rows.h"
#include "gate/decide/effect.h"

#define CAUSE_LEVEL	.05 /* of the test whether the ratio differs by type, and then of what it follows */
#define CAUSE_TYPES_MIN 4   /* fewer have at most 3! = 6 permutations, and no residual when a line is fitted */

/* One stressor's part in how the ratio varies over hardware types. */
struct cause_resource {
	size_t feature;	    /* column */
	double correlation; /* Pearson's, of the types' log ratios with the types' log rates */
	double p;	    /* share of permutations in which the largest |correlation| of any feature reaches this one's: corrected
			     * for looking at all features */
	double low, high;   /* 95 % interval of the correlation, by Fisher's transformation; NaN with fewer than 4 types */
	bool alike;	    /* it cannot be distinguished from the leading one (Williams's test at 5 %); the leading one is itself */
};

/* Which stressors' rates vary over the hardware types as the effect does: correlations, with the permutation distribution of the largest
 * one (Westfall and Young, Resampling-Based Multiple Testing, 1993, single-step maxT), which corrects for looking at all of them and for
 * their correlation with each other. log_ratio [types], log_rate [types x features] (finite; constant columns get correlation 0 and p 1).
 * out [features] is sorted by |correlation|, largest first, ties by column. All permutations when there are at most `permutations` of them,
 * else that many drawn with the seed. With fewer than CAUSE_TYPES_MIN types every p is 1: no permutation test can reach 5 %. */
void cause_resources(const double *log_ratio, const struct mat *log_rate, size_t permutations, uint64_t seed, struct cause_resource *out);

/* Kinds of change: constant, word in answers, sentence. */
#define CAUSE_ROWS(X)                                                                                                                      \
	X(CAUSE_NOT_TESTED, "not_tested", "too few hardware types or repetitions to tell")                                                 \
	X(CAUSE_NEITHER, "neither", "no change is visible, neither in the mean nor between hardware types")                                \
	X(CAUSE_PROCESSOR, "processor_time", "CPU time decided; of the metric no change is visible, nor between hardware types")           \
	X(CAUSE_UNIFORM, "uniform", "the ratio is the same on all hardware types within the noise: more or less of the same work")         \
	X(CAUSE_OTHER_RESOURCE, "other_resource", "the ratio differs between hardware types: a resource is used more or less than before") \
	X(CAUSE_BOTH, "both", "a resource is used more or less than before, and all of the work changed as well")

enum cause_word { CAUSE_ROWS(ROWS_ENUM) };

const char *cause_text(enum cause_word word);
const char *cause_sentence(enum cause_word word);

struct cause {
	enum cause_word word;
	double p;	  /* that the ratio is the same on all types, corrected for testing that in two ways; NaN: not tested */
	bool by_type;	  /* it is not: p is below CAUSE_LEVEL. All that speaks of it asks this */
	bool follows;	  /* p is that of the leading correlation; false: of the spread against the noise within machines */
	double uniform;	  /* relative change of all other work, .05 = 5 %; NaN where the ratio does not differ by type */
	double low, high; /* its 95 % interval, over all resources that explain the rest nearly as well */
	size_t feature;	  /* the resource that explains the rest best; SIZE_MAX: none was sought */
	size_t as_well;	  /* how many explain it nearly as well, itself included */
};

/* By type: log_ratio and log_cost (of the baseline) [types], log_rate [types x features]; resources [features] as of cause_resources() of
 * them. The effect is that of the same machines. */
struct cause cause_of(const struct effect *effect, const double *log_ratio, const double *log_cost, const struct mat *log_rate,
		      const struct cause_resource *resources);

#endif
