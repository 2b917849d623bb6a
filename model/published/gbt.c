/* Fits boosted trees. Caches each set of rows that is searched for its best split: the 15,000 searches of a fit concern only a few hundred
 * sets. The cache keeps the data of a set that do not depend on the residuals. */
#include "model/published/gbt.h"

#include "base/mem.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

const struct gbt_options gbt_paper = { .trees = 1000, .max_depth = 4, .min_samples_split = 2, .learning_rate = .01 };

#define LEAF	    UINT32_MAX
#define NODES_BYTES ((size_t)8 << 20) /* maximum size of the cache of nodes; a larger one is slower at n = 136, p = 43 (page faults) */
#define NEAR_VALUE  1e-7f	      /* feature values closer than this are equal: scikit-learn's FEATURE_THRESHOLD */
#define BUCKETS	    4096
#define NO_ROW	    UINT16_MAX /* marks a row that is not in a child; GBT_ROWS_MAX keeps all row indices below it */

/* ---- standardising columns ---- */

/* Returns the variance by the corrected two-pass algorithm (Chan, Golub, LeVeque, The American Statistician 37(3), 1983, eq. 1.7). */
static double column_variance(const struct mat *X, size_t j, double mean)
{
	double n = (double)X->rows, sum = 0.0, squares = 0.0;

	for (size_t i = 0; i < X->rows; i++) {
		double d = mat_get(X, i, j) - mean;

		sum += d;
		squares += d * d;
	}
	return (squares - sum * sum / n) / n;
}

/* Reports whether the variance is only a rounding error, as of a column of equal values. The bound is scikit-learn's. */
static bool column_is_constant(double n, double mean, double variance)
{
	double rounding = n * mean * DBL_EPSILON;

	return variance <= n * DBL_EPSILON * variance + rounding * rounding;
}

void gbt_standardise(struct mat *X, double *mean, double *scale)
{
	double n = (double)X->rows;

	ASSAY_BUG_IF(X->rows == 0);
	for (size_t j = 0; j < X->cols; j++) {
		double sum = 0.0, variance;

		for (size_t i = 0; i < X->rows; i++)
			sum += mat_get(X, i, j);
		mean[j] = sum / n;
		variance = column_variance(X, j, mean[j]);
		scale[j] = column_is_constant(n, mean[j], variance) ? 1.0 : sqrt(variance);
		for (size_t i = 0; i < X->rows; i++)
			mat_set(X, i, j, (mat_get(X, i, j) - mean[j]) / scale[j]);
	}
}

/* ---- nodes: each set of rows has one node, found by its hash ---- */

/* Split of a node, valid until the next search in the same node. */
struct gbt_split {
	double gain;	      /* decrease of the sum of squared residuals */
	double threshold;     /* a row goes left if (float)x <= threshold */
	size_t n_tied;	      /* number of equally good features, >= 1 */
	const uint32_t *tied; /* [n_tied] indices of equally good features, ascending; the first one defines the split */
	bool ambiguous;	      /* an equally good split partitions the rows differently */
};

/* A set of rows, which one or more trees may split. */
struct gbt_node {
	size_t n;
	uint16_t *rows; /* [n] indices of the rows, ascending */
	struct gbt_split split;
	struct gbt_node *left, *right; /* both parts of the split; NULL until a search finds a split */
	struct gbt_order *order;       /* NULL until the first search */
	struct gbt_node *parent;       /* node of a larger set of rows, whose order exists; NULL for the root */
	struct gbt_node *next;	       /* next node in the same hash bucket */
	uint64_t hash;
};

/* Order of a node's rows along each feature that varies among these rows. */
struct gbt_order {
	size_t features;
	uint32_t *feature; /* [features] index of each feature */
	uint16_t *row;	   /* [features x n] indices into node->rows, sorted by the feature's value */
	double *weight;	   /* [features x n] n / (n_left * n_right) for a cut after this row; 0 if the next row has an equal value */

	/* Results of the last search. */
	double *best, *second; /* [features] largest and second largest gain of a cut along each feature */
	uint32_t *tied;	       /* [features] as in struct gbt_split */
	bool *mark;	       /* [n] true for rows on the left side of the split */
	size_t n_left;
};

