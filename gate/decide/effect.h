/* Computes an effect with its interval, power and decision from pairs of measurements on machines. docs/evidence/statistics.md has the
 * derivations. The hardware types are the independent units, because machines of one type repeat the same observation. */
#ifndef GATE_DECIDE_EFFECT_H
#define GATE_DECIDE_EFFECT_H

#include "base/document.h"
#include "base/rows.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

#define EFFECT_LEVEL	 .95 /* confidence level of the two-sided interval */
#define EFFECT_POWER	 .80 /* power of the minimum detectable effect */
#define EFFECT_RATIO_MAX 1e6 /* two results that differ by a larger factor cannot be costs of the same work */
#define EFFECT_TYPES_MIN                                                                                                                   \
	3 /* minimum number of hardware types for an interval over types; with fewer, the repetitions within machines give the interval */

/* The decisions, in the order of the documentation: constant, text in answers, exit status. */
#define DECISION_ROWS(X)                                                                                                                   \
	X(DECISION_PASS, "pass", 0)                                                                                                        \
	X(DECISION_IMPROVED, "improved", 0)                                                                                                \
	X(DECISION_REGRESSION, "regression", 3)                                                                                            \
	X(DECISION_INCONCLUSIVE, "inconclusive", 4)                                                                                        \
	X(DECISION_ENVIRONMENT, "environment", 5)                                                                                          \
	X(DECISION_NOTHING_MEASURED, "nothing_measured", 6)

enum decision { DECISION_ROWS(ROWS_ENUM) DECISIONS };

const char *decision_text(enum decision decision);
enum decision decision_parse(const char *text); /* returns DECISION_NOTHING_MEASURED if `text` names no decision */
int decision_exit_status(enum decision decision);
enum answer_tone decision_tone(enum decision decision);
/* Reports whether the decision is a finding: regression or improved. */
bool decision_is_finding(enum decision decision);
/* Returns the rank of a decision, from 0 (the worst) to DECISIONS - 1. */
int decision_rank(enum decision decision);

/* Returns the first clause of `text`, the first reason of an inconclusive or environment decision. Returns "" for other decisions, and if
 * `code` is a reason that only describes the interval. free() the result. */
char *decision_first_reason(enum decision decision, const char *code, const char *text);

/* Returns the decision by the interval, after rounding by stats_round(): regression if low > 1 and ratio >= 1 + min_effect; improved if
 * high < 1 and ratio <= 1 / (1 + min_effect); otherwise pass if high < 1 + min_effect; otherwise, also for NaN, inconclusive. */
enum decision effect_decide(double ratio, double low, double high, double min_effect);

/* The change of cost on one machine that ran both versions. */
struct effect_pair {
	size_t type;	  /* index of the machine's hardware type, below n_types */
	double log_ratio; /* log of cost(candidate) / cost(baseline), from medians of repetitions; above 0 is worse */
	double noise;	  /* standard error of log_ratio from the repetitions on the machine (docs/evidence/statistics.md has the factor for
			     medians); 0 if not known */
	double noise_df;  /* degrees of freedom of `noise`; 0 if not known */
	bool is_interleaved; /* log_ratio comes from pairs of consecutive runs, so a drift of the machine affects both versions equally */
};

#define EFFECT_PAIRS_MIN 6 /* fewer pairs all have the same sign by chance in more than 5 % of cases */
/* Sets log_ratio, noise and noise_df from the log ratios of n > 1 pairs. log_ratio is the median of all means of two log ratios (Hodges and
 * Lehmann, Annals of Mathematical Statistics 34(2), 1963). `noise` is such that Student's interval of level EFFECT_LEVEL contains
 * Wilcoxon's. For at most EFFECT_PAIRS_MIN or more than 1000 pairs, sets the mean and its standard error instead. O(n^2 log n). */
void effect_estimate_pair(const double *logs, size_t n, struct effect_pair *out);

struct effect {
	size_t types; /* number of hardware types with at least one pair */
	double ratio, low,
	    high;     /* ratio of costs and its interval; low and high are NaN if there are one or two types, and the noise is not known */
	double level; /* confidence level of the interval, as requested */
	double minimum_detectable; /* relative slowdown, 0.05 = 5 %; NaN if low and high are NaN */
	bool within; /* true if the interval comes from repetitions within machines, because there are fewer than EFFECT_TYPES_MIN types; it
			then holds only for these machines */
	double pattern_p; /* p-value of equal ratios on all types, given the noise within machines; NaN if it cannot be tested */
	enum decision decision;
};

