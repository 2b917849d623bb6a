/* Maps of processes and time, as a picture and as text. */
#ifndef GATE_VARIANCE_MAPS_H
#define GATE_VARIANCE_MAPS_H

#include "base/document.h"
#include "gate/variance/variance.h"

/* A section with each activity's map. Where there are many processes, those of one program that ran for a part of the time are a row
 * together, behind the others, and what is still too much is the last row, or, of ranks, as many neighbours a row as it takes. A row of
 * several processes shows the slowest of them. */
void variance_maps(const struct variance *v, struct document *d);

#endif
