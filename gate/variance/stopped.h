/* Stops of processes, seen from outside, that no map shows. Waits are not judged, because they last as long as what is waited for; but
 * while a process is stopped no wait of it can end: a server that was stopped while it waited for the next request has lost that time. */
#ifndef GATE_VARIANCE_STOPPED_H
#define GATE_VARIANCE_STOPPED_H

#include "gate/variance/stretches.h"

/* Adds the stops that no stretch of their process covers. O(fragments log stops). */
void stopped_find(const struct variance *v, struct stretches *all);

#endif