/* Rank statistics of all pairs of a baseline's and a candidate's result on the same machine (Mann and Whitney, Annals of Mathematical
 * Statistics 18(1), 1947). They do not assume a distribution of the results. All members are 0 if there are no pairs. */
struct effect_ranks {
	double
	    ahead;   /* number of pairs in which the candidate costs more (ties count half), minus the number expected for equal versions */
	double most; /* largest possible value of `ahead`: every result of the candidate costs more than every result of the baseline */
	double variance; /* variance of `ahead` for equal versions */
};

/* Properties of all pairs together (pairing.h). All members are 0 if they are not known. */
struct effect_common {
	double error, df; /* standard error that the log ratios of all types share, which is added to that of the mean; its degrees of
			     freedom, at least 1 unless `error` is 0 */
	struct effect_ranks ranks;
};

struct effect_request {
	double min_effect; /* smallest relative slowdown that matters to the user, above 0 */
	double level; /* confidence level of the interval: EFFECT_LEVEL, or the higher level of an interim analysis (analysis_level()) */
};

/* Returns the effect of pairs[n]; DECISION_NOTHING_MEASURED if n is 0. `common` may be NULL. Its `error` is used with at least
 * EFFECT_TYPES_MIN types, its `ranks` with fewer types. */
struct effect effect_compute(const struct effect_pair *pairs, size_t n, size_t n_types, const struct effect_request *asked,
			     const struct effect_common *common);

/* The result of one comparison. */
struct effect_finding {
	double ratio;	       /* ratio of costs; NaN if nothing was measured */
	enum decision finding; /* decision of the comparison, which need not be a finding */
};

/* Returns regression or improved if nearly all comparisons changed in that direction, and enough of them are findings. The machines are
 * then the likely cause. Otherwise returns DECISIONS. Ignores comparisons without a ratio, for example with failed runs. */
enum decision effects_find_common_direction(const struct effect_finding *all, size_t n, double min_effect);

#define PATTERN_LEVEL .05 /* significance level: if pattern_p is smaller, the ratio differs between hardware types */

/* Constant, code in answers, sentence for users. */
#define PATTERN_ROWS(X)                                                                                                                    \
	X(PATTERN_NOT_TESTED, "not_tested", "too few hardware types or repetitions for a classification")                                  \
	X(PATTERN_NO_CHANGE, "neither", "no visible change, neither in the mean nor between hardware types")                               \
	X(PATTERN_CPU_TIME, "processor_time",                                                                                              \
	  "CPU time decided; the metric has no visible change, neither in the mean nor between hardware types")                            \
	X(PATTERN_UNIFORM, "uniform", "the ratio is the same on all hardware types within the noise: more or less of the same work")       \
	X(PATTERN_OTHER_RESOURCE, "other_resource", "the ratio differs between hardware types: a resource is used more or less than before")

enum effect_pattern { PATTERN_ROWS(ROWS_ENUM) };
const char *effect_pattern_code(enum effect_pattern effect_pattern);
const char *effect_pattern_text(enum effect_pattern effect_pattern);

/* Returns the kind of change: pattern_p tests whether the ratio differs between types; if not, the interval tests whether the mean changed.
 */
enum effect_pattern effect_pattern_classify(const struct effect *effect);

/* Returns a confidence level as text for users: "99.69 %". */
struct text_number effect_format_level(double level);

/* Returns an interval as text for a table: "1.070 to 1.554 (99.69 %)". Omits the level if `level` is NaN or 0. */
struct effect_text {
	char text[96];
} effect_format_interval(double low, double high, double level, int decimals);

/* Interim analyses ("looks") can decide before all runs are made. Without a correction, each look adds its own error probability (0.05
 * becomes 0.15 with five looks). Here each look spends a part of the 5 %, in proportion to the runs that it adds (linear spending: Lan and
 * DeMets, Biometrika 70(3), 1983). The union bound also holds for dependent looks. Four other rules are in docs/evidence/nightly.md. */
#define ANALYSES_MAX 5

/* Returns the number of repetitions at look 1, 2, ... ANALYSES_MAX: `first` at look 1, doubled at each later look. */
int64_t analysis_repetitions(int64_t first, int look);

/* Returns the confidence level of the interval at this look. `last` states that no look follows, whatever the result, for example because
 * the budget is used up. The last look spends the rest of the 5 %. */
double analysis_level(int look, bool last);

#endif
