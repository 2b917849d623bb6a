/* What repeats, and what took long and does not: calls, and the computation between them. */
#ifndef GATE_VARIANCE_GRAPH_H
#define GATE_VARIANCE_GRAPH_H

#include "base/document.h"
#include "gate/variance/variance.h"

/* For programs each cluster is a row; for people each place, with all the work that was done there. Waits for processes whose own records
 * tell what they did are for programs alone. */
void variance_graph(const struct variance *v, struct document *d);

#endif
