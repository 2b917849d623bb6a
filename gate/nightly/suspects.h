/* Which comparisons of a night are suspects: the candidate's program can reach functions that changed, of its own or of libraries that it
 * brings along (runs/inside/changes). They are measured first, so that a night that ends early has them. A suite of suspects alone would be
 * shorter; what it would have missed is counted, for the system's libraries, inputs and configuration change as well. */
#ifndef GATE_NIGHTLY_SUSPECTS_H
#define GATE_NIGHTLY_SUSPECTS_H

#include "gate/nightly/nightly.h"

/* In the order in which they are measured. Not known: no program with symbols on both sides. */
enum suspect { SUSPECT_CHANGED, SUSPECT_UNKNOWN, SUSPECT_UNCHANGED };

struct suspects {
	enum suspect *of; /* [n] of the night's comparisons */
	size_t *order;	  /* [n], their indexes as they are to be measured */
	size_t n;
};

/* Builds what git is to build. *out is overwritten; suspects_release() it. */
void suspects_find(const struct nightly *n, struct suspects *out);
void suspects_release(struct suspects *suspects); /* accepts zeroed */

/* Once all is decided: a note of how many were suspects, and how many findings were not among them. Nothing where no suite could be
 * shorter.
 */
void suspects_note(struct nightly *n, const struct suspects *suspects, const struct night_decisions *decisions);

#endif