struct gbt_nodes {
	size_t n, p;
	float *x;	  /* [p x n] values, feature by feature */
	size_t bytes;	  /* size of all nodes except the root, bytes */
	uint16_t *sorted; /* [n] buffer for sorted rows */
	uint16_t *index;  /* [n] buffer: position of each of the parent's rows in the child */
	struct gbt_node *root;
	struct gbt_node *buckets[BUCKETS];
};

/* Returns the hash of a row's index, by the final step of splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
static uint64_t gbt_hash_row(uint16_t row)
{
	uint64_t z = (row + 1ull) * 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static uint64_t gbt_hash_rows(const uint16_t *rows, size_t n)
{
	uint64_t hash = n;

	for (size_t i = 0; i < n; i++)
		hash ^= gbt_hash_row(rows[i]);
	return hash;
}

/* Returns the node of a set of rows; makes one if there is none. Takes ownership of `rows`. */
static struct gbt_node *gbt_node_find(struct gbt_nodes *nodes, struct gbt_node *parent, uint16_t *rows, size_t n)
{
	uint64_t hash = gbt_hash_rows(rows, n);
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

/* Returns the node of the n rows of `node` on the left side of its split if `mark`, else on the right side. */
static struct gbt_node *gbt_node_make_child(struct gbt_nodes *nodes, struct gbt_node *node, bool mark, size_t n)
{
	uint16_t *rows = mem_new(n, sizeof(*rows));

	for (size_t i = 0, k = 0; i < node->n; i++) {
		if (node->order->mark[i] == mark)
			rows[k++] = node->rows[i];
	}
	return gbt_node_find(nodes, node, rows, n);
}

static void gbt_order_free(struct gbt_order *order)
{
	if (!order)
		return;
	mem_free(order->feature, order->row, order->weight, order->best, order->second, order->tied, order->mark, order);
}

static void gbt_nodes_drop(struct gbt_nodes *nodes, const struct gbt_node *kept)
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
			gbt_order_free(node->order);
			mem_free(node->rows, node);
		}
	}
	nodes->bytes = 0;
}

/* Frees all nodes except the root if their size exceeds `bytes`. Must not be called while a tree grows. */
static void gbt_nodes_trim(struct gbt_nodes *nodes, size_t bytes)
{
	if (nodes->bytes <= bytes)
		return;
	gbt_nodes_drop(nodes, nodes->root);
	nodes->root->left = nodes->root->right = NULL;
}

/* ---- the order of the rows along each feature ---- */

static struct gbt_order *gbt_order_new(struct gbt_nodes *nodes, size_t n, size_t features)
{
	struct gbt_order *order = mem_new(1, sizeof(*order));

	order->feature = mem_new(features, sizeof(*order->feature));
	order->row = mem_new(features * n, sizeof(*order->row));
	order->weight = mem_new(features * n, sizeof(*order->weight));
	order->best = mem_new(features, sizeof(*order->best));
	order->second = mem_new(features, sizeof(*order->second));
	order->tied = mem_new(features, sizeof(*order->tied));
	order->mark = mem_new(n, sizeof(*order->mark));
	nodes->bytes += features * (n + 2) * (sizeof(*order->row) + sizeof(*order->weight));
	return order;
}

/* Adds a feature to the node's order, unless all rows of the node have equal values. nodes->sorted has the rows sorted by this feature. */
static void gbt_order_add(struct gbt_nodes *nodes, const struct gbt_node *node, uint32_t feature)
{
	struct gbt_order *order = node->order;
	const float *x = nodes->x + feature * nodes->n;
	size_t n = node->n, at = order->features * n;
	bool varies = false;

	for (size_t i = 0; i < n; i++, at++) {
		bool cut = i + 1 < n && x[node->rows[nodes->sorted[i + 1]]] > x[node->rows[nodes->sorted[i]]] + NEAR_VALUE;

		order->row[at] = nodes->sorted[i];
		order->weight[at] = cut ? (double)n / ((double)(i + 1) * (double)(n - i - 1)) : 0.0;
		varies |= cut;
	}
	order->feature[order->features] = feature;
	order->features += varies; /* if this feature does not vary, the next feature overwrites it */
}

