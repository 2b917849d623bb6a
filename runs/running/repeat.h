/* Runs during which the machine was not itself are repeated at once, where that was asked for: a run from which much more was withheld than
 * from the quieter ones of the same version on the same host. The second one counts, whatever it was like; what the first one was like is
 * kept with it. Bounded, for a host that is busy all the time would only be kept busy for longer. */
#ifndef RUNS_RUNNING_REPEAT_H
#define RUNS_RUNNING_REPEAT_H

#include "runs/running/execution.h"

#include <stdbool.h>
#include <stddef.h>

/* What is usual on one host, of each version and input. Begins zeroed; repeat_release() it. */
struct repeat {
	struct repeat_usual *usual; /* [n] */
	size_t n, runs, repeated;
};
void repeat_release(struct repeat *repeat);

/* Of one more run of a plan's version and input: should it be repeated? It counts as usual from now on. */
bool repeat_asks(struct repeat *repeat, const struct execution *execution, double min_effect);

/* `second` stands for both: its signature says what was withheld from the first, as `repeated`. */
void repeat_join(const struct execution *first, struct execution *second);

#endif
