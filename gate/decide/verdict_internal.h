/* Parts of verdict_of(). Private to gate/decide/verdict*.c. */
#ifndef GATE_DECIDE_VERDICT_INTERNAL_H
#define GATE_DECIDE_VERDICT_INTERNAL_H

#include "gate/decide/verdict.h"

/* Fills features, resources, resource_types and cause, from the pairing and the effect. */
void verdict_find_resources(const struct evidence *evidence, struct verdict *v);

#endif
