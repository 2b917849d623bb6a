/* Agglomerative clustering, average linkage (UPGMA; Sokal and Michener 1958).
 * O(n^3) time, O(n^2) memory. Deterministic: ties are decided by the lowest index. */
#ifndef BASE_LINKAGE_H
#define BASE_LINKAGE_H

#include "base/mat.h"

#include <stddef.h>

/* Clusters items.
 * distance  [n x n], symmetric, zero diagonal, finite; not changed.
 * cut       merges clusters whose average distance is <= cut, as scipy's fcluster(criterion="distance").
 * cluster   [n] gets the cluster of each item, numbered from 0 in the order of first appearance.
 * Returns the number of clusters; 0 for n == 0. */
size_t linkage_cut(const struct mat *distance, double cut, size_t *cluster);

/* Sorts items so that similar ones are adjacent: order[n] gets the leaves of the cluster tree. Each merge is turned so that the nearest
 * ends of its two parts meet. `distance` is as for linkage_cut(). */
void linkage_order(const struct mat *distance, size_t *order);

#endif
