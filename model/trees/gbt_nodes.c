#include "base/mem.h"
#include "model/trees/gbt_internal.h"

#define NEAR 1e-7f /* feature values that are no further apart are one: scikit-learn's FEATURE_THRESHOLD */
#define BUCKETS 4096
#define NOWHERE UINT16_MAX /* no row's index: GBT_ROWS_MAX rows end below it */

struct gbt_nodes {
	size_t n, p;
	float *x;          /* [p x n] a feature's values side by side */
	size_t bytes;      /* of all nodes but the root */
	uint16_t *sorted;  /* [n] scratch */
	uint16_t *index;   /* [n] scratch: where the rows of a parent are in its child */
	struct gbt_node *root;
	struct gbt_node *buckets[BUCKETS];
};

/* ---- a node for every set of rows, found again by its hash ---- */

/* The finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
static uint64_t hash_row(uint16_t row)
{
	uint64_t z = (row + 1ull) * 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static uint64_t hash_rows(const uint16_t *rows, size_t n)
{
	uint64_t hash = n;

	for (size_t i = 0; i < n; i++)
		hash ^= hash_row(rows[i]);
	return hash;
}

/* Takes over `rows`. */
static struct gbt_node *node_of(struct gbt_nodes *nodes, struct gbt_node *parent, uint16_t *rows, size_t n)
{
	uint64_t hash = hash_rows(rows, n);
	struct gbt_node **bucket = &nodes->buckets[hash % BUCKETS], *node;

	for (node = *bucket; node; node = node->next) {
		if (node->hash == hash && node->n == n && !memcmp(node->rows, rows, n * sizeof(*rows))) {
			free(rows);
			return node;
		}
	}
	node = mem_new(1, sizeof(*node));
	*node = (struct gbt_node){ .n = n, .rows = rows, .parent = parent, .hash = hash, .next = *bucket };
	*bucket = node;
	nodes->bytes += sizeof(*node) + n * sizeof(*rows);
	return node;
}

struct gbt_node *gbt_nodes_side(struct gbt_nodes *nodes, struct gbt_node *node, bool mark, size_t n)
{
	uint16_t *rows = mem_new(n, sizeof(*rows));

	for (size_t i = 0, k = 0; i < node->n; i++) {
		if (node->order->mark[i] == mark)
			rows[k++] = node->rows[i];
	}
	return node_of(nodes, node, rows, n);
}

static void order_free(struct gbt_order *order)
{
	if (!order)
		return;
	free(order->feature);
	free(order->row);
	free(order->weight);
	free(order->best);
	free(order->second);
	free(order->tied);
	free(order->mark);
	free(order->left);
	free(order->c);
	free(order);
}

static void forget(struct gbt_nodes *nodes, const struct gbt_node *kept)
{
	for (size_t b = 0; b < BUCKETS; b++) {
		struct gbt_node **link = &nodes->buckets[b];

		while (*link) {
			struct gbt_node *node = *link;

			if (node == kept) {
				link = &node->next;
				continue;
			}
			*link = node->next;
			order_free(node->order);
			free(node->rows);
			free(node);
		}
	}
	nodes->bytes = 0;
}

void gbt_nodes_trim(struct gbt_nodes *nodes, size_t bytes)
{
	if (nodes->bytes <= bytes)
		return;
	forget(nodes, nodes->root);
	nodes->root->left = nodes->root->right = NULL;
}

/* ---- the order of the rows along each feature ---- */

static struct gbt_order *order_new(struct gbt_nodes *nodes, size_t n, size_t features)
{
	struct gbt_order *order = mem_new(1, sizeof(*order));
	size_t lanes = (features + GBT_LANES - 1) / GBT_LANES * GBT_LANES;

	order->feature = mem_new(lanes, sizeof(*order->feature));
	order->row = mem_new(lanes * n, sizeof(*order->row));
	order->weight = mem_new(lanes * n, sizeof(*order->weight));
	order->best = mem_new(lanes, sizeof(*order->best));
	order->second = mem_new(lanes, sizeof(*order->second));
	order->tied = mem_new(lanes, sizeof(*order->tied));
	order->mark = mem_new(n, sizeof(*order->mark));
	order->left = mem_new(n, sizeof(*order->left));
	order->c = mem_new(n, sizeof(*order->c));
	nodes->bytes += (lanes + 1) * (n + 2) * (sizeof(*order->row) + sizeof(*order->weight));
	return order;
}

