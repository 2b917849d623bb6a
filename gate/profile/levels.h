/* The first level of a profile: the shares of a version's time for computing, for the kernel's work and for waiting, by the kernel's
 * resource usage counters of each run. They are measured, on one machine or many, without a model.
 *
 * A run's time is its wall-clock time, or its CPU time if that is longer. Time that is neither user nor system time is waiting: for input
 * and output, locks, other processes. Known run-queue delay is excluded. If several threads or processes run at once, their CPU time can
 * hide waiting; levels_of() adds the most that it can hide to the interval. */
#ifndef GATE_PROFILE_LEVELS_H
#define GATE_PROFILE_LEVELS_H

#include "base/rows.h"
#include "fleet/agent/helper_client.h"

#define LEVEL_ROWS(X)                                                                                                                      \
	X(LEVEL_COMPUTE, "compute", "computing")                                                                                           \
	X(LEVEL_KERNEL, "kernel", "in the kernel")                                                                                         \
	X(LEVEL_WAITING, "waiting", "waiting")

enum level { LEVEL_ROWS(ROWS_ENUM) LEVELS };

/* Times of one run by the kernel's counters, all in one unit. */
struct level_run {
	const char *machine; /* borrowed */
	double wall, user, sys;
	double delay;	/* run-queue delay: wall-clock time in which others had the CPU */
	double crowded; /* upper limit of the run-queue delay; NaN: not known */
	double blurred; /* part of user and sys that may belong to the other (level_blurred()) */
	double threads; /* number of threads, of all its processes; 0: not known */
};

/* Returns the limit of CPU time that the kernel may count as user instead of system time, or the reverse. Most kernels divide a process's
 * CPU time by the mode that each clock tick meets: all user time if no tick meets the process, all of the mode met if one tick does. */
#define LEVEL_TICK_S .004 /* default if not known */
double level_blurred(double cpu_s, double processes, double tick_s);

/* Returns a run from the kernel's resource usage counters. processes, threads: upper limits of their numbers; threads 0: not known. */
struct level_run level_run_of(const char *machine, const struct helper_result *result, double processes, double threads);

struct levels {
	size_t runs, machines; /* 0 runs: there are no results */
	double delay;	       /* run-queue delay, part of the wall-clock time; excluded from the shares */
	double doubt;	       /* part of the time: `waiting` that may be run-queue delay; NaN: not known */
	bool certain;	       /* little of the time can be such delay, or there is little waiting */
	double blurred;	       /* part of the time: computing that may be the kernel's, or the reverse; the intervals include it */
	bool divided;	       /* `blurred` is little */
	double hidden;	       /* part of the time: most waiting that several threads at once can hide; the intervals include it */
	bool single;	       /* `hidden` is little */
	struct {
		double share;	  /* part of the time: mean over machines of the mean over their runs; they sum to 1 */
		double low, high; /* 90 % interval of the mean over machines, or over the runs of one machine; NaN: a single run */
	} of[LEVELS];
};

/* Computes the levels; runs without any time are excluded. */
void levels_of(const struct level_run *runs, size_t n, struct levels *out);

/* Returns "82 % of its time computing, 15 % in the kernel", largest first; free() it. details[LEVELS]: " (file data 12 %)"; NULL: none. */
char *levels_text(const struct levels *levels, char *const *details);

/* Reports whether the share is known to 0.05 of the time: of several runs, with little `doubt` and `blurred` (waiting: `doubt` and
 * `hidden`). `doubt` changes computing and kernel in proportion. */
bool level_trusted(const struct levels *levels, enum level level);
const char *level_code(enum level level);
const char *level_text(enum level level);

#endif
