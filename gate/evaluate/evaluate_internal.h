/* Between the files evaluate*.c only. */
#ifndef GATE_EVALUATE_EVALUATE_INTERNAL_H
#define GATE_EVALUATE_EVALUATE_INTERNAL_H

#include "gate/evaluate/evaluate.h"

/* Sets clusters, and cluster of every outcome: pairs that share an application on either side, or a given name, are one cluster,
 * and so on from pair to pair. */
void evaluate_clusters(struct evaluation *evaluation);

/* Sets kinds, total, areas and scored from the outcomes. */
void evaluate_summary(struct evaluation *evaluation);

#endif
