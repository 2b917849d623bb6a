/* The first level of a profile: the shares of a version's time for computing, for the kernel's work and for waiting, from the kernel's
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

/* Times of one run from the kernel's counters, all in one unit. */
struct level_run {
	const char *machine; /* name; borrowed */
	double wall, user, sys;
	double delay;	/* run-queue delay: wall-clock time in which other programs had the CPU */
	double crowded; /* upper limit of the run-queue delay; NaN: not known */
	double blurred; /* part of `user` that may be system time, or the reverse (level_blurred()) */
	double threads; /* number of threads of all processes of the run; 0: not known */
};

/* Returns the most CPU time that the kernel may count as user instead of system time, or the reverse. Most kernels divide a process's CPU
 * time by the mode at each clock tick. If no tick hits the process, all of it is user time; if one tick does, all of it is of that mode. */
#define LEVEL_TICK_S .004 /* length of a clock tick if the kernel does not report it, s */
double level_blurred(double cpu_s, double processes, double tick_s);

/* Returns a run from the kernel's resource usage counters. processes, threads: upper limits of their numbers; threads 0: not known. */
struct level_run level_run_of(const char *machine, const struct helper_result *result, double processes, double threads);

struct levels {
	size_t runs, machines; /* numbers of runs and machines; runs is 0 if there are no results */
	double delay;	       /* run-queue delay as a part of the wall-clock time; excluded from the shares */
	double doubt;	       /* `waiting` that may be run-queue delay, as a part of the time; NaN: not known */
	bool certain;	       /* `doubt` is small, or there is little waiting */
	double blurred;	       /* time that may be computing or the kernel's, as a part of the whole time; included in the intervals */
	bool divided;	       /* `blurred` is small */
	double hidden;	       /* maximum waiting that several threads at once can hide, as a part of the time; included in the intervals */
	bool single;	       /* `hidden` is small */
	struct {
		double share;	  /* share of the time at this level: mean over machines of the mean over runs; all shares sum to 1 */
		double low, high; /* 90 % interval of the mean over machines, or over the runs of one machine; NaN: a single run */
	} of[LEVELS];
};

/* Computes the levels; excludes runs without any time. */
void levels_of(const struct level_run *runs, size_t n, struct levels *out);

/* Returns "82 % of its time computing, 15 % in the kernel", largest first; free() it. details[LEVELS]: " (file data 12 %)"; NULL: none. */
char *levels_text(const struct levels *levels, char *const *details);

/* Reports whether the share is known to 0.05 of the time: there are several runs, and `doubt` and `blurred` (for waiting: `doubt` and
 * `hidden`) are small. `doubt` changes computing and kernel in proportion. */
bool level_trusted(const struct levels *levels, enum level level);
const char *level_code(enum level level);
const char *level_text(enum level level);

#endif
