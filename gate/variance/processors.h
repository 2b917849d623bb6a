/* Finds who used the CPUs of a process's host: the run itself, and other programs. */
#ifndef GATE_VARIANCE_PROCESSORS_H
#define GATE_VARIANCE_PROCESSORS_H

#include "gate/variance/fragments.h"

struct processors_used {
	double busy_s;	 /* CPU time of all programs, s; NaN: not known */
	double own_s;	 /* CPU time of the run's processes on that host: recorded threads, and others as far as known */
	double self_s;	 /* part of own_s, of the recorded threads of the process */
	double beside_s; /* own_s without the busiest of these threads: time that may have been in its way */
};

/* Reports whether two processes belong to the same run and host. */
bool processors_same_host(const struct fragments *f, size_t a, size_t b);
/* Sums CPU time from from_s to to_s. O(snapshots of the run). */
struct processors_used processors_used(const struct fragments *f, size_t process, double from_s, double to_s);

#endif
