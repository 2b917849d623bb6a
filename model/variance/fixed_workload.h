/* Fragments of a program that did the same work: clusters of workload vectors by their norms, and how good such clusters are where the
 * truth is known.
 * Source: VAPRO (Zheng and others, PPoPP 2022): sorted by norm; the smallest one that is not yet in a cluster begins one, of all that are
 * within 5 % of it. V-measure: Rosenberg and Hirschberg, EMNLP-CoNLL 2007, with beta 1. */
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

/* Of labels found[n] against truth[n] (any numbers): 1 when they divide alike, 0 when they know nothing of each other. 1 for n = 0.
 * O(n log n). */
double fixed_workload_v_measure(const size_t *truth, const size_t *found, size_t n);

#endif
