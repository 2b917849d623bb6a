/* Was it the machine? The time that machines kept from runs, by the resource usage counters of each (runs/running/run.h): for a decision,
 * whether its machines were busy; for a night, the runs that were disturbed, with their causes. Recorded calls say it of parts of a run
 * (gate/variance/weigh.h), A/A controls of all of a plan (gate/nightly/judge.h). */
#ifndef GATE_CONDITIONS_DISTURBED_H
#define GATE_CONDITIONS_DISTURBED_H

#include "base/document.h"
#include "base/rows.h"
#include "runs/running/run.h"

/* Constant, code, for people; in the order of what can be withheld (runs/running/run.h). */
#define DISTURBED_ROWS(X)                                                                                                                  \
	X(DISTURBED_WAITED, "run_delay", "it was kept waiting for a CPU")                                                                  \
	X(DISTURBED_THROTTLED, "throttled", "its group had used up its share of the CPUs")                                                 \
	X(DISTURBED_IO, "io_stalled", "processes there waited for input or output")                                                        \
	X(DISTURBED_MEMORY, "memory_stalled", "processes there waited for memory")                                                         \
	X(DISTURBED_STOLEN, "steal", "a hypervisor had the CPUs for something else")

enum disturbed_cause { DISTURBED_ROWS(ROWS_ENUM) DISTURBED_CAUSES };
const char *disturbed_code(enum disturbed_cause cause);

/* ---- of a decision ---- */

/* How long the runs of a machine were kept waiting for a CPU or throttled, in parts of their wall-clock time. */
struct disturbed_machine {
	const char *machine; /* borrowed from the runs */
	size_t runs[2];	     /* of the baseline and the candidate, of which it is known */
	size_t disturbed[2]; /* of these, that waited longer than the quietest run there, by enough to matter */
	double waited[2];    /* mean */
};

/* Reports whether more than a quarter of the baseline's runs were disturbed. Sides are sorted by machine. (*machines)[*n], of which it is
 * known, by name; free() it. */
bool disturbed_on(const struct run_set *const sides[2], double min_effect, struct disturbed_machine **machines, size_t *n);

/* ---- of a night ---- */

struct disturbed_run {
	char *machine, *version;
	int64_t repetition;
	enum disturbed_cause cause;
	double share, usual; /* of the wall-clock time; of the quieter runs of that version there */
	bool left_out;	     /* false: there are too many of them, which medians do not see to */
};

struct disturbed {
	struct disturbed_run *items; /* [n], by version, machine, repetition */
	size_t n, left_out, known;   /* known: runs with accounts */
	bool too_many;		     /* more than half of them were disturbed */
	bool own_making;	     /* so many more of the candidate's that it may be its own making: none is excluded */
};

/* Moves the disturbed runs of one plan to the sides' `others`: they do not count any more. disturbed_release() *out. */
void disturbed_take(struct run_set sides[2], double min_effect, struct disturbed *out);
void disturbed_release(struct disturbed *disturbed); /* accepts zeroed */

#endif
