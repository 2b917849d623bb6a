/* Time that machines withheld from runs, from the resource usage counters of each run (runs/running/run.h). For one decision: whether its
 * machines were busy. For a night: the disturbed runs, with their causes. Recorded calls show the same for parts of a run
 * (gate/comparison/weigh.h), A/A controls for a whole plan (gate/nightly/judge.h). */
#ifndef GATE_CONDITIONS_DISTURBED_H
#define GATE_CONDITIONS_DISTURBED_H

#include "base/rows.h"
#include "runs/running/run.h"

/* Constant, code, text for users, in the order of the kinds of withheld time (runs/running/run.h). */
#define DISTURBED_ROWS(X)                                                                                                                  \
	X(DISTURBED_WAITED, "run_delay", "the run waited for a CPU")                                                                       \
	X(DISTURBED_THROTTLED, "throttled", "its cgroup reached its CPU quota")                                                            \
	X(DISTURBED_IO, "io_stalled", "processes waited for input or output")                                                              \
	X(DISTURBED_MEMORY, "memory_stalled", "processes waited for memory")                                                               \
	X(DISTURBED_STOLEN, "steal", "the hypervisor used the CPUs for something else (steal)")

enum disturbed_cause { DISTURBED_ROWS(ROWS_ENUM) DISTURBED_CAUSES };
const char *disturbed_code(enum disturbed_cause cause);

/* ---- machines of one decision ---- */

/* Time that the runs on a machine waited for a CPU or were throttled, as a share of their wall-clock time. */
struct disturbed_machine {
	const char *machine; /* name; borrowed from the runs */
	size_t runs[2];	     /* numbers of runs of the baseline and the candidate whose waits are known */
	size_t disturbed[2]; /* numbers of these runs whose share exceeds the lowest share on the machine by at least min_effect */
	double waited[2];    /* mean share of waiting per side */
};

/* Reports whether more than a quarter of the baseline's runs were disturbed. The sides must be sorted by machine. Sets (*machines)[*n] to
 * the machines with known waits, by name; free() it. */
bool disturbed_on(const struct run_set *const sides[2], double min_effect, struct disturbed_machine **machines, size_t *n);

/* ---- runs of one night ---- */

struct disturbed_run {
	char *machine, *version;
	int64_t repetition;
	enum disturbed_cause cause;
	double share, usual; /* withheld share of the run's wall-clock time; lower quartile of that share over the version's runs there */
	bool left_out;	     /* the run is excluded; false: too many runs on the machine are disturbed, or own_making */
};

struct disturbed {
	struct disturbed_run *items; /* [n] sorted by version, machine, repetition */
	size_t n, left_out, known;   /* numbers of disturbed runs, of excluded runs, and of runs whose withheld time is known */
	bool too_many;		     /* more than half of the known runs were disturbed */
	bool own_making;	     /* one version has so many of the disturbed runs that its code may be the cause; none is excluded */
};

/* Moves the excluded runs of one plan to the sides' `others`, so that they no longer count. disturbed_release() *out. */
void disturbed_take(struct run_set sides[2], double min_effect, struct disturbed *out);
void disturbed_release(struct disturbed *disturbed); /* accepts zeroed */

#endif
