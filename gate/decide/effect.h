/* From paired measurements on machines to an effect with an interval, its power, and a decision. docs/evidence/statistics.md has the
 * derivations. The unit of independence is the hardware type: machines of one type say the same thing several times. */
#ifndef GATE_DECIDE_EFFECT_H
#define GATE_DECIDE_EFFECT_H

#include "base/error.h"
#include "base/mat.h"
#include "base/rows.h"

#include <stdbool.h>
#include <stdint.h>

#define EFFECT_LEVEL .95 /* of the two-sided interval */
#define EFFECT_POWER .80 /* at which the minimum detectable effect is stated */
#define EFFECT_TYPES_MIN 3 /* with fewer hardware types the repetitions within machines are tested instead */

/* Decisions of the contracts; the order of the rows is their order in documentation. Name, text in output, exit status. */
#define DECISION_ROWS(X)                                   \
	X(DECISION_PASS, "pass", 0)                        \
	X(DECISION_IMPROVED, "improved", 0)                \
	X(DECISION_REGRESSION, "regression", 3)            \
	X(DECISION_INCONCLUSIVE, "inconclusive", 4)        \
	X(DECISION_ENVIRONMENT, "environment", 5)          \
	X(DECISION_NOTHING_MEASURED, "nothing_measured", 6)

enum decision { DECISION_ROWS(ROWS_ENUM) };

const char *decision_text(enum decision decision);
int decision_exit(enum decision decision);
int decision_colour(enum decision decision); /* on a terminal, of the 256 */

/* One machine that ran both versions: log of cost(candidate) / cost(baseline), above 0 is worse. */
struct effect_pair {
	size_t type;      /* index of the machine's hardware type, < n_types */
	double log_ratio; /* of medians of repetitions */
	double noise;     /* standard error of log_ratio (of medians: docs/evidence/statistics.md has the factor) from the repetitions within
			   * the machine; 0 when unknown */
	double noise_df;  /* degrees of freedom of noise; 0 when unknown */
};

struct effect {
	size_t types;            /* hardware types with at least one pair */
	double ratio, low, high; /* of costs; low and high NaN with one type and unknown noise */
	double minimum_detectable; /* relative slowdown, .05 = 5 %; NaN as low and high */
	bool within;             /* the interval is of the repetitions within machines, since there are fewer than EFFECT_TYPES_MIN types:
				  * it speaks for these machines only */
	bool uniform;            /* the ratio is the same on all types within the noise: no evidence of another shape.
				  * Says nothing, and is true, while shape_p is NaN */
	double shape_p;          /* p of that: the spread over types against the noise within machines; NaN when it cannot be tested */
	enum decision decision;
};

/* What else the types' log ratios are off by, all of them together (order.h). Zeroed: nothing. */
struct effect_common {
	bool as_one;      /* what makes the types differ may concern all of them alike: their mean is no better known than one of them */
	double error, df; /* a further standard error of the mean, with its degrees of freedom (at least 1 unless the error is 0) */
};

/* pairs[n]; min_effect > 0 is the smallest relative slowdown that matters to the user; common may be NULL, and is looked at when there
 * are EFFECT_TYPES_MIN types. n == 0 gives DECISION_NOTHING_MEASURED. */
struct effect effect_of(const struct effect_pair *pairs, size_t n, size_t n_types, double min_effect, const struct effect_common *common);

/* The decision rule alone, on values rounded by stats_round(): regression when low > 1 and ratio >= 1 + min_effect; improved the
 * mirror (high < 1 and ratio <= 1 / (1 + min_effect)); pass when high < 1 + min_effect; else inconclusive. NaN is inconclusive. */
enum decision effect_decide(double ratio, double low, double high, double min_effect);

/* The relative slowdown that effect_decide() calls a regression with probability EFFECT_POWER, when the types' log ratios are
 * normal with standard deviation sd and there are `types` >= 2 of them. */
double effect_minimum_detectable(double sd, size_t types, double min_effect);
/* The same for any estimate of a log ratio with standard error `error` at df degrees of freedom, df >= 1. */
double effect_minimum_detectable_of(double error, double df, double min_effect);

/* One stressor's part in how the ratio varies over hardware types. */
struct effect_resource {
	size_t feature;     /* column */
	double correlation; /* Pearson's, of the types' log ratios with the types' log rates */
	double p;           /* share of permutations in which the largest |correlation| of any feature reaches this one's: corrected
			     * for looking at all features */
	double low, high;   /* 95 % interval of the correlation, by Fisher's transformation; NaN with fewer than 4 types */
	bool alike;         /* it cannot be told apart from the leading one (Williams's test at 5 %); the leading one is itself */
};

/* log_ratio [types], log_rate [types x features] (finite; constant columns get correlation 0 and p 1). out [features] is sorted
 * by |correlation|, largest first, ties by column. All permutations when there are at most `permutations` of them, else that many
 * drawn with the seed. Fewer than 4 types: every p is 1, since no permutation test can say anything at 5 %. */
void effect_resources(const double *log_ratio, const struct mat *log_rate, size_t permutations, uint64_t seed,
		      struct effect_resource *out);

#endif