/* Adds a feature that sorts the rows of the node as in nodes->sorted, unless all its values there are one. */
static void order_add(struct gbt_nodes *nodes, const struct gbt_node *node, uint32_t feature)
{
	struct gbt_order *order = node->order;
	const float *x = nodes->x + feature * nodes->n;
	size_t n = node->n, at = gbt_lane(n, order->features);
	bool varies = false;

	for (size_t i = 0; i < n; i++, at += GBT_LANES) {
		bool cut = i + 1 < n && x[node->rows[nodes->sorted[i + 1]]] > x[node->rows[nodes->sorted[i]]] + NEAR;

		order->row[at] = nodes->sorted[i];
		order->weight[at] = cut ? (double)n / ((double)(i + 1) * (double)(n - i - 1)) : 0.0;
		varies |= cut;
	}
	order->feature[order->features] = feature;
	order->features += varies; /* else the next one overwrites it, or it stays behind the last without weight */
}

/* What does not vary in the parent does not vary here; what is sorted there is sorted here. */
static void order_of_child(struct gbt_nodes *nodes, struct gbt_node *node)
{
	const struct gbt_node *parent = node->parent;
	const struct gbt_order *from = parent->order;

	for (size_t i = 0, k = 0; i < parent->n; i++)
		nodes->index[i] = k < node->n && parent->rows[i] == node->rows[k] ? (uint16_t)k++ : NOWHERE;
	node->order = order_new(nodes, node->n, from->features);
	for (size_t f = 0; f < from->features; f++) {
		const uint16_t *row = from->row + gbt_lane(parent->n, f);

		for (size_t i = 0, k = 0; k < node->n; i++) {
			nodes->sorted[k] = nodes->index[row[i * GBT_LANES]];
			k += nodes->sorted[k] != NOWHERE;
		}
		order_add(nodes, node, from->feature[f]);
	}
}

static int by_value(const void *a, const void *b, void *values)
{
	const uint16_t *i = a, *j = b;
	const float *x = values;

	return x[*i] != x[*j] ? (x[*i] > x[*j]) - (x[*i] < x[*j]) : (*i > *j) - (*i < *j);
}

static void order_of_root(struct gbt_nodes *nodes, struct gbt_node *node)
{
	node->order = order_new(nodes, nodes->n, nodes->p);
	for (uint32_t f = 0; f < nodes->p; f++) {
		for (size_t i = 0; i < nodes->n; i++)
			nodes->sorted[i] = (uint16_t)i;
		qsort_r(nodes->sorted, nodes->n, sizeof(*nodes->sorted), by_value, nodes->x + f * nodes->n);
		order_add(nodes, node, f);
	}
}

void gbt_nodes_order(struct gbt_nodes *nodes, struct gbt_node *node)
{
	if (node->order)
		return;
	if (node->parent)
		order_of_child(nodes, node);
	else
		order_of_root(nodes, node);
}

/* ---- begin and end ---- */

static struct gbt_node *make_root(struct gbt_nodes *nodes)
{
	uint16_t *rows = mem_new(nodes->n, sizeof(*rows));

	for (size_t i = 0; i < nodes->n; i++)
		rows[i] = (uint16_t)i;
	return node_of(nodes, NULL, rows, nodes->n);
}

struct gbt_nodes *gbt_nodes_new(const struct mat *X)
{
	struct gbt_nodes *nodes = mem_new(1, sizeof(*nodes));

	nodes->n = X->rows;
	nodes->p = X->cols;
	nodes->x = mem_new(nodes->n * nodes->p, sizeof(*nodes->x));
	nodes->sorted = mem_new(nodes->n, sizeof(*nodes->sorted));
	nodes->index = mem_new(nodes->n, sizeof(*nodes->index));
	for (size_t i = 0; i < nodes->n; i++) {
		for (size_t j = 0; j < nodes->p; j++)
			nodes->x[j * nodes->n + i] = (float)mat_get(X, i, j);
	}
	nodes->root = make_root(nodes);
	gbt_nodes_order(nodes, nodes->root);
	nodes->bytes = 0;
	return nodes;
}

void gbt_nodes_free(struct gbt_nodes *nodes)
{
	if (!nodes)
		return;
	forget(nodes, NULL);
	free(nodes->x);
	free(nodes->sorted);
	free(nodes->index);
	free(nodes);
}

struct gbt_node *gbt_nodes_root(struct gbt_nodes *nodes)
{
	return nodes->root;
}

float gbt_nodes_value(const struct gbt_nodes *nodes, uint32_t feature, uint16_t row)
{
	return nodes->x[feature * nodes->n + row];
}
