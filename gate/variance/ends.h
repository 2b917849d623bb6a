/* Which process is at the other end of a pipe or connection, by what the record files say (runs/inside/interpose/interpose.h, `kind`). */
#ifndef GATE_VARIANCE_ENDS_H
#define GATE_VARIANCE_ENDS_H

#include "gate/variance/variance.h"
#include "runs/inside/samples/samples.h"

#define ENDS_NUMBERS 256u

/* Adds the ends of the process of one file, which is the next of all. map[N] becomes 1 + the place in fragments->ends of the file's end N;
 * 0: the file does not have it. */
void ends_add(struct fragments *fragments, const struct samples *samples, const struct fragment_process *process,
	      uint32_t map[ENDS_NUMBERS]);
/* Fills `partner` of all ends, once all files are read and processes are in order. */
void ends_match(struct fragments *fragments);
/* "ADDRESS:PORT" of the connection on which the region's calls lost most; NULL: there is none. Borrowed from the fragments. */
const char *ends_peer(const struct variance *v, const struct region *region);
void ends_release(struct fragments *fragments);

#endif
