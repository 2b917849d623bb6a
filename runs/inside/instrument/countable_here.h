/* Which events this machine can count, in how few runs, and whether it counts them truly. */
#ifndef RUNS_INSTRUMENT_COUNTABLE_HERE_H
#define RUNS_INSTRUMENT_COUNTABLE_HERE_H

#include "base/error.h"
#include "fleet/counters/countable.h"

#include <stdbool.h>
#include <stddef.h>

/* Which of the events can be counted here, in which runs. counting_plan_release() it. Some milliseconds. */
enum assay_status countable_here_plan(const struct counting_events *events, struct counting_plan *out, struct assay_error *err);

/* Two programs, one of which moves counters that the other does not, for `assay counters --selftest`. */
struct countable_pair {
	enum countable_kind kind; /* whose counters should move; of COUNTABLE_SOFTWARE only `event` */
	const char *event;	  /* or NULL: all of the kind */
	const char *good, *bad;	  /* names of countable_here_work() */
	const char *what;	  /* "two threads that count in one cache line, against two lines" */
};
const struct countable_pair *countable_here_pairs(size_t *n);
/* Does the work of such a program; false if there is none of that name. Some ten milliseconds. */
bool countable_here_work(const char *name);

/* Whether an event of a plan moved as it should. */
struct countable_verdict {
	const char *event, *what; /* of the plan, of the pair */
	int64_t good, bad;	  /* counts */
	bool moves;
};
struct countable_verdicts {
	struct countable_verdict *items; /* [n], to be freed */
	size_t n, capacity;
};

/* Counts both programs of each pair. program[3]: words of a command that does countable_here_work() of the name that follows them.
 * ASSAY_E_IO when nothing was counted. Adds to *out, zeroed at first. */
enum assay_status countable_here_selftest(const struct counting_plan *plan, const char *const *program, struct countable_verdicts *out,
					  struct assay_error *err);

#endif
