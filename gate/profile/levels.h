/* The first level of a profile: of a version's time, how much it computed, how much the kernel worked for it, and how much it waited, as
 * the kernel has accounted it for each run. Measured, on one machine as on many: no model is in between.
 *
 * A run's time is its wall-clock time, or its CPU time if that is longer. The time that is neither user nor system time is waiting: for
 * input and output, locks, other processes. Run-queue delay is no part of it, as far as it is known. If several threads or processes run at
 * once, their CPU time can hide waiting: levels_of() adds the most that it can hide to the interval. */
#ifndef GATE_PROFILE_LEVELS_H
#define GATE_PROFILE_LEVELS_H

#include "base/rows.h"
#include "fleet/agent/helper_client.h"

#define LEVEL_ROWS(X)                                                                                                                      \
	X(LEVEL_COMPUTE, "compute", "computing")                                                                                           \
	X(LEVEL_KERNEL, "kernel", "in the kernel")                                                                                         \
	X(LEVEL_WAITING, "waiting", "waiting")

enum level { LEVEL_ROWS(ROWS_ENUM) LEVELS };

/* What the kernel says of one run, in one unit. */
struct level_run {
	const char *machine; /* borrowed */
	double wall, user, sys;
	double delay;	/* of the wall-clock time: kept waiting for a CPU by others */
	double crowded; /* so much of it may have been that; NaN: not known */
	double blurred; /* of user and sys: it may as well be the other's (level_blurred()) */
	double threads; /* that it had, with those of all its processes; 0 if not known */
};

/* Mostly the kernel divides a process's time into its own and the program's by who is at work at each tick of its clock: that of a process
 * that meets none is all the program's, that of one that meets one all of whom that met. This is the limit of such time in cpu_s. */
#define LEVEL_TICK_S .004 /* where it is not known */
double level_blurred(double cpu_s, double processes, double tick_s);

/* Returns a run, from the kernel's resource usage counters. processes, threads: at most so many belonged to it; threads 0: not known. */
struct level_run level_run_of(const char *machine, const struct helper_result *result, double processes, double threads);

struct levels {
	size_t runs, machines; /* 0 runs: there is nothing to say */
	double delay;	       /* of the wall-clock time: waiting for a CPU, which is no part of the shares */
	double doubt;	       /* of the time: as much of `waiting` may be that, too; NaN: not known */
	bool certain;	       /* little of it can be that, or there is little waiting */
	double blurred;	       /* of the time: computing that may be the kernel's, or the reverse; the intervals include that */
	bool divided;	       /* that is little */
	double hidden;	       /* of the time: most waiting that several threads at once can hide; the intervals include it */
	bool single;	       /* `hidden` is little */
	struct {
		double share;	  /* of the time: the mean over machines of the mean over their runs; they sum to 1 */
		double low, high; /* 90 % interval of the mean over machines, or over the runs of a single one; NaN for a single run */
	} of[LEVELS];
};

/* Runs without any time are excluded. */
void levels_of(const struct level_run *runs, size_t n, struct levels *out);

/* "82 % of its time computing, 15 % in the kernel", the largest first; free() it. details[LEVELS]: NULL, or such as " (file data 12 %)". */
char *levels_text(const struct levels *levels, char *const *details);

/* Reports whether `doubt` and `blurred` can move the share by a twentieth of the time at most. `doubt` moves compute and kernel in
 * proportion. */
bool level_trusted(const struct levels *levels, enum level level);
const char *level_code(enum level level);
const char *level_text(enum level level);

#endif
