/* Turns samples into the input of the detector: one matrix of normalised vectors, with functions and runs numbered. */
#ifndef GATE_DETECT_OBSERVE_H
#define GATE_DETECT_OBSERVE_H

#include "base/rows.h"
#include "gate/detect/side.h"
#include "model/anomaly/detector.h"

struct observe_options {
	double least_work;  /* samples with less work (accesses and blocks, or instructions) are pooled up to this amount (100) */
	double least_ns;    /* the same in ns if no work is counted (10000) */
	size_t samples_max; /* maximum number of samples per function and run, chosen at random by `seed` (0: no limit) */
	uint64_t seed;
	double least_share; /* minimum share of all that a side did, on either side (work, contention, system calls by their cost, or time);
			       smaller functions are put aside (0.005) */
	bool per_thread;    /* divide by the threads alive at the end of an invocation, as published; random if threads end together */
	const struct side *other; /* the side to compare with, or NULL: functions that include nested calls there do so here, too */
	const char *const *only;  /* [n_only] names of functions to use; NULL: all */
	size_t n_only;
};
extern const struct observe_options observe_defaults;
#define OBSERVE_OWN_PART .1 /* minimum own part of a function's work, if the work of nested calls is an estimate */

/* Why something is excluded, or is less exact: constant, code, text for users. */
#define OBSERVE_REMARK_ROWS(X)                                                                                                             \
	X(OBSERVE_INCLUSIVE, "with_nested", "including its callees: the time of nested calls is an estimate")                              \
	X(OBSERVE_UNASKED, "not_asked_for", "not among the functions that changed or were selected")                                       \
	X(OBSERVE_LITTLE_WORK, "little_work", "its fraction of all work is too small to matter")                                           \
	X(OBSERVE_NESTED, "nested_only", "its own work is too small to be distinguished from its callees'")                                \
	X(OBSERVE_APART, "runs_do_not_align", "its counters need several executions, which do not match")                                  \
	X(OBSERVE_NOT_COUNTED, "not_counted", "some of its counters were never counted")                                                   \
	X(OBSERVE_OVERFLOW, "overflow", "a counter overflowed")                                                                            \
	X(OBSERVE_UNLIKE, "unlike_input", "its runs had inputs unlike those of normal runs")                                               \
	X(OBSERVE_SAME_NAME, "same_name", "several functions have this name and are combined")

enum observe_remark_kind { OBSERVE_REMARK_ROWS(ROWS_ENUM) OBSERVE_REMARKS };
const char *observe_remark_code(enum observe_remark_kind kind);
const char *observe_remark_text(enum observe_remark_kind kind);

/* Facts about a function on one side. */
struct observed_facts {
	double share;	 /* share of all that this side did, without nested calls, as for least_share */
	double own_ns;	 /* cost in a run without nested calls, ns, by all counters (counters.h), or time; an estimate if the part of nested
			    calls is one */
	double measured; /* effective number of measured calls in all runs (samples_effective()); runs without a recorded seed measured the
			    same calls */
	double unsure_ns; /* possible measurement error of a mean duration, ns, whatever the number of samples; 0 if no duration is used */
	size_t remarks[OBSERVE_REMARKS]; /* number of samples to which each kind applies */
};

struct observed {
	struct observations observations; /* points into the members below; functions by name, runs as in the side */
	size_t *function, *run;
	double *weight, *min_relevant_delta, *ns; /* ns [n]: mean duration of a call without nested calls, to weigh functions by time;
						     emulated: its accesses and blocks instead */
	bool *per_call;				  /* [columns] mean over calls, not over work; it may depend on the input */
	char **functions, **columns;		  /* functions with samples here, without compilers' suffixes (".constprop.0") */
	struct observed_aside {
		char *function;
		enum observe_remark_kind why;
	} * aside; /* [n_aside] functions without any rows left, by name */
	size_t n_aside;
	struct observed_facts *facts; /* [functions] facts about each function */
	double done_ns;		      /* cost of all that this side did, ns (as for least_share) */
};

/* Observes a side. Vectors exclude nested selected functions, unless their part is an estimate in any sample of the function. *out is
 * overwritten; observed_release() it before the side. ASSAY_E_NODATA: no usable sample or counter. ASSAY_E_USAGE: a run's files do not fit
 * together. O(samples * columns). */
enum assay_status observe(const struct side *side, const struct observe_options *options, struct observed *out, struct assay_error *err);
void observed_release(struct observed *observed); /* accepts zeroed */

/* Amount of work of a function. */
struct observe_share {
	double alone, nested; /* parts of all that the side did, without and with nested calls: cost of work and contention, or time if no
				 work is counted */
	double own_ns;	      /* cost without nested calls by all counters, ns; not divided by anything */
};

/* Fills share[names->n], overwriting it, and returns the sum over the side. */
double observe_shares(const struct side *side, const struct stems *names, struct observe_share *share);

/* Reports whether the file has the sums over all calls of the function. */
bool observe_total_known(const struct samples *samples, size_t function);

/* Returns the number of calls that the samples of a function represent. */
double observed_calls(const struct observed *observed, size_t function);

size_t observed_find(const struct observed *observed, const char *function); /* returns SIZE_MAX if not found */
/* Puts functions aside that only one of the two sides has, and renumbers the others. */
void observed_keep_common(struct observed *a, struct observed *b);

/* Returns the observations for the detector, in which counters that depend on the load of the machine (COUNTER_LOAD) were not counted. Only
 * the values are a copy: mat_release() them. */
struct observations observed_without_load_counters(const struct observed *observed, enum record_back_end back_end);

/* Removes the rows marked in drop[rows] as unlike those of the normal runs; NULL marks none. Puts functions without rows aside. */
void observed_drop(struct observed *observed, const bool *drop);

#endif
