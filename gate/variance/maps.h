/* Maps of processes and time, as a picture and as text, and the graph of a run. */
#ifndef GATE_VARIANCE_MAPS_H
#define GATE_VARIANCE_MAPS_H

#include "base/document.h"
#include "gate/variance/variance.h"

/* A section with the map of each activity. If there are too many processes, neighbours share a row, which shows the slowest of them. */
void variance_maps(const struct variance *v, struct document *d);

/* The graph of a run: calls and the computation between them, what repeats and what took long without repeating. */

void variance_graph(const struct variance *v, struct document *d);

#endif
