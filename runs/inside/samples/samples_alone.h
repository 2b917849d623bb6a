/* What was spent in a function itself: an invocation's time and counters less those of the selected functions that it called, and less what
 * measuring took. Private to runs/inside/samples/. */
#ifndef RUNS_SAMPLES_ALONE_H
#define RUNS_SAMPLES_ALONE_H

#include "runs/inside/samples/samples.h"

/* By column: ns, then the counters. */
struct costs {
	double inside[1 + RECORD_COUNTERS_MAX];	   /* in the sample itself */
	double around[2][1 + RECORD_COUNTERS_MAX]; /* what a nested one adds to those around it: every call measured, one of many */
	double inside_unsure_ns, around_unsure_ns[2];
};

/* What samples of one thread leave to the one around them. Vectors of 2 * width + 3: what nested ones are known or estimated to have taken,
 * what measuring them took, by column; by how much both may be wrong in ns; accesses of those that met no simulated window. */
struct alone {
	struct {
		uint64_t start;
		uint32_t depth;
	} * items;
	double *sums;
	size_t n, capacity, sums_capacity;
	size_t width;		    /* columns: 1 + n_counters, the time first */
	size_t accesses, simulated; /* of the emulation, the columns of accesses and of the first simulated counter; width: none */
	struct costs costs;
};

/* How wrong the time of an invocation may be, with and without nested ones. */
struct unsure {
	double ns, alone_ns;
};

void alone_init(struct alone *a, const struct samples *samples); /* whose counters and infos are there; alone_release() it */
void alone_release(struct alone *a);

/* The next invocation of a thread, in the order of the file; a->n = 0 before those of another one. From values[width], time and counters,
 * is taken what measuring took; out[width]: without what nested ones are known or estimated to have taken, for each sampled call counts for
 * as many as it stands for. Leaves what this one took, with all in it, for the one around it. NaN: not counted here, or not inside. */
struct unsure alone_find(struct alone *a, const struct record_sample *sample, double *values, double *out);

#endif
