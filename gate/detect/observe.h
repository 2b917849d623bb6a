/* Turns samples into the input of the detector: one matrix of normalised vectors, with numbered functions and runs. */
#ifndef GATE_DETECT_OBSERVE_H
#define GATE_DETECT_OBSERVE_H

#include "base/rows.h"
#include "gate/detect/side.h"
#include "model/anomaly/detector.h"

struct observe_options {
	double pool_work_min; /* samples with less work (accesses and blocks, or instructions) are pooled until they have this much (100) */
	double pool_min_ns;   /* the same limit in ns, if no work is counted (10000) */
	size_t samples_max;   /* maximum number of samples per function and run, chosen at random by `seed`; 0 means no limit */
	uint64_t seed;
	double share_min;	  /* minimum fraction of all that one of the sides did (cost of its work, or time); default 0.005 */
	bool per_thread;	  /* divide by the number of threads alive when an invocation ends, as published */
	const struct side *other; /* side to compare with, or NULL; functions that include nested calls there do so here */
	const char *const *selected_functions; /* [n_selected_functions], names of functions to use; NULL means all */
	size_t n_selected_functions;
};
extern const struct observe_options observe_defaults;
#define OBSERVE_OWN_PART .1 /* minimum fraction of a function's own work, if the work of its nested calls is an estimate */

/* Reasons why a function is excluded or less exact. Columns: constant, code, text for users. */
#define OBSERVE_NOTE_ROWS(X)                                                                                                               \
	X(OBSERVE_INCLUSIVE, "with_nested", "including its callees: the time of nested calls is an estimate")                              \
	X(OBSERVE_UNASKED, "not_asked_for", "not among the functions that changed or were selected")                                       \
	X(OBSERVE_LITTLE_WORK, "little_work", "its fraction of all work is too small to matter")                                           \
	X(OBSERVE_NESTED, "nested_only", "its own work is too small to be distinguished from its callees'")                                \
	X(OBSERVE_APART, "runs_do_not_align", "its counters need several executions, which do not match")                                  \
	X(OBSERVE_NOT_COUNTED, "not_counted", "some of its counters were never counted")                                                   \
	X(OBSERVE_OVERFLOW, "overflow", "a counter overflowed")                                                                            \
	X(OBSERVE_UNLIKE, "unlike_input", "its runs had inputs unlike those of normal runs")                                               \
	X(OBSERVE_SAME_NAME, "same_name", "several functions have this name and are combined")

enum observe_note_kind { OBSERVE_NOTE_ROWS(ROWS_ENUM) OBSERVE_NOTES };
const char *observe_note_code(enum observe_note_kind kind);
const char *observe_note_text(enum observe_note_kind kind);

/* Facts about a function on one side. */
struct observed_facts {
	double share;	 /* fraction of all that this side did, without nested calls, measured as for share_min */
	double own_ns;	 /* cost in a run without nested calls, ns, by all counters (counters.h) or by time; may be an estimate */
	double measured; /* effective number of measured calls in all runs (samples_effective_number()) */
	double error_ns; /* possible measurement error of a mean duration, ns, whatever the number of samples; 0 if no duration is used */
	size_t remarks[OBSERVE_NOTES]; /* number of samples to which each kind applies */
};

struct observed {
	struct observations observations; /* points into the members below; functions by name, runs as in the side */
	size_t *function, *run;
	double *weight, *min_relevant_delta,
	    *ns;		     /* `ns` [n]: mean duration of a call without nested calls; if emulated, accesses and blocks */
	bool *per_call;		     /* [columns], the mean is over calls, not over work, and can depend on the input */
	char **functions, **columns; /* `functions`: names without compiler suffixes (".constprop.0"); `columns`: names of counters */
	struct observed_excluded {
		char *function;
		enum observe_note_kind kind;
	} * excluded; /* [n_aside], functions without any rows left, sorted by name */
	size_t n_aside;
	struct observed_facts *facts; /* one element per function */
	double total_cost_ns;	      /* cost of all that this side did, ns (as for share_min) */
};

/* Observes a side. Vectors exclude nested calls of selected functions, unless their part is only an estimate in a sample of the function.
 * Returns ASSAY_E_NODATA if there is no usable sample or counter, ASSAY_E_USAGE if a run's files do not fit together. Overwrites *out; the
 * caller calls observed_release() before it releases the side. Costs O(samples * columns). */
enum assay_status observe(const struct side *side, const struct observe_options *options, struct observed *out, struct assay_error *err);
void observed_release(struct observed *observed); /* Accepts a zeroed struct. */

/* Amount of work of a function. */
struct observe_share {
	double self_share, nested; /* fractions of all that the side did (cost of work, or time), without and with nested calls */
	double own_ns;		   /* cost without nested calls by all counters, ns, not as a fraction */
};

/* Overwrites share[names->n] with the amounts of work of these functions. Returns the sum over the side. */
double observe_shares(const struct side *side, const struct stems *names, struct observe_share *share);

/* Reports whether the file has sums over all calls of the function, not only over sampled calls. */
bool observe_is_total_known(const struct samples *samples, size_t function);

/* Returns the number of calls that the samples of a function represent. */
double observed_count_calls(const struct observed *observed, size_t function);

size_t observed_find(const struct observed *observed, const char *function); /* Returns SIZE_MAX if not found. */
/* Excludes functions that only one of the two sides has, and renumbers the others. */
void observed_keep_common(struct observed *a, struct observed *b);

/* Returns the observations for the detector, with counters that depend on other load (COUNTER_LOAD) marked as not counted. Only the values
 * are copied; the caller calls mat_release() on them. */
struct observations observed_without_load_counters(const struct observed *observed, enum record_back_end back_end);

/* Removes the rows marked in drop[rows], because they are unlike those of normal runs; NULL marks none. Excludes functions without rows. */
void observed_drop_rows(struct observed *observed, const bool *drop);

#endif
