/* From paired measurements on machines to an effect with an interval, its power, and a decision. docs/evidence/statistics.md has the
 * derivations. The unit of independence is the hardware type: machines of one type repeat the same observation. */
#ifndef GATE_DECIDE_EFFECT_H
#define GATE_DECIDE_EFFECT_H

#include "base/document.h"
#include "base/rows.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

#define EFFECT_LEVEL	 .95 /* of the two-sided interval */
#define EFFECT_POWER	 .80 /* at which the minimum detectable effect is stated */
#define EFFECT_RATIO_MAX 1e6 /* two results that differ by more are not costs of the same work */
#define EFFECT_TYPES_MIN 3   /* with fewer hardware types the repetitions within machines are tested instead */

/* The decisions, in the order of the documentation: constant, word in answers, exit status. */
#define DECISION_ROWS(X)                                                                                                                   \
	X(DECISION_PASS, "pass", 0)                                                                                                        \
	X(DECISION_IMPROVED, "improved", 0)                                                                                                \
	X(DECISION_REGRESSION, "regression", 3)                                                                                            \
	X(DECISION_INCONCLUSIVE, "inconclusive", 4)                                                                                        \
	X(DECISION_ENVIRONMENT, "environment", 5)                                                                                          \
	X(DECISION_NOTHING_MEASURED, "nothing_measured", 6)

enum decision { DECISION_ROWS(ROWS_ENUM) DECISIONS };

const char *decision_text(enum decision decision);
enum decision decision_by_text(const char *text); /* DECISION_NOTHING_MEASURED where it is none */
int decision_exit(enum decision decision);
enum doc_tone decision_tone(enum decision decision);
/* Is it a finding: regression or improved? */
bool decision_is_finding(enum decision decision);
/* Its place among several that all count: 0 is the worst. */
int decision_place(enum decision decision);

/* Why a decision is inconclusive or environment: the clause that its first reason starts with. "" of other decisions, and where the
 * interval says it. free() it. */
char *decision_why(enum decision decision, const char *code, const char *text);

/* The decision by an interval alone, on values rounded by stats_round(): regression when low > 1 and ratio >= 1 + min_effect; improved the
 * mirror (high < 1 and ratio <= 1 / (1 + min_effect)); pass when high < 1 + min_effect; else inconclusive. NaN is inconclusive. */
enum decision effect_decide(double ratio, double low, double high, double min_effect);

/* One machine that ran both versions: log of cost(candidate) / cost(baseline), above 0 is worse. */
struct effect_pair {
	size_t type;	  /* index of the machine's hardware type, < n_types */
	double log_ratio; /* of medians of repetitions */
	double noise;	 /* standard error of log_ratio (of medians: docs/evidence/statistics.md has the factor) from the repetitions within
			  * the machine; 0 when unknown */
	double noise_df; /* degrees of freedom of noise; 0 when unknown */
	bool in_turns;	 /* of pairs whose runs followed one another: both versions had whatever a day does to the machine */
};

#define EFFECT_PAIRS_MIN 6 /* fewer are all of one sign in more than 5 % */
/* Sets log_ratio, noise and noise_df from the log ratios of n > 1 pairs: the median of all means of two (Hodges and Lehmann, Annals of
 * Mathematical Statistics 34(2), 1963), with a noise such that Student's interval of EFFECT_LEVEL contains that of Wilcoxon's signed ranks;
 * of EFFECT_PAIRS_MIN and fewer, and of thousands, the mean and its error. The pairs may have noise in common. O(n^2 log n). */
void effect_of_pairs(const double *logs, size_t n, struct effect_pair *out);

struct effect {
	size_t types;		   /* hardware types with at least one pair */
	double ratio, low, high;   /* of costs; low and high NaN with one or two types and unknown noise */
	double level;		   /* of the interval, as it was asked for */
	double minimum_detectable; /* relative slowdown, .05 = 5 %; NaN as low and high */
	bool within;		   /* the interval is of the repetitions within machines, since there are fewer than EFFECT_TYPES_MIN types:
				    * it holds for these machines only */
	double shape_p;		   /* p of the spread over types against the noise within machines; NaN when it cannot be tested */
	enum decision decision;
};

