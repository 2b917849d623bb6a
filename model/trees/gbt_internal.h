/* Between gbt.c (boosting), gbt_split.c (the best split of a set of rows) and gbt_nodes.c (what is remembered of such sets): the
 * 15,000 searches of a fit are in a few hundred sets of rows, so what does not depend on the residuals is kept. */
#ifndef MODEL_TREES_GBT_INTERNAL_H
#define MODEL_TREES_GBT_INTERNAL_H

#include "base/mat.h"

#include <stdbool.h>
#include <stdint.h>

/* How a node is split; valid until the next search in the same node. */
struct gbt_split {
	double gain;          /* decrease of the sum of squares */
	double threshold;     /* left when (float)x <= threshold */
	size_t n_tied;        /* features that split as well, >= 1 */
	const uint32_t *tied; /* ascending; the first one is the one that splits */
	bool ambiguous;       /* another partition of the rows ties with this one */
};

/* One set of rows. */
struct gbt_node {
	size_t n;
	uint16_t *rows;                /* [n] ascending */
	struct gbt_split split;
	struct gbt_node *left, *right; /* NULL until a search found a split */
	struct gbt_order *order;       /* NULL until the first search */
	struct gbt_node *parent;       /* a larger set of rows that has an order; NULL for the root */
	struct gbt_node *next;         /* in the bucket of the hash */
	uint64_t hash;
};

/* c[n] are the residuals of node->rows, centred. Fills node->split, left and right; false when no feature separates the rows or
 * nothing is gained. */
struct gbt_nodes;
bool gbt_split_find(struct gbt_nodes *nodes, struct gbt_node *node, const double *c);

struct gbt_nodes *gbt_nodes_new(const struct mat *X); /* X only for the duration of the call */
void gbt_nodes_free(struct gbt_nodes *nodes);         /* accepts NULL */
struct gbt_node *gbt_nodes_root(struct gbt_nodes *nodes);
/* The rows of `node` with order->mark == mark, n of them. */
struct gbt_node *gbt_nodes_side(struct gbt_nodes *nodes, struct gbt_node *node, bool mark, size_t n);
float gbt_nodes_value(const struct gbt_nodes *nodes, uint32_t feature, uint16_t row);
/* Forgets every node but the root when all together take more than `bytes`; not while a tree grows. */
void gbt_nodes_trim(struct gbt_nodes *nodes, size_t bytes);

#define GBT_LANES 4 /* features whose sums run side by side, to hide the latency of the additions */

/* The order of a node's rows along each feature that varies in it. Features come in blocks of GBT_LANES, see gbt_lane(); what is
 * behind the last feature has no weight. */
struct gbt_order {
	size_t features;
	uint32_t *feature;     /* [features] */
	uint16_t *row;         /* index into node->rows, sorted by the feature */
	double *weight;        /* n / (n_left * n_right) of a cut behind this row; 0 where the next value is the same */

	/* Left by the last full search: the two largest gains along each feature, the split, what gbt_split.c asks whether the
	 * split still stands. */
	double *best, *second; /* [features] */
	uint32_t *tied;        /* [features] */
	bool *mark;            /* [n] the left side */
	uint16_t *left;        /* [n_left] the same as a list */
	size_t n_left;
	double left_weight;
	double *c;             /* [n] the residuals */
	double squares;        /* sum of their squares */
	double rival;          /* square root of the largest gain of another partition */
};

/* Where feature f of n rows starts in `row` and `weight`; its next element is GBT_LANES further. */
static inline size_t gbt_lane(size_t n, size_t f)
{
	return f / GBT_LANES * GBT_LANES * n + f % GBT_LANES;
}

/* Makes node->order unless it is there. */
void gbt_nodes_order(struct gbt_nodes *nodes, struct gbt_node *node);

#endif
