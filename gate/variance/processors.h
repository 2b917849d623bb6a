/* Sums the CPU time of a run and of other programs on the host of a process. */
#ifndef GATE_VARIANCE_PROCESSORS_H
#define GATE_VARIANCE_PROCESSORS_H

#include "gate/variance/fragments.h"

struct processors_usage {
	double busy_s;		/* CPU time of all programs, s; NaN if unknown */
	double own_s;		/* CPU time of the run's processes on the host, s, including unrecorded ones as far as known */
	double self_s;		/* part of own_s that the recorded threads of the process used */
	double other_threads_s; /* own_s without the busiest thread of the process: time that can have delayed this thread */
};

/* Reports whether two processes belong to the same run and host. */
bool processors_same_host(const struct fragments *f, size_t a, size_t b);
/* Sums CPU time from from_s to to_s. Costs O(snapshots of the run). */
struct processors_usage processors_usage(const struct fragments *f, size_t process, double from_s, double to_s);

#endif
