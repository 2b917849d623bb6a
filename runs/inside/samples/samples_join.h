/* Joins the counters of several runs into one vector. A CPU counts only a few events at a time, so more events need more runs. If each
 * thread called the function equally often in all runs, invocations are joined one by one. Otherwise each counter keeps its own
 * distribution, and the reason is recorded. */
#ifndef RUNS_SAMPLES_SAMPLES_JOIN_H
#define RUNS_SAMPLES_SAMPLES_JOIN_H

#include "runs/inside/samples/samples.h"

#define SAMPLES_RUNS_MAX 64

/* Reason why the invocations of a function cannot be joined. */
enum samples_join_outcome {
	SAMPLES_JOINED,		  /* no reason: the invocations of all runs align */
	SAMPLES_FUNCTION_MISSING, /* a run has no sample of the function */
	SAMPLES_CALLS_UNKNOWN,	  /* a run did not report its number of calls, because it did not end normally */
	SAMPLES_CALLS_DIFFER,	  /* the runs called the function in different threads, or a different number of times */
	SAMPLES_NO_COMMON_CALL,	  /* no invocation was sampled in all runs */
};

/* A counter of the joined vector. Its values come from the first run that has the counter. */
struct samples_column {
	const char *name; /* name of the counter; memory of that run */
	size_t run, counter;
};

/* A function in all runs. */
struct samples_joined {
	enum samples_join_outcome outcome;  /* SAMPLES_JOINED, or the reason why there are no rows */
	size_t functions[SAMPLES_RUNS_MAX]; /* index of the function in each run; SIZE_MAX if the run does not have it */
	size_t *items;			    /* [n x runs] index of the invocation's sample in each run; a row per invocation */
	size_t n;
};

struct samples_join {
	const struct samples *const *runs; /* [n_runs] runs, owned by the caller */
	size_t n_runs;
	struct samples_column *columns; /* [n_columns] counters, ordered by run, then as in the run */
	size_t n_columns;
	struct samples_joined *functions; /* [n] functions of the first run in its order, then functions that only later runs have */
	size_t n;
};

/* Joins runs[n] of one program with one input, 1 <= n <= SAMPLES_RUNS_MAX. Overwrites *out; call samples_join_release() before the runs are
 * released. Functions match if module, name and address are equal. ASSAY_E_USAGE: the back ends or the inputs differ. O(samples). */
enum assay_status samples_join(const struct samples *const *runs, size_t n, struct samples_join *out, struct assay_error *err);
void samples_join_release(struct samples_join *join); /* accepts a zeroed struct */

/* Fills vector[n_columns] for row `i` of a joined function, as samples_fill_vector() does. Divides each counter by the work of its own run.
 */
void samples_join_vector(const struct samples_join *join, size_t function, size_t i, bool alone, double *vector);

#endif
