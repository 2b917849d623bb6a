/* Finds the machines that ran both versions, and computes how the cost changed on each machine. */
#ifndef GATE_DECIDE_PAIRING_H
#define GATE_DECIDE_PAIRING_H

#include "base/rows.h"
#include "gate/decide/effect.h"
#include "runs/running/evidence.h"

/* An additional error if the two versions have different repetitions: costs may vary from one repetition to the next on all machines. */
struct order {
	size_t n_unpaired; /* number of comparisons in which the two versions have different repetitions */
	double error, df;  /* standard error of the log ratio from variation that all types share, and its degrees of freedom; both 0 if
			      there is no such variation or it cannot be determined */
	double spread;	   /* standard deviation of the log cost from one repetition to the next, on all types together; 0 as for `error` */
};

/* Reasons why a machine is used or excluded: constant, code in answers, text for users. */
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

/* Whether the versions took turns on the machine, so that its drift affects both equally. Five sessions of each version also count as
 * turns. */
enum pairing_turns { PAIRING_TURNS_TAKEN, PAIRING_TURNS_NOT_TAKEN, PAIRING_TURNS_UNKNOWN, PAIRING_TURNS };

/* The comparison on one machine with one hardware type. If the machine's type changed over time, there is one entry per type. */
struct pairing_machine {
	const char *machine; /* name; borrowed from the runs */
	size_t type;	     /* index into `types`; SIZE_MAX if the machine is excluded */
	enum pairing_reason reason;
	double log_ratio; /* log of cost(candidate) / cost(baseline), from medians of repetitions; above 0 is worse; NaN if excluded */
	double log_cost;  /* log of the baseline's median cost (1 / median if higher is better); NaN if excluded */
	double noise; /* standard error of log_ratio from the repetitions, at least the rounding error of the metric; 0 if there are too few
		     repetitions, or all are equal */
	double noise_df; /* degrees of freedom of `noise`: number of pairs minus 1, or repetitions minus 1 per version and session */
	struct effect_ranks ranks;
	bool is_paired;			      /* true if log_ratio and noise come from pairs of consecutive runs in one session */
	size_t baseline_runs, candidate_runs; /* numbers of compared repetitions */
	enum pairing_turns alternation;
	int first; /* 0 if the baseline ran first, 1 if the candidate did; -1 unless there are exactly two runs at different times */
	const struct fingerprint *fingerprint; /* fingerprint of the machine at the time of the runs; NULL if there is none */
	const char *plan;		       /* plan of the compared runs, borrowed from the runs; NULL if all runs are compared */
};

/* Machines on which the results of a version form two distant groups, for example runs that failed early and runs that did the work. */
struct pairing_groups {
	const char *machine; /* name of the first such machine; NULL if there is none */
	double metric[2];    /* medians of the lower and the upper group on `machine` */
	size_t low[2],
	    total[2];	 /* [2] numbers of results of baseline and candidate on all such machines: in the lower group, and in both groups */
	size_t machines; /* number of such machines */
	bool differ;	 /* true if most of the used machines are such machines, and the lower group's share differs between versions */
};

struct pairing {
	struct pairing_machine *machines; /* [n] sorted by name, then type */
	size_t n, capacity;
	char **types; /* [n_types] names of the hardware types; a machine of unknown type is a type of its own */
	size_t n_types, types_capacity;
	size_t used;	  /* number of machines with the reason PAIRING_USED */
	size_t n_untyped; /* number of used machines whose type is not known */
	enum pairing_turns
	    alternation;	/* PAIRING_TURNS_TAKEN: the versions took turns on every used machine; otherwise they took turns on none */
	size_t n_superseded[2]; /* [2] numbers of results of both versions that are not compared, because a later plan ran both */
	struct pairing_groups groups;
	struct order order; /* additional error from the repetitions of the compared results */
};

/* Returns PAIRING_USED if the results of the two versions may be compared. Otherwise returns PAIRING_OTHER_METRIC or PAIRING_OTHER_TERMS,
 * for all machines with results of both. Imported results have no terms, and results of different applications are not checked. */
enum pairing_reason pairing_compare_terms(const struct run_set *baseline, const struct run_set *candidate);

/* Pairs the runs of two versions by machine and sets *out; the caller calls pairing_release(). All arguments must outlive *out. Both run
 * sets must have the same direction of the metric. Compares the repetitions under each fingerprint that both versions have, or all
 * repetitions if they have none in common. If both versions have runs of one plan (runs/running/plan.h), only the latest such plan counts.
 * Excludes a machine on which one version has only results of another build. Also excludes a machine on which both versions are much
 * noisier than on other machines, because it would widen the interval. */
void pairing_compute(const struct evidence *evidence, const struct lab_config *config, const struct run_set *baseline,
		     const struct run_set *candidate, struct pairing *out);
void pairing_release(struct pairing *pairing);

/* Returns the effect over all used machines. */
struct effect pairing_effect(const struct pairing *pairing, const struct effect_request *asked);

#endif