/* Derives the node's order from the order of its parent. Features that are constant there are constant here; sorted rows stay sorted. */
static void gbt_order_make_child(struct gbt_nodes *nodes, struct gbt_node *node)
{
	const struct gbt_node *parent = node->parent;
	const struct gbt_order *from = parent->order;

	for (size_t i = 0, k = 0; i < parent->n; i++)
		nodes->index[i] = k < node->n && parent->rows[i] == node->rows[k] ? (uint16_t)k++ : NO_ROW;
	node->order = gbt_order_new(nodes, node->n, from->features);
	for (size_t f = 0; f < from->features; f++) {
		const uint16_t *row = from->row + f * parent->n;

		for (size_t i = 0, k = 0; k < node->n; i++) {
			nodes->sorted[k] = nodes->index[row[i]];
			k += nodes->sorted[k] != NO_ROW;
		}
		gbt_order_add(nodes, node, from->feature[f]);
	}
}

static int gbt_compare_values(const void *a, const void *b, void *values)
{
	const uint16_t *i = a, *j = b;
	const float *x = values;

	return x[*i] != x[*j] ? (x[*i] > x[*j]) - (x[*i] < x[*j]) : (*i > *j) - (*i < *j);
}

static void gbt_order_make_root(struct gbt_nodes *nodes, struct gbt_node *node)
{
	node->order = gbt_order_new(nodes, nodes->n, nodes->p);
	for (uint32_t f = 0; f < nodes->p; f++) {
		for (size_t i = 0; i < nodes->n; i++)
			nodes->sorted[i] = (uint16_t)i;
		qsort_r(nodes->sorted, nodes->n, sizeof(*nodes->sorted), gbt_compare_values, nodes->x + f * nodes->n);
		gbt_order_add(nodes, node, f);
	}
}

/* Makes node->order if it does not exist. */
static void gbt_nodes_order(struct gbt_nodes *nodes, struct gbt_node *node)
{
	if (node->order)
		return;
	if (node->parent)
		gbt_order_make_child(nodes, node);
	else
		gbt_order_make_root(nodes, node);
}

static struct gbt_node *gbt_nodes_make_root(struct gbt_nodes *nodes)
{
	uint16_t *rows = mem_new(nodes->n, sizeof(*rows));

	for (size_t i = 0; i < nodes->n; i++)
		rows[i] = (uint16_t)i;
	return gbt_node_find(nodes, NULL, rows, nodes->n);
}

/* Makes the root node and its order. X is not used after the call. */
static struct gbt_nodes *gbt_nodes_new(const struct mat *X)
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
	nodes->root = gbt_nodes_make_root(nodes);
	gbt_nodes_order(nodes, nodes->root);
	nodes->bytes = 0;
	return nodes;
}

static void gbt_nodes_free(struct gbt_nodes *nodes)
{
	if (!nodes)
		return;
	gbt_nodes_drop(nodes, NULL);
	mem_free(nodes->x, nodes->sorted, nodes->index, nodes);
}

/* ---- the search ---- */

/* Finds the two largest gains along feature f. c [n] has mean 0, so the gain of a cut is sum^2 n / (n_left n_right). Cuts with `weight` 0
 * are not possible. */
static void gbt_scan(struct gbt_order *order, size_t n, size_t f, const double *c)
{
	const uint16_t *row = order->row + f * n;
	const double *weight = order->weight + f * n;
	double sum = 0.0, best = 0.0, second = 0.0;

	for (size_t i = 0; i < n; i++) {
		double gain;

		sum += c[row[i]];
		gain = sum * sum * weight[i];
		second = gain > best ? best : gain > second ? gain : second;
		best = gain > best ? gain : best;
	}
	order->best[f] = best;
	order->second[f] = second;
}

/* Returns the number of rows before the first cut along feature f whose gain equals the feature's best gain. */
static size_t gbt_find_cut(const struct gbt_order *order, size_t n, size_t f, const double *c)
{
	const uint16_t *row = order->row + f * n;
	const double *weight = order->weight + f * n;
	double enough = order->best[f] * (1.0 - GBT_TIE), sum = 0.0, gain;
	size_t rows = 0;

	do {
		sum += c[row[rows]];
		gain = sum * sum * weight[rows];
		rows++;
	} while (gain < enough);
	return rows;
}

