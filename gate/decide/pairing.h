/* Which machines ran both versions, and how the cost changed on each. */
#ifndef GATE_DECIDE_PAIRING_H
#define GATE_DECIDE_PAIRING_H

#include "base/rows.h"
#include "gate/decide/effect.h"
#include "runs/running/evidence.h"

/* How much wider the interval is since the versions do not have the same repetitions. */
struct order {
	size_t apart;	  /* comparisons in which the sides' repetitions are not the same ones */
	double error, df; /* standard error of the log ratio by what repetitions of one side do on all types together, and its degrees
			   * of freedom; 0 when they do nothing, or it cannot be told */
	double spread;	  /* that effect of one repetition as a standard deviation of logs; 0 as above */
};

/* Why a machine is excluded. */
#define PAIRING_ROWS(X)                                                                                                                    \
	X(PAIRING_USED, "used", "")                                                                                                        \
	X(PAIRING_ONLY_BASELINE, "only_baseline", "the candidate has no result there")                                                     \
	X(PAIRING_ONLY_CANDIDATE, "only_candidate", "the baseline has no result there")                                                    \
	X(PAIRING_OTHER_BUILD, "other_build", "the latest build of a version has no result there, another build of it has")                \
	X(PAIRING_OTHER_METRIC, "other_metric", "the manifest had another metric when the one was run than when the other was")            \
	X(PAIRING_OTHER_TERMS, "other_terms",                                                                                              \
	  "the command, the environment, the input or the directory that all versions share changed between the runs of the two")          \
	X(PAIRING_HARDWARE_CHANGED, "hardware_changed", "it was of another hardware type when the candidate ran")                          \
	X(PAIRING_NOT_POSITIVE, "metric_not_positive", "the median of its results is 0: there is no ratio")                                \
	X(PAIRING_RATIO, "ratio_beyond_limit",                                                                                             \
	  "the medians of its results differ by a factor of more than a million: they are not costs of the same work")                     \
	X(PAIRING_TOO_NOISY, "too_noisy",                                                                                                  \
	  "repetitions differ there by so many times more than on the other machines that the ratio is chance")                            \
	X(PAIRING_ORDER_CONFOUNDED, "order_confounded", "the versions did not take turns there, as on other machines")                     \
	X(PAIRING_ORDER_UNKNOWN, "order_unknown", "the order of the results is not known there, as it is on other machines")

enum pairing_reason { PAIRING_ROWS(ROWS_ENUM) PAIRING_REASONS };

const char *pairing_code(enum pairing_reason reason);
const char *pairing_text(enum pairing_reason reason);

/* Did the versions take turns on the machine, so that its own drift concerns both alike? Five sessions of each count as turns. */
enum pairing_turns { PAIRING_TURNS_TAKEN, PAIRING_TURNS_NOT_TAKEN, PAIRING_TURNS_UNKNOWN, PAIRING_TURNS };

/* One machine as one hardware type: a machine that changed its type over time has an entry for each. */
struct pairing_machine {
	const char *machine; /* borrowed from the runs */
	size_t type;	     /* index into types; SIZE_MAX when it is not used */
	enum pairing_reason reason;
	double log_ratio;   /* of medians of repetitions, above 0 is worse; NaN when not used */
	double log_cost;    /* of the baseline: the log of its median; NaN when not used */
	double noise;	    /* standard error of log_ratio by the repetitions, at least that of the metric's ticks; 0 when there are too few
			     * of them, or all exactly alike */
	double noise_least; /* of noise, what the version explains whose repetitions differ less there */
	double noise_df;    /* degrees of freedom of noise: repetitions but one of each version and session; pairs but one */
	struct effect_ranks ranks;
	bool in_pairs;			      /* log_ratio and noise are of pairs of runs of one session, which followed one another */
	size_t baseline_runs, candidate_runs; /* repetitions that were compared */
	enum pairing_turns turns;
	int first; /* side of the earlier one of two runs, which are all; -1: there are more, or it is not known */
	const struct fingerprint *fingerprint; /* under which it was measured; NULL when there is none */
	const char *plan;		       /* whose runs alone were compared; NULL: all. Borrowed from the runs */
};

/* Machines on which the results of a version are in two groups, far apart, such as runs that did nothing and the others. */
struct pairing_groups {
	const char *machine;	 /* the first of them; NULL: there is none */
	double metric[2];	 /* median of the lower and the higher group there */
	size_t low[2], total[2]; /* of the baseline and the candidate on all of them: results in the lower group, and all */
	size_t machines;	 /* how many these are */
	bool differ;		 /* they are most machines, and a larger part of one version is in it, by more than chance (5 %) */
};

struct pairing {
	struct pairing_machine *machines; /* [n], by name, then type */
	size_t n, capacity;
	char **types; /* [n_types], names of the hardware types; a machine whose type is not known is a type of its own */
	size_t n_types, types_capacity;
	size_t used;		  /* machines with PAIRING_USED */
	size_t untyped;		  /* of these, machines whose type is not known */
	enum pairing_turns turns; /* taken if they were on each machine with PAIRING_USED; else on none */
	size_t aside[2];	  /* results of baseline and candidate that do not count, since a later plan ran both in turn */
	struct pairing_groups groups;
	struct order order; /* of the repetitions that were compared */
};

/* Whether results of the two may be compared at all: PAIRING_USED, or PAIRING_OTHER_METRIC or PAIRING_OTHER_TERMS, which then holds for
 * all machines that have results of both. Imported results have no terms, and two applications have none in common. */
enum pairing_reason pairing_terms(const struct run_set *baseline, const struct run_set *candidate);

/* All arguments must outlive *out; pairing_release() it. Both run sets must have the same direction. Repetitions under one
 * fingerprint are compared with each other where both versions have some; otherwise all of the machine and type. Where both have runs of
 * one plan (runs/running/plan.h), only those of the latest such plan count. A machine on which one of them has only results of another
 * build is excluded, and so is one on which both versions have many times the noise of the others: whatever its ratio, it would decide
 * nothing but that nothing can be decided. */
void pairing_of(const struct evidence *evidence, const struct lab_config *config, const struct run_set *baseline,
		const struct run_set *candidate, struct pairing *out);
void pairing_release(struct pairing *pairing);

/* The machine that was compared and of whose compared runs this is one; NULL: of none. */
const struct pairing_machine *pairing_of_run(const struct pairing *pairing, const struct run *run);

/* What its machines say together. */
struct effect pairing_effect(const struct pairing *pairing, const struct effect_asked *asked);

/* The member `key` of an answer: which version the baseline or the candidate is. */
void pairing_answer_side(const char *key, const struct run_set *set, struct document *d);

#endif
