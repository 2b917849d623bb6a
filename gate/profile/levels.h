/* The first level of a profile: the shares of a version's time for computing, for work of the kernel, and for waiting. They are measured by
 * the kernel's resource usage counters of each run, on one or more machines, without a model. The time of a run is its wall-clock time, or
 * its CPU time if that is longer. Waiting is the time that is neither user nor system time: for input and output, locks, or other
 * processes. Known run-queue delay is excluded. If several threads or processes run at once, their CPU time can hide waiting;
 * levels_compute() adds the most that can be hidden to the interval. */
#ifndef GATE_PROFILE_LEVELS_H
#define GATE_PROFILE_LEVELS_H

#include "base/rows.h"
#include "fleet/agent/helper_client.h"

#define LEVEL_ROWS(X)                                                                                                                      \
	X(LEVEL_COMPUTE, "compute", "computing")                                                                                           \
	X(LEVEL_KERNEL, "kernel", "in the kernel")                                                                                         \
	X(LEVEL_WAITING, "waiting", "waiting")

enum level { LEVEL_ROWS(ROWS_ENUM) LEVELS };

/* The times of one run from the kernel's counters, all in the same unit. */
struct level_run {
	const char *machine; /* name; borrowed */
	double wall, user, sys;
	double delay;	       /* run-queue delay: wall-clock time in which other programs had the CPU */
	double max_delay;      /* upper limit of the run-queue delay; NaN if not known */
	double uncertain_time; /* part of `user` that may be system time, or the reverse (level_uncertain_time()) */
	double threads;	       /* number of threads of all processes of the run; 0 if not known */
};

/* Returns the maximum CPU time in seconds that the kernel may count as user instead of system time, or the reverse. Most kernels divide the
 * CPU time of a process by its mode at each clock tick. If no tick hits the process, all its time counts as user time; if one tick does,
 * all counts as time in that mode. */
#define LEVEL_TICK_S .004 /* length of a clock tick in seconds if the kernel does not report it */
double level_uncertain_time(double cpu_s, double processes, double tick_s);

/* Returns the times of a run from the kernel's counters. `processes` and `threads` are upper limits; `threads` 0 means not known. */
struct level_run level_run_make(const char *machine, const struct helper_result *result, double processes, double threads);

struct levels {
	size_t runs, machines;	/* numbers of runs and machines; `runs` is 0 if there are no results */
	double run_delay_share; /* run-queue delay as a share of the wall-clock time; the shares below exclude it */
	double doubt;		/* part of `waiting` that may be run-queue delay, as a share of the time; NaN if not known */
	bool certain;		/* true if `doubt` or the share of waiting is at most 0.05 */
	double uncertain_time;	/* time that may be computing or the kernel's, as a share of the time; included in the intervals */
	bool divided;		/* true if `uncertain_time` is at most 0.05 */
	double hidden;		/* maximum waiting that parallel threads can hide, as a share of the time; included in the intervals */
	bool single;		/* true if `hidden` is at most 0.05 */
	struct {
		double share;	  /* share of the time at this level: mean over runs, then over machines; all shares sum to 1 */
		double low, high; /* 90 % interval of the mean over machines, or over the runs of a single machine; NaN for a single run */
	} of[LEVELS];
};

/* Computes the levels from runs[n]. Ignores runs without any time. */
void levels_compute(const struct level_run *runs, size_t n, struct levels *out);

/* Returns "82 % of its time computing, 15 % in the kernel", the largest share first; free() it. details[LEVELS] are texts to append to each
 * level, such as " (file data 12 %)"; NULL to append nothing. */
char *levels_text(const struct levels *levels, char *const *details);

/* Reports whether the share is known within 0.05 of the time. This needs several runs, and small `doubt` and `uncertain_time` (for waiting,
 * small `doubt` and `hidden`). `doubt` affects computing and kernel in proportion to their shares. */
bool level_is_trusted(const struct levels *levels, enum level level);
const char *level_code(enum level level);
const char *level_text(enum level level);

#endif
