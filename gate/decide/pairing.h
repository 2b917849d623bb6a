/* Finds the machines that ran both versions, and how the cost changed on each. */
#ifndef GATE_DECIDE_PAIRING_H
#define GATE_DECIDE_PAIRING_H

#include "base/rows.h"
#include "gate/decide/effect.h"
#include "runs/running/evidence.h"

/* Error from the order of repetitions. It widens the interval if the two versions do not have the same repetitions. */
struct order {
	size_t apart;	  /* number of comparisons in which the two sides have different repetitions */
	double error, df; /* standard error of the log ratio from the effect that one repetition has on all types together, and its degrees
			     of freedom; 0 if there is no such effect or it cannot be determined */
	double spread;	  /* effect of one repetition: standard deviation of logs; 0 as for `error` */
};

/* Reasons why a machine is excluded: constant, code, text for users. */
#define PAIRING_ROWS(X)                                                                                                                    \
	X(PAIRING_USED, "used", "")                                                                                                        \
	X(PAIRING_ONLY_BASELINE, "only_baseline", "the candidate has no result there")                                                     \
	X(PAIRING_ONLY_CANDIDATE, "only_candidate", "the baseline has no result there")                                                    \
	X(PAIRING_OTHER_BUILD, "other_build", "the latest build of a version has no result there, but another build has")                  \
	X(PAIRING_OTHER_METRIC, "other_metric", "the manifest had different metrics when the two versions ran")                            \
	X(PAIRING_OTHER_TERMS, "other_terms",                                                                                              \
	  "the command, environment, input or shared directory changed between the runs of the two versions")                              \
	X(PAIRING_HARDWARE_CHANGED, "hardware_changed", "its hardware type was different when the candidate ran")                          \
	X(PAIRING_NOT_POSITIVE, "metric_not_positive", "the median of its results is 0: there is no ratio")                                \
	X(PAIRING_RATIO, "ratio_beyond_limit",                                                                                             \
	  "the medians of its results differ by a factor of more than a million: the results are not costs of the same work")              \
	X(PAIRING_ORDER_CONFOUNDED, "order_confounded", "the versions did not take turns there, as on other machines")                     \
	X(PAIRING_ORDER_UNKNOWN, "order_unknown", "the order of the results is not known there, but it is on other machines")

enum pairing_reason { PAIRING_ROWS(ROWS_ENUM) PAIRING_REASONS };

const char *pairing_code(enum pairing_reason reason);
const char *pairing_text(enum pairing_reason reason);

/* Whether the versions took turns on the machine, so that its drift affects both equally. Five sessions of each version count as turns. */
enum pairing_turns { PAIRING_TURNS_TAKEN, PAIRING_TURNS_NOT_TAKEN, PAIRING_TURNS_UNKNOWN, PAIRING_TURNS };

/* The comparison on one machine under one hardware type. A machine that changed its type over time has one entry per type. */
struct pairing_machine {
	const char *machine; /* name; borrowed from the runs */
	size_t type;	     /* index into `types`; SIZE_MAX if the machine is not used */
	enum pairing_reason reason;
	double log_ratio; /* log of cost(candidate) / cost(baseline), from medians of repetitions; above 0 is worse; NaN if not used */
	double log_cost;  /* log of the baseline's median (of 1 / median if higher is better); NaN if not used */
	double noise;	  /* standard error of log_ratio from the repetitions, at least that of the metric's ticks; 0 if there are too few
			     repetitions, or all are equal */
	double noise_df;  /* degrees of freedom of `noise`: repetitions - 1 per version and session; for pairs, pairs - 1 */
	struct effect_ranks ranks;
	bool in_pairs;			      /* log_ratio and noise come from pairs of consecutive runs of one session */
	size_t baseline_runs, candidate_runs; /* number of repetitions that were compared */
	enum pairing_turns turns;
	int first; /* if there are exactly two runs in a known order, the side of the earlier run; otherwise -1 */
	const struct fingerprint *fingerprint; /* fingerprint at the time of the runs; NULL if there is none */
	const char *plan;		       /* plan whose runs were compared; NULL: all runs were. Borrowed from the runs */
};

/* Machines on which the results of a version fall into two distant groups, for example runs that did nothing and runs that worked. */
struct pairing_groups {
	const char *machine;	 /* name of the first such machine; NULL: there is none */
	double metric[2];	 /* medians of the lower and the higher group on `machine` */
	size_t low[2], total[2]; /* baseline's and candidate's results on all such machines: in the lower group, and in total */
	size_t machines;	 /* number of these machines */
	bool differ; /* more than half of the used machines are among them, and the versions differ in the lower group's share (5 %) */
};

struct pairing {
	struct pairing_machine *machines; /* [n] sorted by name, then type */
	size_t n, capacity;
	char **types; /* [n_types] names of the hardware types; a machine of unknown type is a type of its own */
	size_t n_types, types_capacity;
	size_t used;		  /* number of machines with PAIRING_USED */
	size_t untyped;		  /* number of used machines of unknown type */
	enum pairing_turns turns; /* "taken" if the versions took turns on each machine with PAIRING_USED; otherwise they did on none */
	size_t aside[2];	  /* results of baseline and candidate that do not count, because a later plan ran both versions in turn */
	struct pairing_groups groups;
	struct order order; /* error from the order of the compared repetitions */
};

/* Returns PAIRING_USED if results of the two versions may be compared. Otherwise returns PAIRING_OTHER_METRIC or PAIRING_OTHER_TERMS; that
 * reason holds for all machines that have results of both. Imported results have no terms, and two applications have none in common. */
enum pairing_reason pairing_terms(const struct run_set *baseline, const struct run_set *candidate);

/* Pairs the runs of two versions by machine into *out; pairing_release() it. All arguments must outlive *out. Both run sets must have the
 * same direction. Repetitions under one fingerprint are compared with each other if both versions have some; otherwise all repetitions of
 * that machine and type are. If both versions have runs of one plan (runs/running/plan.h), only the latest such plan counts. A machine on
 * which one version has only results of another build is excluded. So is a machine on which both versions have many times the noise of the
 * other machines: it could only make the effect undecidable. */
void pairing_of(const struct evidence *evidence, const struct lab_config *config, const struct run_set *baseline,
		const struct run_set *candidate, struct pairing *out);
void pairing_release(struct pairing *pairing);

/* Returns the effect over all machines of the pairing. */
struct effect pairing_effect(const struct pairing *pairing, const struct effect_asked *asked);

#endif
