/* From samples to what the detector sees: one matrix of normalised vectors, functions and runs numbered. */
#ifndef GATE_DETECT_OBSERVE_H
#define GATE_DETECT_OBSERVE_H

#include "base/rows.h"
#include "gate/detect/side.h"
#include "model/anomaly/detector.h"

struct observe_options {
	double least_work;  /* samples with less work (accesses and blocks, or instructions) are pooled until they have as much (100) */
	double least_ns;    /* the same where there is no work to count (10000) */
	size_t samples_max; /* of a function and run; beyond, a seeded choice (0: no limit) */
	uint64_t seed;
	double least_share; /* functions with less of all that was done (work, contention, system calls by what they cost, or time), here
			       and in `other`, are put aside (.005) */
	bool per_thread;    /* divide by the threads alive at the end of an invocation, as published: which is chance, where threads end
			       together */
	const struct side *other; /* with which this one will be compared, or NULL: what is taken with nested calls there, is here, too */
	const char *const *only;  /* [n_only] names that are looked at; NULL: all */
	size_t n_only;
};
extern const struct observe_options observe_defaults;
#define OBSERVE_OWN_PART .1 /* of a function's work has to be its own, where what nested calls took is an estimate */

/* Constant, code, for people: why something is excluded, or is less exact. */
#define OBSERVE_REMARK_ROWS(X)                                                                                                             \
	X(OBSERVE_INCLUSIVE, "with_nested", "with what it calls: what nested calls took is an estimate only")                              \
	X(OBSERVE_UNASKED, "not_asked_for", "not among the functions that changed or were asked for")                                      \
	X(OBSERVE_LITTLE_WORK, "little_work", "its part of all work is too small to matter")                                               \
	X(OBSERVE_NESTED, "nested_only", "what it does itself is too little to be told from what it calls")                                \
	X(OBSERVE_APART, "runs_do_not_align", "its counters took several executions that do not align")                                    \
	X(OBSERVE_NOT_COUNTED, "not_counted", "some of its counters were never counted")                                                   \
	X(OBSERVE_OVERFLOW, "overflow", "a counter overflowed")                                                                            \
	X(OBSERVE_UNLIKE, "unlike_input", "its runs had inputs unlike those of the normal runs")                                           \
	X(OBSERVE_SAME_NAME, "same_name", "several functions have this name and are taken together")

enum observe_remark_kind { OBSERVE_REMARK_ROWS(ROWS_ENUM) OBSERVE_REMARKS };
const char *observe_remark_code(enum observe_remark_kind kind);
const char *observe_remark_text(enum observe_remark_kind kind);

/* What is known of a function on one side. */
struct observed_facts {
	double share;	  /* of all that this side did, without nested calls: as least_share has it */
	double own_ns;	  /* what it did in a run without nested calls, by all that costs (counters.h), or its time; an estimate where what
			   * nested calls took is one */
	double measured;  /* for how many calls, chosen at random, the samples of all runs count (samples_effective()). Runs that do not say
			   * by which seed have measured the same ones */
	double unsure_ns; /* by how much a mean duration may be wrong, whatever the number of samples: what measuring takes; 0 where no
			   * duration is looked at */
	size_t remarks[OBSERVE_REMARKS]; /* how many samples each is true of; 0: not true */
};

struct observed {
	struct observations observations; /* points into what follows; functions by name, runs as in the side */
	size_t *function, *run;
	double *weight, *min_relevant_delta, *ns; /* ns [n]: mean duration of a call of the sample without nested ones, for weighing
						   * functions by time; of emulated ones its accesses and blocks instead */
	bool *per_call;		     /* [columns] a mean over calls, not over work: it may follow what the program is asked to do */
	char **functions, **columns; /* those that have samples here; names without the suffixes of compilers (".constprop.0") */
	struct observed_aside {
		char *function;
		enum observe_remark_kind why;
	} * aside; /* [n_aside] functions of which nothing is left, by name */
	size_t n_aside;
	struct observed_facts *facts; /* [functions] */
	double done_ns;		      /* all that this side did, by what it costs (least_share) */
};

/* Vectors are without nested selected functions, unless what those took is an estimate in any sample of the function: then they are with
 * them. *out is overwritten; observed_release() it, before the side. ASSAY_E_NODATA: no sample, or no counter that could be looked at.
 * ASSAY_E_USAGE: a run's files cannot be brought together. O(samples * columns). */
enum assay_status observe(const struct side *side, const struct observe_options *options, struct observed *out, struct assay_error *err);
void observed_release(struct observed *observed); /* accepts zeroed */

/* How much a function does. */
struct observe_share {
	double alone, nested; /* without and with nested calls, of all that the side did: work and contention by what they cost, or time
				 where there is no work */
	double own_ns;	      /* without nested calls, with all else that costs; not divided by anything */
};

/* Overwrites share[names->n] and returns the sum over the side. */
double observe_shares(const struct side *side, const struct stems *names, struct observe_share *share);

/* Reports whether the file has the sums over all calls of the function. */
bool observe_total_known(const struct samples *samples, size_t function);

/* How many calls the samples of a function represent. */
double observed_calls(const struct observed *observed, size_t function);

size_t observed_find(const struct observed *observed, const char *function); /* SIZE_MAX: not there */
/* Puts aside the functions that only one of the two has; the others are numbered again. */
void observed_keep_common(struct observed *a, struct observed *b);

/* Returns the observations as the detector gets them: counters that follow the load of the machine (COUNTER_LOAD) were not counted. Only
 * the values are a copy: mat_release() them. */
struct observations observed_without_load(const struct observed *observed, enum record_back_end back_end);

/* Removes the rows that drop[rows] marks as unlike those of the normal runs; NULL marks none. Puts functions without rows aside. */
void observed_drop(struct observed *observed, const bool *drop);

#endif
