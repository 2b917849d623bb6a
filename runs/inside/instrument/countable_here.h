/* Finds the events that this machine can count, and the runs that are needed for them. */
#ifndef RUNS_INSTRUMENT_COUNTABLE_HERE_H
#define RUNS_INSTRUMENT_COUNTABLE_HERE_H

#include "base/error.h"
#include "fleet/counters/countable.h"

/* Plans runs that count the events here. *out has counted and absent events; counting_plan_release() frees it. Takes some milliseconds. */
enum assay_status countable_plan_local(const struct counting_events *events, struct counting_plan *out, struct assay_error *err);

#endif
