/* Agglomerative clustering with average linkage (UPGMA; Sokal and Michener 1958).
 * O(n^3) time, O(n^2) memory. Deterministic: of equal distances, the pair with the lowest indexes is merged first. */
#ifndef BASE_LINKAGE_H
#define BASE_LINKAGE_H

#include "base/mat.h"

#include <stddef.h>

/* Clusters n items.
 * distance  [n x n], symmetric, zero diagonal, finite; not changed.
 * cut       largest average distance at which two clusters are merged, as in scipy's fcluster(criterion="distance").
 * cluster   [n] gets the cluster of each item; clusters are numbered from 0 in the order of first appearance.
 * Returns the number of clusters; 0 if n is 0. */
size_t linkage_cut(const struct mat *distance, double cut, size_t *cluster);

/* Sorts items so that similar ones are adjacent: order[n] gets the leaves of the cluster tree. Each merge orients its two rows of leaves so
 * that their nearest ends meet. `distance` is as for linkage_cut(). */
void linkage_order(const struct mat *distance, size_t *order);

#endif
