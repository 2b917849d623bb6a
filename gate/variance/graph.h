/* The graph of a run: calls and the computation between them, what repeats and what took long without repeating. */
#ifndef GATE_VARIANCE_GRAPH_H
#define GATE_VARIANCE_GRAPH_H

#include "base/document.h"
#include "gate/variance/variance.h"

/* Programs get a row for each cluster, people one for each place with all kinds of work there. Waits for processes that were recorded
 * themselves are for programs only. */
void variance_graph(const struct variance *v, struct document *d);

#endif
