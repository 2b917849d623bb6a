/* Stops of processes, as they are told from outside, where no map shows them. A wait is as long as what is waited for, and so is judged by
 * no map; but while a process is stopped its waits end for nobody: a server that was stopped while it waited for the next request has lost
 * that time. */
#ifndef GATE_VARIANCE_STOPS_H
#define GATE_VARIANCE_STOPS_H

#include "gate/variance/stretches.h"

/* Adds those in which no stretch of their process was found. O(fragments log stops). */
void stops_find(const struct variance *v, struct stretches *all);

#endif
