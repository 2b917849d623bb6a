/* Maps of processes and time, as a picture and as text, and the graph of a run. */
#ifndef GATE_VARIANCE_MAPS_H
#define GATE_VARIANCE_MAPS_H

#include "base/document.h"
#include "gate/variance/variance.h"

/* A section with the map of each activity. If there are many processes, those of one program that ran for a part of the time share a row,
 * after the others; what is still too much is joined in the last row, or, for ranks, neighbours share rows. A row of several processes
 * shows the slowest of them. */
void variance_maps(const struct variance *v, struct document *d);

/* The graph of a run: calls and the computation between them, what repeats and what took long without repeating. */

/* Programs get a row for each cluster, people one for each place with all kinds of work there. Waits for processes that were recorded
 * themselves are for programs only. */
void variance_graph(const struct variance *v, struct document *d);

#endif
