/* Which call site of one build corresponds to which of another. */
#ifndef GATE_VARIANCE_SITES_MATCH_H
#define GATE_VARIANCE_SITES_MATCH_H

#include "gate/variance/fragments.h"

/* For each site of `new` the number of that of `old`, or FRAGMENT_NO_SITE. free() it. Sites of the same module are matched by address.
 * Modules that only one build has are paired by likeness, and their sites by the longest common subsequence of called names, in the order
 * of addresses. O(sites of old * sites of new) at worst; modules with more than 4 million pairs are not matched. */
uint32_t *sites_match(const struct fragments *old, const struct fragments *new);

#endif
