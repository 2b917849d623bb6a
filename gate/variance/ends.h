/* Who is at the other end of the pipes and connections of a run's processes, as their files say (runs/inside/interpose/interpose.h,
 * `kind`). */
#ifndef GATE_VARIANCE_ENDS_H
#define GATE_VARIANCE_ENDS_H

#include "gate/variance/variance.h"
#include "runs/inside/samples/samples.h"

#define ENDS_NUMBERS 256u

/* Those of a file's process, the next one of all. map[N]: the place in fragments->ends, and 1, of the file's number N; 0: it says nothing
 * of that. */
void ends_add(struct fragments *fragments, const struct samples *samples, const struct fragment_process *process,
	      uint32_t map[ENDS_NUMBERS]);
/* Once all files are read and their processes have their places: fills `partner`. */
void ends_match(struct fragments *fragments);
/* "ADDRESS:PORT" of the connection on which a region lost most of what its calls lost; NULL: none did. Borrowed from the fragments. */
const char *ends_peer(const struct variance *v, const struct region *region);
void ends_release(struct fragments *fragments);

#endif
