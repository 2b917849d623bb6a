#include "model/trees/gbt.h"
#include "model/trees/gbt_internal.h"

#include <emmintrin.h> /* SSE2, which every x86-64 has */
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- the full search ---- */

/* Along two features at once: the sum of the residuals so far, and the two largest gains. c is centred, so the gain of a cut is
 * sum^2 n / (n_left n_right); the cuts of `weight` 0 are none. */
struct run {
	__m128d sum, best, second;
};

static inline void run_step(struct run *run, const uint16_t *row, const double *weight, const double *c)
{
	__m128d gain;

	run->sum = _mm_add_pd(run->sum, _mm_set_pd(c[row[1]], c[row[0]]));
	gain = _mm_mul_pd(_mm_mul_pd(run->sum, run->sum), _mm_loadu_pd(weight));
	run->second = _mm_max_pd(run->second, _mm_min_pd(gain, run->best));
	run->best = _mm_max_pd(run->best, gain);
}

/* The GBT_LANES features from f on. */
static void scan(struct gbt_order *order, size_t n, size_t f, const double *c)
{
	const uint16_t *row = order->row + gbt_lane(n, f);
	const double *weight = order->weight + gbt_lane(n, f);
	struct run a = { 0 }, b = { 0 };

	for (size_t i = 0; i < n; i++, row += GBT_LANES, weight += GBT_LANES) {
		run_step(&a, row, weight, c);
		run_step(&b, row + 2, weight + 2, c);
	}
	_mm_storeu_pd(order->best + f, a.best);
	_mm_storeu_pd(order->best + f + 2, b.best);
	_mm_storeu_pd(order->second + f, a.second);
	_mm_storeu_pd(order->second + f + 2, b.second);
}

/* Rows before the first cut along the feature that is as good as its best one. */
static size_t find_cut(const struct gbt_order *order, size_t n, size_t f, const double *c)
{
	const uint16_t *row = order->row + gbt_lane(n, f);
	const double *weight = order->weight + gbt_lane(n, f);
	double enough = order->best[f] * (1.0 - GBT_TIE), sum = 0.0, gain;
	size_t rows = 0;

	do {
		sum += c[row[rows * GBT_LANES]];
		gain = sum * sum * weight[rows * GBT_LANES];
		rows++;
	} while (gain < enough);
	return rows;
}

static void take_partition(struct gbt_nodes *nodes, struct gbt_node *node, size_t f, size_t n_left)
{
	struct gbt_order *order = node->order;
	const uint16_t *row = order->row + gbt_lane(node->n, f);
	float low = gbt_nodes_value(nodes, order->feature[f], node->rows[row[(n_left - 1) * GBT_LANES]]);
	float high = gbt_nodes_value(nodes, order->feature[f], node->rows[row[n_left * GBT_LANES]]);

	memset(order->mark, 0, node->n * sizeof(*order->mark));
	for (size_t i = 0; i < n_left; i++) {
		order->left[i] = row[i * GBT_LANES];
		order->mark[order->left[i]] = true;
	}
	order->n_left = n_left;
	order->left_weight = order->weight[gbt_lane(node->n, f) + (n_left - 1) * GBT_LANES];
	/* Between two floats a double lies exactly, so that scikit-learn's care for a threshold equal to `high` is not needed. */
	node->split.threshold = (double)low / 2.0 + (double)high / 2.0;
	node->left = gbt_nodes_side(nodes, node, true, n_left);
	node->right = gbt_nodes_side(nodes, node, false, node->n - n_left);
}

/* Whether the first `rows` rows along the feature are one side of the partition, be it the left or the right one. */
static bool same_partition(const struct gbt_order *order, size_t n, size_t f, size_t rows)
{
	const uint16_t *row = order->row + gbt_lane(n, f);
	bool mark = order->mark[row[0]];

	if (rows != (mark ? order->n_left : n - order->n_left))
		return false;
	for (size_t i = 1; i < rows; i++) {
		if (order->mark[row[i * GBT_LANES]] != mark)
			return false;
	}
	return true;
}

/* Feature f splits as well as any other; the first such one decides. */
static void add_tied(struct gbt_nodes *nodes, struct gbt_node *node, size_t f, const double *c)
{
	struct gbt_order *order = node->order;
	struct gbt_split *split = &node->split;
	size_t rows = find_cut(order, node->n, f, c);

	if (split->n_tied == 0)
		take_partition(nodes, node, f, rows);
	else
		split->ambiguous |= !same_partition(order, node->n, f, rows);
	order->tied[split->n_tied++] = order->feature[f];
}

static bool search_all(struct gbt_nodes *nodes, struct gbt_node *node, const double *c)
{
	struct gbt_order *order = node->order;
	double top = 0.0, rival = 0.0, enough;

	for (size_t f = 0; f < order->features; f += GBT_LANES)
		scan(order, node->n, f, c);
	for (size_t f = 0; f < order->features; f++)
		top = fmax(top, order->best[f]);
	if (top <= 0.0)
		return false;
	node->split = (struct gbt_split){ .gain = top, .tied = order->tied };
	enough = top * (1.0 - GBT_TIE);
	for (size_t f = 0; f < order->features; f++) {
		if (order->best[f] >= enough)
			add_tied(nodes, node, f, c);
		rival = fmax(rival, order->best[f] >= enough ? order->second[f] : order->best[f]);
	}
	node->split.ambiguous |= rival >= enough; /* two cuts along one feature tie */
	order->rival = sqrt(rival);
	return true;
}

static void remember(const struct gbt_node *node, const double *c)
{
	struct gbt_order *order = node->order;

	memcpy(order->c, c, node->n * sizeof(*c));
	order->squares = 0.0;
	for (size_t i = 0; i < node->n; i++)
		order->squares += c[i] * c[i];
}

/* ---- the search that can be left out ---- */

/* The square root of a partition's gain is |u.c|, u a unit vector that depends on the partition alone. With c = a*old + e it is
 * at most |a| |u.old| + |e|: where the last split beats this bound of its best rival, nothing else can win or tie. From tree to
 * tree residuals shrink much more than they turn, so that this holds for half of all searches (1.7 times faster at n = 60). */
static bool last_split_stands(struct gbt_node *node, const double *c)
{
	const struct gbt_order *order = node->order;
	double dot = 0.0, squares = 0.0, sum = 0.0, a, turned, gain;

	if (!node->left || node->split.ambiguous)
		return false;
	for (size_t i = 0; i < node->n; i++) {
		dot += c[i] * order->c[i];
		squares += c[i] * c[i];
	}
	for (size_t i = 0; i < order->n_left; i++)
		sum += c[order->left[i]];
	gain = sum * sum * order->left_weight;
	a = dot / order->squares;
	turned = fmax(squares - a * dot, 0.0) + 4.0 * (double)node->n * DBL_EPSILON * squares; /* rounding included */
	if (fabs(a) * order->rival + sqrt(turned) >= sqrt(gain))
		return false;
	node->split.gain = gain;
	return true;
}

bool gbt_split_find(struct gbt_nodes *nodes, struct gbt_node *node, const double *c)
{
	gbt_nodes_order(nodes, node);
	if (last_split_stands(node, c))
		return true;
	node->left = node->right = NULL;
	if (!search_all(nodes, node, c))
		return false;
	remember(node, c);
	return true;
}
