/* Which fingerprints of a laboratory stand in one picture. Private to gate/explore*.c. */
#ifndef GATE_EXPLORE_EXPLORE_CHOOSE_H
#define GATE_EXPLORE_EXPLORE_CHOOSE_H

#include "gate/report/report.h"
#include "runs/running/evidence.h"

#include <stdbool.h>
#include <stddef.h>

struct explore_candidate {
	const struct fingerprint *f;
	size_t type; /* index into the evidence's types */
};

bool explore_same_machine(const struct explore_candidate *a, const struct explore_candidate *b);

/* Of the kind (fingerprint_comparable) that most machines have the latest fingerprint of each machine and hardware type, by
 * machine, then type. out [fingerprints of the evidence]; returns how many were chosen. What was not is added to the omissions.
 */
size_t explore_choose(const struct evidence *evidence, struct explore_candidate *out, struct report_omissions *omissions);

#endif
