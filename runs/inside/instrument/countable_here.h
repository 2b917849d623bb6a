/* Which events this machine can count, and in how few runs. */
#ifndef RUNS_INSTRUMENT_COUNTABLE_HERE_H
#define RUNS_INSTRUMENT_COUNTABLE_HERE_H

#include "base/error.h"
#include "fleet/counters/countable.h"

/* Which of the events can be counted here, in which runs. counting_plan_release() it. Some milliseconds. */
enum assay_status countable_here_plan(const struct counting_events *events, struct counting_plan *out, struct assay_error *err);

#endif
