/* Whom a process waited for. */
#ifndef GATE_VARIANCE_WAITS_H
#define GATE_VARIANCE_WAITS_H

#include "gate/variance/variance.h"

/* The process for which another one's calls in [from_s, to_s) waited most; SIZE_MAX: no call says with whom it was, or none had half of the
 * time. O(fragments). */
size_t waited_for(const struct variance *v, size_t process, double from_s, double to_s);

#endif
