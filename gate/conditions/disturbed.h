/* Measures the time that machines withheld from runs, by the resource usage counters of each run (runs/running/run.h). For a decision,
 * finds out whether its machines were busy. For a night, finds the disturbed runs and the causes. Recorded calls show the same for parts of
 * a run (gate/comparison/weigh.h), A/A controls for a whole plan (gate/nightly/judge.h). */
#ifndef GATE_CONDITIONS_DISTURBED_H
#define GATE_CONDITIONS_DISTURBED_H

#include "base/rows.h"
#include "runs/running/run.h"

/* Kinds of withheld time, in the order of runs/running/run.h. Columns: constant, code, text for users. */
#define DISTURBED_ROWS(X)                                                                                                                  \
	X(DISTURBED_WAITED, "run_delay", "the run waited for a CPU")                                                                       \
	X(DISTURBED_THROTTLED, "throttled", "its cgroup reached its CPU quota")                                                            \
	X(DISTURBED_IO, "io_stalled", "processes waited for input or output")                                                              \
	X(DISTURBED_MEMORY, "memory_stalled", "processes waited for memory")                                                               \
	X(DISTURBED_STOLEN, "steal", "the hypervisor used the CPUs for something else (steal)")

enum disturbed_cause { DISTURBED_ROWS(ROWS_ENUM) DISTURBED_CAUSES };
const char *disturbed_code(enum disturbed_cause cause);

/* Fraction of the wall-clock time of runs on a machine in which they waited for a CPU or were throttled. */
struct disturbed_machine {
	const char *machine;  /* name; borrowed from the runs */
	size_t runs[2];	      /* numbers of runs of the baseline and of the candidate whose waits are known */
	size_t disturbed[2];  /* numbers of those runs whose fraction exceeds the machine's lowest one by at least min_effect */
	double wait_share[2]; /* mean fraction per side */
};

/* Reports whether more than a quarter of the baseline's runs were disturbed. The sides must be sorted by machine. Sets (*machines)[*n] to
 * the machines with known waits, sorted by name; the caller frees the array. */
bool disturbed_is_baseline_busy(const struct run_set *const sides[2], double min_effect, struct disturbed_machine **machines, size_t *n);

struct disturbed_run {
	char *machine, *version;
	int64_t repetition;
	enum disturbed_cause cause;
	double share, usual; /* withheld fraction of the run's wall-clock time; its lower quartile over the version's runs there */
	bool is_excluded;    /* the run is excluded; not if too many runs on the machine are disturbed, or if caused_by_version */
};

struct disturbed {
	struct disturbed_run *items; /* [n], sorted by version, machine and repetition */
	size_t n, n_excluded, known; /* numbers of disturbed runs, of excluded runs, and of runs whose withheld time is known */
	bool too_many;		     /* more than half of the runs with known times were disturbed */
	bool caused_by_version;	     /* one version has most disturbed runs, so that its code can be the cause; no run is excluded */
};

/* Finds the disturbed runs of one plan. Moves excluded ones to the `others` of their side, so that they no longer count. The caller calls
 * disturbed_release(). */
void disturbed_exclude_runs(struct run_set sides[2], double min_effect, struct disturbed *out);
void disturbed_release(struct disturbed *disturbed); /* Accepts a zeroed struct. */

#endif
