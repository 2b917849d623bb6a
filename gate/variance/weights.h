/* For how many others recorded fragments can stand. */
#ifndef GATE_VARIANCE_WEIGHTS_H
#define GATE_VARIANCE_WEIGHTS_H

#include "gate/variance/fragments.h"

/* Lowers weights by which fragments would have taken more time than there was between their neighbours. Those of all threads are there, in
 * order. O(n log n). */
void weights_bound(struct fragments *fragments);

#endif
