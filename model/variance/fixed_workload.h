/* Fragments of a program that did the same work: clusters of workload vectors by their norms.
 * Source: VAPRO (Zheng and others, PPoPP 2022): sorted by norm; the smallest one that is not yet in a cluster begins one, of all that are
 * within 5 % of it. */
#ifndef MODEL_VARIANCE_FIXED_WORKLOAD_H
#define MODEL_VARIANCE_FIXED_WORKLOAD_H

#include "base/mat.h"

#include <stddef.h>

#define FIXED_WORKLOAD_DISTANCE .05 /* as published */

/* X        [n x p], finite; rows are fragments, columns counters of work in units that make them comparable.
 * distance Euclidean, as part of the norm of the one that began the cluster.
 * cluster  [n] is filled with numbers from 0, in the order of the clusters' smallest norms.
 * Returns how many there are. Permuting the rows changes nothing but their order. O(n log n + n * cluster's size * p) at worst,
 * O(n log n) for p = 1. */
size_t fixed_workload_clusters(const struct mat *X, double distance, size_t *cluster);

#endif
