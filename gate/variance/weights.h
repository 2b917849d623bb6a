/* For how many others recorded fragments can stand. */
#ifndef GATE_VARIANCE_WEIGHTS_H
#define GATE_VARIANCE_WEIGHTS_H

#include "gate/variance/fragments.h"

/* Lowers weights by which fragments would have taken more time than there was between their neighbours, or than their thread lived. Those
 * of all threads are there, in order. O(n log n); of what is longer than nearly all at its place, up to 10,000 neighbours are looked at. */
void weights_bound(struct fragments *fragments);

#endif
