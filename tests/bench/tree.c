/* A classification tree without pruning (Breiman, Friedman, Olshen and Stone, Classification and Regression Trees, 1984). Each split
 * leaves the least Gini impurity. As in scikit-learn, thresholds are midpoints of two values, `<=` goes left, and an impure node is
 * split even if that does not reduce the impurity. Of equally good splits, the first column wins, then the lowest threshold. */
#include "tests/bench/tree.h"

#include "base/error.h"
#include "base/mem.h"

#include <math.h>

struct node {
	size_t column, left, right; /* left == 0 marks a leaf */
	double threshold;
	size_t label;
};

struct tree {
	struct node *nodes;
	size_t n, capacity;
};

struct value {
	double x;
	size_t label;
};

struct growth {
	const struct mat *rows;
	const size_t *label;
	size_t labels, depth, leaf;
	size_t *order;	      /* [n], row indices; the rows of a node are adjacent */
	size_t *spare;	      /* [n], scratch */
	struct value *values; /* [n], values of one column, sorted */
	double *left, *right; /* [labels], number of rows per label on each side */
	struct tree *tree;
};

struct split {
	size_t column;
	double threshold;
	double impurity; /* sum over both sides of n times the Gini impurity; INFINITY if there is no split */
};

static int compare(const void *a, const void *b)
{
	const struct value *x = a, *y = b;

	return (x->x > y->x) - (x->x < y->x);
}

/* Returns n (1 - sum of squared shares), n times the Gini impurity. */
static double gini(const double *count, size_t labels, double n)
{
	double squares = 0.0;

	for (size_t l = 0; l < labels; l++)
		squares += count[l] * count[l];
	return n - squares / n;
}

static void count_labels(struct growth *g, size_t first, size_t n, double *count)
{
	memset(count, 0, g->labels * sizeof(*count));
	for (size_t i = first; i < first + n; i++)
		count[g->label[g->order[i]]] += 1.0;
}

/* Returns a threshold between two values; never rounds up to the larger one. */
static double between(double low, double high)
{
	double middle = low + (high - low) / 2.0;

	return middle < high ? middle : low;
}

static void split_column(struct growth *g, size_t first, size_t n, size_t column, struct split *best)
{
	for (size_t i = 0; i < n; i++)
		g->values[i] = (struct value){ mat_get(g->rows, g->order[first + i], column), g->label[g->order[first + i]] };
	qsort(g->values, n, sizeof(*g->values), compare);
	memset(g->left, 0, g->labels * sizeof(*g->left));
	count_labels(g, first, n, g->right);
	for (size_t i = 0; i + 1 < n; i++) {
		double impurity;

		g->left[g->values[i].label] += 1.0;
		g->right[g->values[i].label] -= 1.0;
		if (g->values[i].x >= g->values[i + 1].x || i + 1 < g->leaf || n - i - 1 < g->leaf)
			continue;
		impurity = gini(g->left, g->labels, (double)(i + 1)) + gini(g->right, g->labels, (double)(n - i - 1));
		if (impurity < best->impurity * (1.0 - 1e-12)) /* differences by rounding count as equal */
			*best = (struct split){ column, between(g->values[i].x, g->values[i + 1].x), impurity };
	}
}

/* Partitions the node's rows: those that go left come first, in their old order. Returns their number. */
static size_t part(struct growth *g, size_t first, size_t n, const struct split *split)
{
	size_t left = 0, right = 0;

	for (size_t i = first; i < first + n; i++) {
		if (mat_get(g->rows, g->order[i], split->column) <= split->threshold)
			g->order[first + left++] = g->order[i];
		else
			g->spare[right++] = g->order[i];
	}
	memcpy(g->order + first + left, g->spare, right * sizeof(*g->spare));
	return left;
}

static size_t node_add(struct growth *g, size_t first, size_t n, double *impurity)
{
	struct tree *t = g->tree;
	size_t label = 0;

	count_labels(g, first, n, g->left);
	for (size_t l = 1; l < g->labels; l++)
		if (g->left[l] > g->left[label])
			label = l;
	*impurity = gini(g->left, g->labels, (double)n);
	t->nodes = mem_grow(t->nodes, t->n, &t->capacity, sizeof(*t->nodes));
	t->nodes[t->n] = (struct node){ .label = label };
	return t->n++;
}

static size_t grow(struct growth *g, size_t first, size_t n, size_t depth)
{
	struct split best = { .impurity = (double)INFINITY };
	double impurity;
	size_t at = node_add(g, first, n, &impurity), n_left, left, right;

	if (depth == 0 || impurity <= 0.0)
		return at;
	for (size_t j = 0; j < g->rows->cols; j++)
		split_column(g, first, n, j, &best);
	if (isinf(best.impurity))
		return at;
	n_left = part(g, first, n, &best);
	left = grow(g, first, n_left, depth - 1);
	right = grow(g, first + n_left, n - n_left, depth - 1);
	g->tree->nodes[at].column = best.column;
	g->tree->nodes[at].threshold = best.threshold;
	g->tree->nodes[at].left = left;
	g->tree->nodes[at].right = right;
	return at;
}

void tree_fit(const struct mat *rows, const size_t *label, size_t labels, size_t depth, size_t leaf, struct tree **out)
{
	size_t n = rows->rows;
	struct growth g = { .rows = rows, .label = label, .labels = labels, .depth = depth, .leaf = leaf > 0 ? leaf : 1 };

	ASSAY_BUG_IF(n == 0 || labels == 0);
	g.order = mem_new(2 * n, sizeof(size_t));
	g.spare = g.order + n;
	g.values = mem_new(n, sizeof(*g.values));
	g.left = mem_new(2 * labels, sizeof(double));
	g.right = g.left + labels;
	g.tree = mem_new(1, sizeof(*g.tree));
	for (size_t i = 0; i < n; i++) {
		ASSAY_BUG_IF(label[i] >= labels);
		g.order[i] = i;
	}
	grow(&g, 0, n, depth);
	*out = g.tree;
	free(g.order);
	free(g.values);
	free(g.left);
}

size_t tree_label(const struct tree *tree, const double *row)
{
	const struct node *node = tree->nodes;

	while (node->left)
		node = tree->nodes + (row[node->column] <= node->threshold ? node->left : node->right);
	return node->label;
}

void tree_free(struct tree *tree)
{
	if (!tree)
		return;
	free(tree->nodes);
	free(tree);
}
