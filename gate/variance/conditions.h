/* Conditions: time that the kernel says was taken from a process: it was stopped, throttled by a quota, or ready to run while others, or a
 * hypervisor, had the CPU. Only the kernel's counters tell that, between any two readings of them (snapshots), whatever calls the process
 * made meanwhile. What a condition has taken belongs to no other region. */
#ifndef GATE_VARIANCE_CONDITIONS_H
#define GATE_VARIANCE_CONDITIONS_H

#include "gate/variance/stretches.h"
#include "gate/variance/waits.h"

/* Adds the conditions of all processes that cost at least v->least_s, each a stretch whose cause is known, lists them in v->conditions, and
 * removes their time from the maps. Stops and quotas always count. Waiting for a CPU counts where it stands out from the rest of the
 * process's time; elsewhere as far as a hypervisor or other programs took the CPU. O(snapshots log snapshots + fragments). */
void conditions_find(struct variance *v, struct waits *known, struct stretches *all);
/* Seconds of [from_s, to_s) that conditions of the process cover, but for one that lasts as long as it. */
double conditions_overlap(const struct variance *v, size_t process, double from_s, double to_s);
/* Whether the process has a condition that lasts as long as it. */
bool conditions_throughout(const struct variance *v, size_t process);

#endif
