/* Whether this machine is itself: how long some fixed work of a processor and of memory takes, just before a command and just after it. It
 * shows what no account does: a lower frequency, a processor or memory that others use as well. */
#ifndef FLEET_HELPER_PULSE_H
#define FLEET_HELPER_PULSE_H

#include <stdint.h>

/* The shortest of some tries, so that being interrupted does not count. Zeroed: not taken yet. */
struct pulse {
	int64_t compute_ns; /* multiplications that wait for each other */
	int64_t memory_ns;  /* a copy that is larger than the caches next to a processor */
};

/* Takes a pulse, some 2 ms; of one that was taken before the longer of each stays. */
void pulse_take(struct pulse *pulse);

#endif
