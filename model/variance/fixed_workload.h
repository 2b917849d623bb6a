/* Clusters fragments of a program that did the same work, a number. Source: VAPRO (Zheng and others, PPoPP 2022), which sorts vectors of
 * work by their norm: the smallest vector without a cluster starts a cluster, with all vectors within 5 % of it. */
#ifndef MODEL_VARIANCE_FIXED_WORKLOAD_H
#define MODEL_VARIANCE_FIXED_WORKLOAD_H

#include <stddef.h>

#define FIXED_WORKLOAD_DISTANCE .05 /* relative distance within a cluster, as published */

/* Clusters fragments.
 * work     [n], finite, 0 or more.
 * distance relative to the smallest work of a cluster.
 * cluster  [n] gets numbers from 0, in the order of the clusters' smallest work.
 * Returns the number of clusters. Permuting the work only permutes the result. O(n log n). */
size_t fixed_workload_clusters(const double *work, size_t n, double distance, size_t *cluster);

#endif
