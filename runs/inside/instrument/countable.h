/* Which of what processors can count this machine can, in how few runs, and whether it tells the truth. */
#ifndef RUNS_INSTRUMENT_COUNTABLE_H
#define RUNS_INSTRUMENT_COUNTABLE_H

#include "base/error.h"
#include "fleet/agent/countable.h"

#include <stdbool.h>
#include <stddef.h>

/* Asks this machine: which of the events can be counted, in which runs. counting_plan_release() it. Some milliseconds. */
enum assay_status countable_plan(const struct counting_events *events, struct counting_plan *out, struct assay_error *err);

/* Counts a run (of a plan) of a program of this machine; values[run->events.n]. ASSAY_E_IO when nothing was counted. */
enum assay_status countable_count(const struct counting_run *run, const char *const *words, int64_t *values, struct assay_error *err);

/* Programs of which one moves counters that the other does not, for `assay counters --selftest`. */
struct countable_pair {
	enum countable_kind kind; /* whose counters should move; of COUNTABLE_SOFTWARE only `event` */
	const char *event;       /* or NULL: all of the kind */
	const char *good, *bad;  /* names of countable_work() */
	const char *what;        /* "false sharing against padded counters" */
};
const struct countable_pair *countable_pairs(size_t *n);
/* Does such a program's work; false: there is none of that name. Some ten milliseconds. */
bool countable_work(const char *name);

#endif
