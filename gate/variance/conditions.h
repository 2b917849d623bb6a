/* Finds conditions: time in which a process could not run, by the kernel's counters. The process was stopped, a quota throttled it, or it
 * was runnable while other programs or a hypervisor had the CPU. Two readings of the counters (snapshots) show a condition, whatever calls
 * the process made in between. The time of a condition belongs to no other region. */
#ifndef GATE_VARIANCE_CONDITIONS_H
#define GATE_VARIANCE_CONDITIONS_H

#include "gate/variance/stretches.h"
#include "gate/variance/waits.h"

/* Finds conditions that cost at least v->least_s. Adds each to `all`, as a stretch with a known cause, and to v->conditions, and removes
 * its time from the maps. Stops and quotas always count. Run-queue delay counts if it stands out from the rest of the process's time.
 * Otherwise only the part that a hypervisor or other programs caused counts. Costs O(snapshots log snapshots + fragments). */
void conditions_find(struct variance *v, struct waits *known, struct stretches *all);
/* Returns the time within [from_s, to_s) in conditions of the process, s, without conditions that last as long as the process. */
double conditions_overlap(const struct variance *v, size_t process, double from_s, double to_s);

#endif
