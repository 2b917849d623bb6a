/* Counters of different runs in one vector. A CPU counts a few events at a time; the rest takes more runs of the same program. Where
 * the runs did the same (every thread called the function equally often), invocation for invocation is one vector; otherwise each counter
 * keeps a distribution of its own, and that is said. */
#ifndef RUNS_SAMPLES_SAMPLES_JOIN_H
#define RUNS_SAMPLES_SAMPLES_JOIN_H

#include "runs/inside/samples/samples.h"

#define SAMPLES_RUNS_MAX 64

/* Why runs have no rows of a function in common. */
enum samples_apart {
	SAMPLES_JOINED,	       /* they have: invocations of all runs align */
	SAMPLES_NOT_THERE,     /* a run did not call the function */
	SAMPLES_CALLS_UNKNOWN, /* a run did not end in order, so its number of calls is not known */
	SAMPLES_CALLS_DIFFER,  /* the runs called the function in other threads, or another number of times */
	SAMPLES_NONE_COMMON,   /* no invocation was sampled in every run */
};

/* A counter of the joined vector: the first run that has it. */
struct samples_column {
	const char *name; /* borrowed */
	size_t run, counter;
};

/* One function of all runs. */
struct samples_joined {
	enum samples_apart apart;	    /* SAMPLES_JOINED, or why there are no rows */
	size_t functions[SAMPLES_RUNS_MAX]; /* its index in each run, SIZE_MAX: not there */
	size_t *items;			    /* [n x runs]: of each run the sample of the invocation */
	size_t n;
};

struct samples_join {
	const struct samples *const *runs; /* [n_runs], borrowed */
	size_t n_runs;
	struct samples_column *columns; /* [n_columns], in the order of runs and counters */
	size_t n_columns;
	struct samples_joined *functions; /* [n], of the first run in its order, then those that only later ones have */
	size_t n;
};

/* runs[n] of one program with one input, 1 <= n <= SAMPLES_RUNS_MAX. ASSAY_E_USAGE when they are of different back ends, or say that their
 * inputs differ. *out is overwritten; samples_join_release() it, before the runs. Functions are the same by module and name (and address
 * where a name stands twice). O(samples). */
enum assay_status samples_join(const struct samples *const *runs, size_t n, struct samples_join *out, struct assay_error *err);
void samples_join_release(struct samples_join *join); /* accepts zeroed */

/* vector[n_columns] of row i of a joined function: as samples_vector(), each counter by the work of the run that it was counted in. */
void samples_join_vector(const struct samples_join *join, size_t function, size_t i, bool alone, double *vector);

#endif
