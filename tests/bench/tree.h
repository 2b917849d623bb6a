/* A classification tree on counter ratios, as in Jayasena et al. (SC 2013): Gini impurity, at most `depth` levels, leaves of at least
 * `leaf` rows. The tree needs examples of faults from other programs; assay's detector does not. The benchmarks compare the two. */
#ifndef TESTS_BENCH_TREE_H
#define TESTS_BENCH_TREE_H

#include "base/mat.h"

#include <stddef.h>

struct tree;
/* Fits a tree to rows [n x p], n > 0, with label[n], each below `labels`. The caller frees `*out` by tree_free(). */
void tree_fit(const struct mat *rows, const size_t *label, size_t labels, size_t depth, size_t leaf, struct tree **out);
size_t tree_label(const struct tree *tree, const double *row);
void tree_free(struct tree *tree); /* accepts NULL */

#endif
