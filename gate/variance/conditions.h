/* Finds conditions: time that was taken from a process, as the kernel's counters tell. It was stopped, throttled by a quota, or ready to
 * run while others, or a hypervisor, had the CPU. Any two readings of the counters (snapshots) tell that, whatever calls the process made
 * meanwhile. Time of a condition belongs to no other region. */
#ifndef GATE_VARIANCE_CONDITIONS_H
#define GATE_VARIANCE_CONDITIONS_H

#include "gate/variance/stretches.h"
#include "gate/variance/waits.h"

/* Adds the conditions of all processes that cost at least v->least_s, each a stretch with known cause, lists them in v->conditions, and
 * removes their time from the maps. Stops and quotas always count. Waiting for a CPU counts where it stands out from the rest of the
 * process's time; elsewhere as far as a hypervisor or other programs took the CPU. O(snapshots log snapshots + fragments). */
void conditions_find(struct variance *v, struct waits *known, struct stretches *all);
/* Returns the seconds of [from_s, to_s) in conditions of the process, except one that lasts as long as the process. */
double conditions_overlap(const struct variance *v, size_t process, double from_s, double to_s);

#endif