static void gbt_partition(struct gbt_nodes *nodes, struct gbt_node *node, size_t f, size_t n_left)
{
	struct gbt_order *order = node->order;
	const uint16_t *row = order->row + f * node->n;
	const float *x = nodes->x + order->feature[f] * nodes->n;
	float low = x[node->rows[row[n_left - 1]]];
	float high = x[node->rows[row[n_left]]];

	memset(order->mark, 0, node->n * sizeof(*order->mark));
	for (size_t i = 0; i < n_left; i++)
		order->mark[row[i]] = true;
	order->n_left = n_left;
	/* The middle of two floats is an exact double, so scikit-learn's special case for a threshold equal to `high` is not needed. */
	node->split.threshold = (double)low / 2.0 + (double)high / 2.0;
	node->left = gbt_node_make_child(nodes, node, true, n_left);
	node->right = gbt_node_make_child(nodes, node, false, node->n - n_left);
}

/* Reports whether the first `rows` rows along feature f are exactly the left side, or the right side, of the split. */
static bool gbt_is_same_partition(const struct gbt_order *order, size_t n, size_t f, size_t rows)
{
	const uint16_t *row = order->row + f * n;
	bool mark = order->mark[row[0]];

	if (rows != (mark ? order->n_left : n - order->n_left))
		return false;
	for (size_t i = 1; i < rows; i++) {
		if (order->mark[row[i]] != mark)
			return false;
	}
	return true;
}

/* Adds feature f, whose best split is as good as the best of all features. The first such feature defines the split. */
static void gbt_add_tied(struct gbt_nodes *nodes, struct gbt_node *node, size_t f, const double *c)
{
	struct gbt_order *order = node->order;
	struct gbt_split *split = &node->split;
	size_t rows = gbt_find_cut(order, node->n, f, c);

	if (split->n_tied == 0)
		gbt_partition(nodes, node, f, rows);
	else
		split->ambiguous |= !gbt_is_same_partition(order, node->n, f, rows);
	order->tied[split->n_tied++] = order->feature[f];
}

static bool gbt_search(struct gbt_nodes *nodes, struct gbt_node *node, const double *c)
{
	struct gbt_order *order = node->order;
	double top = 0.0, rival = 0.0, enough;

	for (size_t f = 0; f < order->features; f++) {
		gbt_scan(order, node->n, f, c);
		top = order->best[f] > top ? order->best[f] : top;
	}
	if (top <= 0.0)
		return false;
	node->split = (struct gbt_split){ .gain = top, .tied = order->tied };
	enough = top * (1.0 - GBT_TIE);
	for (size_t f = 0; f < order->features; f++) {
		if (order->best[f] >= enough)
			gbt_add_tied(nodes, node, f, c);
		rival = fmax(rival, order->best[f] >= enough ? order->second[f] : order->best[f]);
	}
	node->split.ambiguous |= rival >= enough; /* two cuts along one feature are equally good */
	return true;
}

/* Finds the best split of `node`. c [n]: centred residuals of its rows. Fills node->split, left and right. False: no cut has a gain. */
static bool gbt_split_find(struct gbt_nodes *nodes, struct gbt_node *node, const double *c)
{
	gbt_nodes_order(nodes, node);
	node->left = node->right = NULL;
	return gbt_search(nodes, node, c);
}

/* ---- trees ---- */

/* A node of a tree. Nodes are in preorder, so the left child follows its parent. */
struct gbt_branch {
	uint32_t feature; /* feature of the split; LEAF: `value` is the prediction, else the threshold */
	uint32_t right;	  /* index of the right child */
	double value;
};

struct gbt {
	size_t p, trees;
	double start, learning_rate;
	struct gbt_branch *branches;
	size_t n_branches, capacity;
	size_t *roots;		/* [trees] index of each root in `branches` */
	double *mse;		/* [trees + 1] as in struct gbt_info */
	double *sum, *per_tree; /* [p] importances, as in struct gbt_info */
	double tied, gain;	/* sum over all splits of gain * number of tied features; sum of gains */
	size_t ambiguous;
};

/* State of a fit. */
struct gbt_boost {
	const struct gbt_options *opts;
	struct gbt *gbt;
	struct gbt_nodes *nodes;
	size_t n;
	double *prediction; /* [n] present prediction, the start plus the sum of the trees */
	double *residual;   /* [n] y minus the prediction */
	double *centred;    /* [n] centred residuals of the rows of one node */
	double *credit;	    /* [p] gain of each feature in the tree that grows */
};

/* ---- one tree ---- */

static size_t gbt_add_branch(struct gbt *gbt, struct gbt_branch branch)
{
	gbt->branches = mem_grow(gbt->branches, gbt->n_branches, &gbt->capacity, sizeof(*gbt->branches));
	gbt->branches[gbt->n_branches] = branch;
	return gbt->n_branches++;
}

