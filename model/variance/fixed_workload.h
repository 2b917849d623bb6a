/* Fragments of a program that did the same work, by one number that tells it.
 * Source: VAPRO (Zheng and others, PPoPP 2022), whose vectors of work are sorted by their norm: the smallest one that is not yet in a
 * cluster starts one, of all that are within 5 % of it. */
#ifndef MODEL_VARIANCE_FIXED_WORKLOAD_H
#define MODEL_VARIANCE_FIXED_WORKLOAD_H

#include <stddef.h>

#define FIXED_WORKLOAD_DISTANCE .05 /* as published */

/* work     [n], finite, 0 or more.
 * distance as part of the work of the one that started the cluster.
 * cluster  [n] is filled with numbers from 0, in the order of the clusters' least work.
 * Returns how many there are. Permuting the work changes nothing but the order. O(n log n). */
size_t fixed_workload_clusters(const double *work, size_t n, double distance, size_t *cluster);

#endif
