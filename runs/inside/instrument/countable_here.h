/* Events that this machine can count, and the runs needed. */
#ifndef RUNS_INSTRUMENT_COUNTABLE_HERE_H
#define RUNS_INSTRUMENT_COUNTABLE_HERE_H

#include "base/error.h"
#include "fleet/counters/countable.h"

/* Finds which of the events can be counted here, in which runs. counting_plan_release() it. Takes some milliseconds. */
enum assay_status countable_here_plan(const struct counting_events *events, struct counting_plan *out, struct assay_error *err);

#endif