/* Pairs of a baseline's and a candidate's result of the same machine, by rank (Mann and Whitney, Annals of Mathematical Statistics 18(1),
 * 1947): a number of results has no more power than its ranks have, whatever their distribution. All 0: there are none. */
struct effect_ranks {
	double ahead;	 /* in how many the candidate costs more, equal ones by half, less what is expected of equal versions */
	double most;	 /* `ahead` if all of the candidate's results were above all of the baseline's */
	double variance; /* of `ahead`, of equal versions */
};

/* What is known of all pairs together (pairing.h). Zeroed: nothing. */
struct effect_common {
	double error, df; /* that all types' log ratios may have in common: a further standard error of the mean, with its degrees of
			   * freedom (at least 1 unless the error is 0) */
	struct effect_ranks ranks;
};

struct effect_asked {
	double min_effect; /* above 0: the smallest relative slowdown that matters to the user */
	double level;	   /* of the interval: EFFECT_LEVEL, or more where the results were looked at before (looks.h) */
};

/* pairs[n]; common may be NULL: its error counts from EFFECT_TYPES_MIN types on, its ranks below. n == 0 gives DECISION_NOTHING_MEASURED.
 */
struct effect effect_of(const struct effect_pair *pairs, size_t n, size_t n_types, const struct effect_asked *asked,
			const struct effect_common *common);

/* ---- many comparisons at once ---- */

/* One of them. */
struct effect_leaning {
	double ratio;	       /* NaN: none */
	enum decision finding; /* another decision if it is none */
};

/* Returns the kind of finding whose way nearly all of them lean, if there are enough of that kind: regression or improved; DECISIONS:
 * neither. Then the machines are suspected. What fails has no cost, and leans no way. */
enum decision effects_lean(const struct effect_leaning *all, size_t n, double min_effect);

/* ---- what kind of change it is ---- */

#define SHAPE_LEVEL .05 /* below this shape_p the ratio differs by type */

/* Constant, word in answers, sentence. */
#define SHAPE_ROWS(X)                                                                                                                      \
	X(SHAPE_NOT_TESTED, "not_tested", "too few hardware types or repetitions to tell")                                                 \
	X(SHAPE_NEITHER, "neither", "no change is visible, neither in the mean nor between hardware types")                                \
	X(SHAPE_PROCESSOR, "processor_time", "CPU time decided; of the metric no change is visible, nor between hardware types")           \
	X(SHAPE_UNIFORM, "uniform", "the ratio is the same on all hardware types within the noise: more or less of the same work")         \
	X(SHAPE_BY_TYPE, "other_resource", "the ratio differs between hardware types: a resource is used more or less than before")

enum shape { SHAPE_ROWS(ROWS_ENUM) };
const char *shape_code(enum shape shape);
const char *shape_text(enum shape shape);

/* Did the mean over the types change (the interval of the ratio)? Does the ratio differ between types by more than the noise (shape_p)? */
enum shape shape_of(const struct effect *effect);

/* "99.69 %", of an interval, as people read it. */
struct text_number effect_level(double level);

/* An interval in a table: "1.070 to 1.554 (99.69 %)"; without the level where that is not known (NaN, 0). */
struct effect_text {
	char text[96];
} effect_span(double low, double high, double level, int decimals);

/* Looking at results while they are being collected, and going on only where nothing is settled: without a correction the chance of being
 * wrong is counted again with every look (.05 becomes .15 with five). Each look may spend a part of the 5 %, in proportion to what it adds
 * (linear spending: Lan and DeMets, Biometrika 70(3), 1983); by the union bound, so that it holds whatever the looks have in common. That
 * one was chosen among five by measurement (docs/evidence/nightly.md). */
#define LOOKS_MAX 5

/* Repetitions at look 1, 2, ... LOOKS_MAX: twice as many each time. */
int64_t looks_repetitions(int64_t first, int look);

/* The level of the interval at this look. `last`: there will be no other, whatever it shows (not because of what it shows: the budget is
 * at its end), and it spends all that is left. */
double looks_level(int look, bool last);

#endif
