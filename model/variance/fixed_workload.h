/* Clusters fragments of a program that did about the same work; the work of a fragment is a number. Source: VAPRO (Zheng and others, PPoPP
 * 2022). VAPRO sorts vectors by their norm: the smallest vector without a cluster starts one, with all vectors within 5 % of it. */
#ifndef MODEL_VARIANCE_FIXED_WORKLOAD_H
#define MODEL_VARIANCE_FIXED_WORKLOAD_H

#include <stddef.h>

#define FIXED_WORKLOAD_DISTANCE .05 /* maximum relative distance within a cluster, as published */

/* Clusters fragments.
 * work     [n] work of each fragment, finite, >= 0.
 * distance maximum distance from the smallest work in a cluster, relative to that work.
 * cluster  [n] gets the cluster of each fragment; clusters are numbered from 0, from the smallest work up.
 * Returns the number of clusters. The result does not depend on the order of the fragments. O(n log n). */
size_t fixed_workload_clusters(const double *work, size_t n, double distance, size_t *cluster);

#endif
