/* Whom a process waited for. */
#ifndef GATE_VARIANCE_WAITS_H
#define GATE_VARIANCE_WAITS_H

#include "gate/variance/variance.h"

/* Which rank came last, of a communicator in some time: many wait for the same one at about the same time, and looking takes long. */
struct waits {
	struct waits_last {
		uint32_t comm;
		double from_s, to_s;
		uint32_t run;
		size_t process;
	} * items; /* [n]; free() it, and begin with zeroes */
	size_t n, capacity;
};

/* The process for which another one's calls in [from_s, to_s) waited most; SIZE_MAX: no call says with whom it was, or none had half of the
 * time. O(fragments), for what was not asked for before. */
size_t waited_for(const struct variance *v, struct waits *known, size_t process, double from_s, double to_s);

#endif