static void gbt_add_leaf(struct gbt_boost *b, const struct gbt_node *node, double mean)
{
	gbt_add_branch(b->gbt, (struct gbt_branch){ .feature = LEAF, .value = mean });
	for (size_t i = 0; i < node->n; i++)
		b->prediction[node->rows[i]] += b->opts->learning_rate * mean;
}

static void boost_share_credit(struct gbt_boost *b, const struct gbt_split *split)
{
	double share = split->gain / (double)b->n / (double)split->n_tied;

	for (size_t i = 0; i < split->n_tied; i++)
		b->credit[split->tied[i]] += share;
	b->gbt->gain += split->gain;
	b->gbt->tied += split->gain * (double)split->n_tied;
	b->gbt->ambiguous += split->ambiguous;
}

/* Returns the mean residual of the node's rows. Computes *impurity by scikit-learn's formula, because it is compared with an epsilon. */
static double boost_node_mean(const struct gbt_boost *b, const struct gbt_node *node, double *impurity)
{
	double n = (double)node->n, sum = 0.0, squares = 0.0, mean;

	for (size_t i = 0; i < node->n; i++) {
		double r = b->residual[node->rows[i]];

		sum += r;
		squares += r * r;
	}
	mean = sum / n;
	*impurity = squares / n - mean * mean;
	return mean;
}

/* Centres the residuals twice. If a mean is large relative to the spread, its rounding error would decide between tied splits. */
static void boost_centre(const struct gbt_boost *b, const struct gbt_node *node, double mean)
{
	double rest = 0.0;

	for (size_t i = 0; i < node->n; i++) {
		b->centred[i] = b->residual[node->rows[i]] - mean;
		rest += b->centred[i];
	}
	rest /= (double)node->n;
	for (size_t i = 0; i < node->n; i++)
		b->centred[i] -= rest;
}

static void boost_grow(struct gbt_boost *b, struct gbt_node *node, size_t depth)
{
	double impurity, mean = boost_node_mean(b, node, &impurity);
	bool leaf = depth == b->opts->max_depth || node->n < b->opts->min_samples_split || impurity <= DBL_EPSILON;
	size_t at;

	if (!leaf) {
		boost_centre(b, node, mean);
		leaf = !gbt_split_find(b->nodes, node, b->centred);
	}
	if (leaf) {
		gbt_add_leaf(b, node, mean);
		return;
	}
	boost_share_credit(b, &node->split);
	at = gbt_add_branch(b->gbt, (struct gbt_branch){ .feature = node->split.tied[0], .value = node->split.threshold });
	boost_grow(b, node->left, depth + 1);
	b->gbt->branches[at].right = (uint32_t)b->gbt->n_branches;
	boost_grow(b, node->right, depth + 1);
}

/* ---- boosting ---- */

/* Computes the residuals of all rows, and returns their mean square. */
static double boost_residuals(struct gbt_boost *b, const double *y)
{
	double squares = 0.0;

	for (size_t i = 0; i < b->n; i++) {
		b->residual[i] = y[i] - b->prediction[i];
		squares += b->residual[i] * b->residual[i];
	}
	return squares / (double)b->n;
}

static void add_normalised(double *into, const double *credit, size_t p)
{
	double total = 0.0;

	for (size_t j = 0; j < p; j++)
		total += credit[j];
	for (size_t j = 0; j < p && total > 0.0; j++)
		into[j] += credit[j] / total;
}

static void normalise(double *values, size_t p)
{
	double *copy = mem_new(p, sizeof(*copy));

	memcpy(copy, values, p * sizeof(*copy));
	memset(values, 0, p * sizeof(*values));
	add_normalised(values, copy, p);
	free(copy);
}

static void boost_run(struct gbt_boost *b, const double *y)
{
	struct gbt *gbt = b->gbt;

	gbt->mse[0] = boost_residuals(b, y);
	for (size_t t = 0; t < gbt->trees; t++) {
		gbt->roots[t] = gbt->n_branches;
		memset(b->credit, 0, gbt->p * sizeof(*b->credit));
		boost_grow(b, b->nodes->root, 0);
		gbt_nodes_trim(b->nodes, NODES_BYTES);
		for (size_t j = 0; j < gbt->p; j++)
			gbt->sum[j] += b->credit[j];
		add_normalised(gbt->per_tree, b->credit, gbt->p);
		gbt->mse[t + 1] = boost_residuals(b, y);
	}
	normalise(gbt->sum, gbt->p);
	normalise(gbt->per_tree, gbt->p);
}

