#include "model/trees/gbt.h"

#include "base/mem.h"
#include "model/trees/gbt_internal.h"

#include <float.h>
#include <math.h>

const struct gbt_options gbt_paper = { .trees = 1000, .max_depth = 4, .min_samples_split = 2, .learning_rate = .01 };

#define LEAF UINT32_MAX
#define NODES_BYTES ((size_t)8 << 20) /* of nodes, from tree to tree: more is slower at n = 136, p = 43 (page faults) */

/* Of a tree in preorder: the left child follows its parent. */
struct branch {
	uint32_t feature; /* LEAF: `value` is the prediction, otherwise the threshold */
	uint32_t right;   /* index of the right child */
	double value;
};

struct gbt {
	size_t p, trees;
	double start, learning_rate;
	struct branch *branches;
	size_t n_branches, capacity;
	size_t *roots;         /* [trees] */
	double *mse;           /* [trees + 1] */
	double *sum, *per_tree; /* [p] importances */
	double tied, gain;     /* over all splits: gain * features that tie, gain */
	size_t ambiguous;
};

/* What a fit needs while it runs. */
struct boost {
	const struct gbt_options *opts;
	struct gbt *gbt;
	struct gbt_nodes *nodes;
	size_t n;
	double *prediction; /* [n] */
	double *residual;   /* [n] */
	double *centred;    /* [n] of the rows of one node */
	double *credit;     /* [p] of the tree that grows */
};

/* ---- one tree ---- */

static size_t add_branch(struct gbt *gbt, struct branch branch)
{
	gbt->branches = mem_grow(gbt->branches, gbt->n_branches, &gbt->capacity, sizeof(*gbt->branches));
	gbt->branches[gbt->n_branches] = branch;
	return gbt->n_branches++;
}

static void add_leaf(struct boost *b, const struct gbt_node *node, double mean)
{
	add_branch(b->gbt, (struct branch){ .feature = LEAF, .value = mean });
	for (size_t i = 0; i < node->n; i++)
		b->prediction[node->rows[i]] += b->opts->learning_rate * mean;
}

static void share_credit(struct boost *b, const struct gbt_split *split)
{
	double share = split->gain / (double)b->n / (double)split->n_tied;

	for (size_t i = 0; i < split->n_tied; i++)
		b->credit[split->tied[i]] += share;
	b->gbt->gain += split->gain;
	b->gbt->tied += split->gain * (double)split->n_tied;
	b->gbt->ambiguous += split->ambiguous;
}

/* The mean residual of the node; *impurity as scikit-learn computes it, because it is compared with an epsilon. */
static double node_mean(const struct boost *b, const struct gbt_node *node, double *impurity)
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

/* Twice, because the rounding of a mean that is large against the spread would decide between splits that tie. */
static void centre(const struct boost *b, const struct gbt_node *node, double mean)
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

static void grow(struct boost *b, struct gbt_node *node, size_t depth)
{
	double impurity, mean = node_mean(b, node, &impurity);
	bool leaf = depth == b->opts->max_depth || node->n < b->opts->min_samples_split || impurity <= DBL_EPSILON;
	size_t at;

	if (!leaf) {
		centre(b, node, mean);
		leaf = !gbt_split_find(b->nodes, node, b->centred);
	}
	if (leaf) {
		add_leaf(b, node, mean);
		return;
	}
	share_credit(b, &node->split);
	at = add_branch(b->gbt, (struct branch){ .feature = node->split.tied[0], .value = node->split.threshold });
	grow(b, node->left, depth + 1);
	b->gbt->branches[at].right = (uint32_t)b->gbt->n_branches;
	grow(b, node->right, depth + 1);
}

/* ---- boosting ---- */

/* New residuals; returns their mean square. */
static double take_residuals(struct boost *b, const double *y)
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

static void boost_run(struct boost *b, const double *y)
{
	struct gbt *gbt = b->gbt;

	gbt->mse[0] = take_residuals(b, y);
	for (size_t t = 0; t < gbt->trees; t++) {
		gbt->roots[t] = gbt->n_branches;
		memset(b->credit, 0, gbt->p * sizeof(*b->credit));
		grow(b, gbt_nodes_root(b->nodes), 0);
		gbt_nodes_trim(b->nodes, NODES_BYTES);
		for (size_t j = 0; j < gbt->p; j++)
			gbt->sum[j] += b->credit[j];
		add_normalised(gbt->per_tree, b->credit, gbt->p);
		gbt->mse[t + 1] = take_residuals(b, y);
	}
	normalise(gbt->sum, gbt->p);
	normalise(gbt->per_tree, gbt->p);
}

static double mean_of(const double *y, size_t n)
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

static void boost_init(struct boost *b, const struct mat *X, const double *y, const struct gbt_options *opts)
{
	*b = (struct boost){ .opts = opts, .n = X->rows };
	b->gbt = gbt_new(X->cols, mean_of(y, b->n), opts);
	b->nodes = gbt_nodes_new(X);
	b->prediction = mem_new(b->n, sizeof(*b->prediction));
	b->residual = mem_new(b->n, sizeof(*b->residual));
	b->centred = mem_new(b->n, sizeof(*b->centred));
	b->credit = mem_new(X->cols, sizeof(*b->credit));
	for (size_t i = 0; i < b->n; i++)
		b->prediction[i] = b->gbt->start;
}

static void boost_release(struct boost *b)
{
	gbt_free(b->gbt);
	gbt_nodes_free(b->nodes);
	free(b->prediction);
	free(b->residual);
	free(b->centred);
	free(b->credit);
}

enum assay_status gbt_fit(const struct mat *X, const double *y, const struct gbt_options *opts, struct gbt **out,
			  struct assay_error *err)
{
	struct boost b;

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
	b.gbt = NULL; /* now the caller's */
	boost_release(&b);
	return ASSAY_OK;
}

void gbt_free(struct gbt *gbt)
{
	if (!gbt)
		return;
	free(gbt->branches);
	free(gbt->roots);
	free(gbt->mse);
	free(gbt->sum);
	free(gbt->per_tree);
	free(gbt);
}

/* ---- what the fit says ---- */

double gbt_train_mse(const struct gbt *gbt, size_t stage)
{
	ASSAY_BUG_IF(stage > gbt->trees);
	return gbt->mse[stage];
}

const double *gbt_importance_sum(const struct gbt *gbt)
{
	return gbt->sum;
}

const double *gbt_importance_per_tree(const struct gbt *gbt)
{
	return gbt->per_tree;
}

double gbt_tied_per_split(const struct gbt *gbt)
{
	return gbt->gain > 0.0 ? gbt->tied / gbt->gain : 0.0;
}

size_t gbt_ambiguous_splits(const struct gbt *gbt)
{
	return gbt->ambiguous;
}

static double predict_row(const struct gbt *gbt, const double *x)
{
	double sum = gbt->start;

	for (size_t t = 0; t < gbt->trees; t++) {
		size_t at = gbt->roots[t];

		while (gbt->branches[at].feature != LEAF) {
			const struct branch *branch = &gbt->branches[at];

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
		out[i] = predict_row(gbt, X->at + i * X->cols);
}
