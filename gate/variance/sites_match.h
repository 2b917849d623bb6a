/* Which call site of one build is which of another: the same module's by address; of modules that only one of them has, those that are most
 * alike belong together, and their sites by the longest common subsequence of the names of what is called, in the order of addresses. */
#ifndef GATE_VARIANCE_SITES_MATCH_H
#define GATE_VARIANCE_SITES_MATCH_H

#include "gate/variance/fragments.h"

/* For each site of `new` the number of that of `old`, or FRAGMENT_NO_SITE. free() it. O(sites of old * sites of new) at worst; modules with
 * more than 4 million pairs are not matched. */
uint32_t *sites_match(const struct fragments *old, const struct fragments *new);

#endif
