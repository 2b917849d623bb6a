/* Time that machines withheld from runs, by the resource usage counters of each run (runs/running/run.h). For a decision: whether its
 * machines were busy. For a night: the disturbed runs, with their causes. Recorded calls show the same for parts of a run
 * (gate/comparison/weigh.h), A/A controls for a whole plan (gate/nightly/judge.h). */
#ifndef GATE_CONDITIONS_DISTURBED_H
#define GATE_CONDITIONS_DISTURBED_H

#include "base/rows.h"
#include "runs/running/run.h"

/* Constant, code, text for users; in the order of the kinds of withheld time (runs/running/run.h). */
#define DISTURBED_ROWS(X)                                                                                                                  \
	X(DISTURBED_WAITED, "run_delay", "it was kept waiting for a CPU")                                                                  \
	X(DISTURBED_THROTTLED, "throttled", "its group had used up its share of the CPUs")                                                 \
	X(DISTURBED_IO, "io_stalled", "processes there waited for input or output")                                                        \
	X(DISTURBED_MEMORY, "memory_stalled", "processes there waited for memory")                                                         \
	X(DISTURBED_STOLEN, "steal", "a hypervisor had the CPUs for something else")

enum disturbed_cause { DISTURBED_ROWS(ROWS_ENUM) DISTURBED_CAUSES };
const char *disturbed_code(enum disturbed_cause cause);

/* ---- of a decision ---- */

/* Time that the runs of a machine waited for a CPU or were throttled, share of their wall-clock time. */
struct disturbed_machine {
	const char *machine; /* borrowed from the runs */
	size_t runs[2];	     /* runs of the baseline and the candidate whose waits are known */
	size_t disturbed[2]; /* runs among these that waited longer than the quietest run there by at least min_effect */
	double waited[2];    /* mean share */
};

/* Reports whether more than a quarter of the baseline's runs were disturbed. Sides are sorted by machine. Sets (*machines)[*n] to the
 * machines with known waits, by name; free() it. */
bool disturbed_on(const struct run_set *const sides[2], double min_effect, struct disturbed_machine **machines, size_t *n);

/* ---- of a night ---- */

struct disturbed_run {
	char *machine, *version;
	int64_t repetition;
	enum disturbed_cause cause;
	double share, usual; /* withheld share of its wall-clock time; lower quartile of that of this version's runs there */
	bool left_out;	     /* it is excluded; false: too many runs there are disturbed, or own_making */
};

struct disturbed {
	struct disturbed_run *items; /* [n], by version, machine, repetition */
	size_t n, left_out, known;   /* known: runs whose withheld time is known */
	bool too_many;		     /* more than half of the known runs were disturbed */
	bool own_making;	     /* so many are the candidate's that its code may be the cause: none is excluded */
};

/* Moves the excluded runs of one plan to the sides' `others`, so that they no longer count. disturbed_release() *out. */
void disturbed_take(struct run_set sides[2], double min_effect, struct disturbed *out);
void disturbed_release(struct disturbed *disturbed); /* accepts zeroed */

#endif
