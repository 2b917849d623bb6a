/* A classification tree on counter ratios, as Jayasena and others (SC 2013): Gini, grown to `depth`, leaves of at least `leaf` rows.
 * Supervised: it has to see faults of other programs, so that a detector cannot be this; it is what one is compared with. */
#ifndef TESTS_BENCH_TREE_H
#define TESTS_BENCH_TREE_H

#include "base/mat.h"

#include <stddef.h>

struct tree;
/* rows [n x p], n > 0, label [n] < labels. *out is overwritten; tree_free() it. */
void tree_fit(const struct mat *rows, const size_t *label, size_t labels, size_t depth, size_t leaf, struct tree **out);
size_t tree_label(const struct tree *tree, const double *row);
void tree_free(struct tree *tree); /* accepts NULL */

#endif