static double boost_mean(const double *y, size_t n)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += y[i];
	return sum / (double)n;
}

static struct gbt *gbt_new(size_t p, double start, const struct gbt_options *opts)
{
	struct gbt *gbt = mem_new(1, sizeof(*gbt));

	gbt->p = p;
	gbt->trees = opts->trees;
	gbt->start = start;
	gbt->learning_rate = opts->learning_rate;
	gbt->roots = mem_new(opts->trees, sizeof(*gbt->roots));
	gbt->mse = mem_new(opts->trees + 1, sizeof(*gbt->mse));
	gbt->sum = mem_new(p, sizeof(*gbt->sum));
	gbt->per_tree = mem_new(p, sizeof(*gbt->per_tree));
	return gbt;
}

static void boost_init(struct gbt_boost *b, const struct mat *X, const double *y, const struct gbt_options *opts)
{
	*b = (struct gbt_boost){ .opts = opts, .n = X->rows };
	b->gbt = gbt_new(X->cols, boost_mean(y, b->n), opts);
	b->nodes = gbt_nodes_new(X);
	b->prediction = mem_new(b->n, sizeof(*b->prediction));
	b->residual = mem_new(b->n, sizeof(*b->residual));
	b->centred = mem_new(b->n, sizeof(*b->centred));
	b->credit = mem_new(X->cols, sizeof(*b->credit));
	for (size_t i = 0; i < b->n; i++)
		b->prediction[i] = b->gbt->start;
}

static void boost_release(struct gbt_boost *b)
{
	gbt_free(b->gbt);
	gbt_nodes_free(b->nodes);
	mem_free(b->prediction, b->residual, b->centred, b->credit);
}

enum assay_status gbt_fit(const struct mat *X, const double *y, const struct gbt_options *opts, struct gbt **out, struct assay_error *err)
{
	struct gbt_boost b;

	ASSAY_BUG_IF(opts->trees == 0 || opts->max_depth == 0 || opts->min_samples_split < 2);
	ASSAY_BUG_IF(!(opts->learning_rate > 0.0 && opts->learning_rate <= 1.0));
	*out = NULL;
	if (X->rows < 2 || X->cols == 0)
		return assay_fail(err, ASSAY_E_NODATA, "%zu rows of %zu features are too few for trees", X->rows, X->cols);
	if (X->rows > GBT_ROWS_MAX)
		return assay_fail(err, ASSAY_E_LIMIT, "%zu rows are too many for trees, at most %d", X->rows, GBT_ROWS_MAX);
	boost_init(&b, X, y, opts);
	boost_run(&b, y);
	*out = b.gbt;
	b.gbt = NULL; /* *out owns the fit now */
	boost_release(&b);
	return ASSAY_OK;
}

void gbt_free(struct gbt *gbt)
{
	if (!gbt)
		return;
	mem_free(gbt->branches, gbt->roots, gbt->mse, gbt->sum, gbt->per_tree, gbt);
}

/* ---- statistics of the fit ---- */

struct gbt_info gbt_info(const struct gbt *gbt)
{
	return (struct gbt_info){ .mse = gbt->mse,
				  .importance_sum = gbt->sum,
				  .importance_per_tree = gbt->per_tree,
				  .tied_per_split = gbt->gain > 0.0 ? gbt->tied / gbt->gain : 0.0,
				  .ambiguous_splits = gbt->ambiguous };
}

static double gbt_predict_row(const struct gbt *gbt, const double *x)
{
	double sum = gbt->start;

	for (size_t t = 0; t < gbt->trees; t++) {
		size_t at = gbt->roots[t];

		while (gbt->branches[at].feature != LEAF) {
			const struct gbt_branch *branch = &gbt->branches[at];

			at = (double)(float)x[branch->feature] <= branch->value ? at + 1 : branch->right;
		}
		sum += gbt->learning_rate * gbt->branches[at].value;
	}
	return sum;
}

void gbt_predict(const struct gbt *gbt, const struct mat *X, double *out)
{
	ASSAY_BUG_IF(X->cols != gbt->p);
	for (size_t i = 0; i < X->rows; i++)
		out[i] = gbt_predict_row(gbt, X->at + i * X->cols);
}
