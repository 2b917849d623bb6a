/* System calls made dearer, class by class: a filter (seccomp(2), classic BPF as in McCanne and Jacobson, USENIX Winter 1993) that refuses
 * nothing divides a number by three as often as it is told before each call of the class, and lets all others pass by a verdict that the
 * kernel keeps. Plain C with the C library only; x86-64 and aarch64. */
#ifndef FLEET_SHAPE_CALLS_H
#define FLEET_SHAPE_CALLS_H

#include "fleet/shape/shape.h"

/* Calls of this thread, and of all that it starts, until they end. As root as without: who is not root gives up for ever what set-user-ID
 * programs would give. `which`: a shape of SHAPE_FILTER. 0, or an error number: ENOMEM when the filters that it runs under already leave no
 * room. */
int calls_filter(unsigned which, unsigned divisions);

/* Makes n calls of the class that do nothing, each for a wrong argument. */
void calls_exercise(unsigned which, unsigned long n);

#endif
