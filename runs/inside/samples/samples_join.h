/* Joins the counters of several runs into one vector. A CPU counts only a few events at a time, so more events need more runs of a program.
 * If every thread called the function equally often in all runs, invocations are joined one by one. Otherwise each counter keeps its own
 * distribution, with the reason. */
#ifndef RUNS_SAMPLES_SAMPLES_JOIN_H
#define RUNS_SAMPLES_SAMPLES_JOIN_H

#include "runs/inside/samples/samples.h"

#define SAMPLES_RUNS_MAX 64

/* Reasons for which runs have no common rows of a function. */
enum samples_apart {
	SAMPLES_JOINED,	       /* none: the invocations of all runs align */
	SAMPLES_NOT_THERE,     /* a run has no sample of the function */
	SAMPLES_CALLS_UNKNOWN, /* a run did not end in order, so its number of calls is unknown */
	SAMPLES_CALLS_DIFFER,  /* the runs called the function in different threads, or a different number of times */
	SAMPLES_NONE_COMMON,   /* no invocation was sampled in every run */
};

/* A counter of the joined vector, taken from the first run that has the counter. */
struct samples_column {
	const char *name; /* borrowed from that run */
	size_t run, counter;
};

/* One function in all runs. */
struct samples_joined {
	enum samples_apart apart;	    /* SAMPLES_JOINED, or the reason for missing rows */
	size_t functions[SAMPLES_RUNS_MAX]; /* index of the function in each run; SIZE_MAX if missing */
	size_t *items;			    /* [n x runs] index of the invocation's sample in each run */
	size_t n;
};

struct samples_join {
	const struct samples *const *runs; /* [n_runs], borrowed */
	size_t n_runs;
	struct samples_column *columns; /* [n_columns], in the order of runs and counters */
	size_t n_columns;
	struct samples_joined *functions; /* [n] functions of the first run in its order, then functions that only later runs have */
	size_t n;
};

/* Joins runs[n] of one program with one input, 1 <= n <= SAMPLES_RUNS_MAX. ASSAY_E_USAGE: their back ends or inputs differ. *out is
 * overwritten; call samples_join_release() before releasing the runs. Functions are equal if module, name and address are. O(samples). */
enum assay_status samples_join(const struct samples *const *runs, size_t n, struct samples_join *out, struct assay_error *err);
void samples_join_release(struct samples_join *join); /* accepts a zeroed struct */

/* Fills vector[n_columns] of row i of a joined function, as samples_vector() does: each counter divided by the work of its own run. */
void samples_join_vector(const struct samples_join *join, size_t function, size_t i, bool alone, double *vector);

#endif
