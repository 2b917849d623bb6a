/* Checks boosted trees: small trees calculated by hand, properties for any data, and a simple implementation without shortcuts. */
#include "base/mem.h"
#include "base/rng.h"
#include "model/published/gbt.c" /* for access to the splits */

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define MAX_ROWS    80
#define MAX_COLS    12

static void assert_near(const char *what, double got, double expected, double tolerance)
{
	if (fabs(got - expected) <= tolerance)
		return;
	fail_msg("%s: %.17g, expected %.17g (off by %.3g)", what, got, expected, got - expected);
}

static struct gbt *fit(const struct mat *X, const double *y, const struct gbt_options *opts)
{
	struct assay_error err = { 0 };
	struct gbt *gbt = NULL;

	if (gbt_fit(X, y, opts, &gbt, &err))
		fail_msg("%s", err.text);
	return gbt;
}

/* ---- calculated by hand ---- */

static const struct {
	const char *what;
	size_t rows, cols;
	double x[12]; /* row-major */
	double y[6];
	size_t depth, trees;
	double rate;
	double mse[3]; /* after 0, 1, 2 trees */
	double importance[2];
	double tied;
	size_t ambiguous;
} by_hand[] = {
	{ "a step", 4, 1, { 0, 1, 2, 3 }, { 0, 0, 10, 10 }, 1, 2, .5, { 25, 6.25, 1.5625 }, { 1 }, 1, 0 },
	{ "rows in any order", 4, 1, { 3, 0, 2, 1 }, { 10, 0, 10, 0 }, 1, 2, .5, { 25, 6.25, 1.5625 }, { 1 }, 1, 0 },
	{ "two levels", 4, 1, { 0, 1, 2, 3 }, { 0, 4, 10, 10 }, 2, 1, 1, { 18, 0 }, { 1 }, 1, 0 },
	{ "a stump of the same", 4, 1, { 0, 1, 2, 3 }, { 0, 4, 10, 10 }, 1, 1, 1, { 18, 2 }, { 1 }, 1, 0 },
	{ "the second feature", 4, 2, { 0, 0, 1, 1, 0, 1, 1, 0 }, { 0, 2, 2, 0 }, 1, 1, 1, { 1, 0 }, { 0, 1 }, 1, 0 },
	{ "a feature and its reverse", 3, 2, { 0, 9, 1, 8, 2, 7 }, { 0, 0, 3 }, 1, 1, 1, { 2, 0 }, { .5, .5 }, 2, 0 },
	{ "two partitions tie", 4, 2, { 0, 0, 0, 1, 1, 0, 1, 1 }, { 0, 1, 1, 2 }, 1, 1, 1, { .5, .25 }, { .5, .5 }, 2, 1 },
	{ "they tie once", 4, 2, { 0, 0, 0, 1, 1, 0, 1, 1 }, { 0, 1, 1, 2 }, 1, 2, .5, { .5, .3125, .125 }, { .25, .75 }, 1.5, 1 },
	{ "nested partitions tie", 3, 2, { 0, 0, 0, 1, 1, 1 }, { 0, 3, 0 }, 1, 1, 1, { 2, 1.5 }, { .5, .5 }, 2, 1 },
	{ "two cuts of one feature tie", 3, 1, { 0, 1, 2 }, { 0, 3, 0 }, 1, 1, 1, { 2, 1.5 }, { 1 }, 1, 1 },
	{ "values 5e-8 apart are one", 2, 1, { 0, 5e-8 }, { 0, 2 }, 4, 1, 1, { 1, 1 }, { 0 }, 0, 0 },
	{ "values 2e-7 apart are two", 2, 1, { 0, 2e-7 }, { 0, 2 }, 4, 1, 1, { 1, 0 }, { 1 }, 1, 0 },
	{ "a chain of near values is one", 3, 1, { 0, 9e-8, 18e-8 }, { 0, 3, 6 }, 4, 1, 1, { 6, 6 }, { 0 }, 0, 0 },
	{ "values are compared as float32", 2, 1, { 100, 100.000001 }, { 0, 2 }, 4, 1, 1, { 1, 1 }, { 0 }, 0, 0 },
	{ "a target that hardly varies", 2, 1, { 0, 1 }, { 0, 1e-9 }, 4, 1, 1, { 2.5e-19, 2.5e-19 }, { 0 }, 0, 0 },
	{ "a constant target", 3, 1, { 0, 1, 2 }, { .1, .1, .1 }, 4, 2, .5, { 0, 0, 0 }, { 0 }, 0, 0 },
};

static void test_by_hand(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(by_hand); i++) {
		struct gbt_options opts = { by_hand[i].trees, by_hand[i].depth, 2, by_hand[i].rate };
		struct mat X = mat_new(by_hand[i].rows, by_hand[i].cols);
		struct gbt *gbt;

		memcpy(X.at, by_hand[i].x, X.rows * X.cols * sizeof(*X.at));
		gbt = fit(&X, by_hand[i].y, &opts);
		for (size_t t = 0; t <= opts.trees; t++)
			assert_near(by_hand[i].what, gbt_info(gbt).mse[t], by_hand[i].mse[t], 1e-14);
		for (size_t j = 0; j < X.cols; j++) {
			assert_near(by_hand[i].what, gbt_info(gbt).importance_sum[j], by_hand[i].importance[j], 1e-14);
			assert_near(by_hand[i].what, gbt_info(gbt).importance_per_tree[j], by_hand[i].importance[j], 1e-14);
		}
		assert_near(by_hand[i].what, gbt_info(gbt).tied_per_split, by_hand[i].tied, 1e-14);
		assert_int_equal(gbt_info(gbt).ambiguous_splits, by_hand[i].ambiguous);
		gbt_free(gbt);
		mat_release(&X);
	}
}

static void test_two_importances(void **state)
{
	/* Residuals are ±4 by the first feature and ±1 by the second. Stumps at rate 1 use one after the other. Their gains are 16 and 1 of
	 * the total 17; normalized within each tree, both importances are equal. */
	double x[] = { 0, 0, 0, 1, 1, 0, 1, 1 }, y[] = { -5, -3, 3, 5 };
	struct mat X = { 4, 2, x };
	struct gbt *gbt = fit(&X, y, &(struct gbt_options){ 2, 1, 2, 1.0 });

	(void)state;
	assert_near("sum", gbt_info(gbt).importance_sum[0], 16.0 / 17.0, 1e-14);
	assert_near("sum", gbt_info(gbt).importance_sum[1], 1.0 / 17.0, 1e-14);
	assert_near("per tree", gbt_info(gbt).importance_per_tree[0], .5, 1e-14);
	assert_near("per tree", gbt_info(gbt).importance_per_tree[1], .5, 1e-14);
	gbt_free(gbt);
}

static void test_min_samples_split(void **state)
{
	double x[] = { 0, 1, 2, 3 }, y[] = { 0, 4, 10, 10 };
	struct mat X = { 4, 1, x };
	struct gbt *gbt = fit(&X, y, &(struct gbt_options){ 1, 2, 3, 1.0 });

	(void)state;
	assert_near("the two rows on the left stay together", gbt_info(gbt).mse[1], 2.0, 1e-14);
	gbt_free(gbt);
}

static void test_threshold(void **state)
{
	static const struct {
		double x, expected;
	} rows[] = { { -9, 0 }, { 1.4, 0 }, { 1.5, 0 }, { 1.6, 10 }, { 99, 10 } };
	double x[] = { 0, 1, 2, 3 }, y[] = { 0, 0, 10, 10 };
	struct mat X = { 4, 1, x };
	struct gbt *gbt = fit(&X, y, &(struct gbt_options){ 1, 1, 2, 1.0 });

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		double at = rows[i].x, got;

		gbt_predict(gbt, &(struct mat){ 1, 1, &at }, &got);
		assert_near("half-way, and left when equal", got, rows[i].expected, 1e-14);
	}
	gbt_free(gbt);
}

static void test_refused(void **state)
{
	static const struct {
		size_t rows, cols;
		enum assay_status expected;
	} rows[] = { { 0, 3, ASSAY_E_NODATA }, { 1, 3, ASSAY_E_NODATA }, { 5, 0, ASSAY_E_NODATA }, { GBT_ROWS_MAX + 1, 1, ASSAY_E_LIMIT } };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct mat X = mat_new(rows[i].rows, rows[i].cols);
		double *y = mem_new(rows[i].rows, sizeof(*y));
		struct assay_error err = { 0 };
		struct gbt *gbt = (struct gbt *)(void *)y; /* must be overwritten */

		assert_int_equal(gbt_fit(&X, y, &gbt_paper, &gbt, &err), rows[i].expected);
		assert_null(gbt);
		assert_true(err.text[0] != '\0');
		free(y);
		mat_release(&X);
	}
	gbt_free(NULL);
}

/* ---- data like those of a laboratory: few types, correlated features, repetitions with small differences ---- */

struct sample {
	struct mat X;
	double y[MAX_ROWS];
};

static struct sample sample_new(uint64_t seed, size_t rows, size_t cols, double step)
{
	struct sample s = { .X = mat_new(rows, cols) };
	double type[8][3];
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t k = 0; k < COUNT(type) * 3; k++)
		type[k / 3][k % 3] = rng_normal(&rng);
	for (size_t i = 0; i < rows; i++) {
		const double *latent = type[rng_below(&rng, COUNT(type))];

		for (size_t j = 0; j < cols; j++) {
			double x = latent[j % 3] * (j % 2 ? -1.0 : 1.0) + .1 * rng_normal(&rng);

			mat_set(&s.X, i, j, step > 0.0 ? step * round(x / step) : x);
		}
		s.y[i] = 100.0 + 10.0 * exp(latent[0]) + 3.0 * latent[1] * latent[2] + .3 * rng_normal(&rng);
	}
	return s;
}

/* ---- simple implementation: every split of every feature, computed from scratch in every node of every tree ---- */

struct plain {
	const struct mat *X;
	const struct gbt_options *opts;
	double residual[MAX_ROWS], prediction[MAX_ROWS];
	double credit[MAX_COLS];
};

static float plain_x(const struct plain *p, size_t row, size_t feature)
{
	return (float)mat_get(p->X, row, feature);
}

static double plain_gain(const struct plain *p, const size_t *rows, size_t n, size_t feature, float cut, double mean)
{
	double sum = 0.0, left = 0.0;

	for (size_t i = 0; i < n; i++) {
		if (plain_x(p, rows[i], feature) > cut)
			continue;
		sum += p->residual[rows[i]] - mean;
		left += 1.0;
	}
	return sum * sum * (double)n / (left * ((double)n - left));
}

/* Returns the gain of the feature's best split, 0 if there is none. Sets *cut to the value of the split. */
static double plain_best(const struct plain *p, const size_t *rows, size_t n, size_t feature, double mean, float *cut)
{
	double best = 0.0;

	for (size_t i = 0; i < n; i++) {
		float x = plain_x(p, rows[i], feature), above = INFINITY;
		double gain;

		for (size_t k = 0; k < n; k++) {
			if (plain_x(p, rows[k], feature) > x)
				above = fminf(above, plain_x(p, rows[k], feature));
		}
		if (above > x + 1e-7f && above < INFINITY) {
			gain = plain_gain(p, rows, n, feature, x, mean);
			if (gain > best * (1.0 + GBT_TIE) || (gain > best * (1.0 - GBT_TIE) && x < *cut)) {
				best = gain;
				*cut = x;
			}
		}
	}
	return best;
}

static void plain_grow(struct plain *p, const size_t *rows, size_t n, size_t depth)
{
	double sum = 0.0, squares = 0.0, gain[MAX_COLS], best = 0.0, tied = 0.0, mean;
	size_t side[2][MAX_ROWS], size[2] = { 0, 0 }, first = SIZE_MAX;
	float cut[MAX_COLS] = { 0 };

	for (size_t i = 0; i < n; i++)
		sum += p->residual[rows[i]];
	mean = sum / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (p->residual[rows[i]] - mean) * (p->residual[rows[i]] - mean);
	for (size_t j = 0; j < p->X->cols; j++) {
		gain[j] = plain_best(p, rows, n, j, mean, &cut[j]);
		best = fmax(best, gain[j]);
	}
	if (depth == p->opts->max_depth || n < p->opts->min_samples_split || squares / (double)n <= DBL_EPSILON || best <= 0.0) {
		for (size_t i = 0; i < n; i++)
			p->prediction[rows[i]] += p->opts->learning_rate * mean;
		return;
	}
	for (size_t j = 0; j < p->X->cols; j++) {
		if (gain[j] < best * (1.0 - GBT_TIE))
			continue;
		tied += 1.0;
		first = first == SIZE_MAX ? j : first;
	}
	for (size_t j = 0; j < p->X->cols; j++)
		p->credit[j] += gain[j] >= best * (1.0 - GBT_TIE) ? best / tied : 0.0;
	for (size_t i = 0; i < n; i++) {
		bool right = plain_x(p, rows[i], first) > cut[first];

		side[right][size[right]++] = rows[i];
	}
	plain_grow(p, side[0], size[0], depth + 1);
	plain_grow(p, side[1], size[1], depth + 1);
}

static double plain_residuals(struct plain *p, const double *y)
{
	double squares = 0.0;

	for (size_t i = 0; i < p->X->rows; i++) {
		p->residual[i] = y[i] - p->prediction[i];
		squares += p->residual[i] * p->residual[i];
	}
	return squares / (double)p->X->rows;
}

static void compare_with_plain(const struct sample *s, const struct gbt_options *opts)
{
	struct plain p = { .X = &s->X, .opts = opts };
	struct gbt *gbt = fit(&s->X, s->y, opts);
	size_t rows[MAX_ROWS];
	double mean = 0.0, total = 0.0;

	for (size_t i = 0; i < s->X.rows; i++)
		mean += s->y[i] / (double)s->X.rows;
	for (size_t i = 0; i < s->X.rows; i++) {
		rows[i] = i;
		p.prediction[i] = mean;
	}
	plain_residuals(&p, s->y);
	for (size_t t = 1; t <= opts->trees; t++) {
		double mse;

		plain_grow(&p, rows, s->X.rows, 0);
		mse = plain_residuals(&p, s->y);
		assert_near("training error", gbt_info(gbt).mse[t], mse, 1e-9 * mse);
	}
	for (size_t j = 0; j < s->X.cols; j++)
		total += p.credit[j];
	for (size_t j = 0; j < s->X.cols; j++)
		assert_near("importance", gbt_info(gbt).importance_sum[j], p.credit[j] / total, 1e-9);
	gbt_free(gbt);
}

/* Checks many trees with a small rate, where nodes are cached, and few trees with a large rate, where they are not. */
static void test_plain(void **state)
{
	static const struct {
		size_t rows, cols;
		double step;
		struct gbt_options opts;
	} rows[] = {
		{ 40, 7, 0.0, { 300, 4, 2, .01 } },  { 40, 7, .25, { 300, 4, 2, .01 } }, { 60, 12, .5, { 100, 6, 2, .05 } },
		{ 30, 1, 0.0, { 100, 3, 2, .1 } },   { 25, 3, 0.0, { 20, 5, 2, .5 } },	 { 50, 5, .1, { 200, 1, 2, .05 } },
		{ 50, 9, 0.0, { 100, 4, 10, .02 } },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		for (uint64_t seed = 0; seed < 3; seed++) {
			struct sample s = sample_new(seed, rows[i].rows, rows[i].cols, rows[i].step);

			compare_with_plain(&s, &rows[i].opts);
			mat_release(&s.X);
		}
	}
}

/* ---- properties for any data ---- */

static const struct gbt_options small = { .trees = 200, .max_depth = 4, .min_samples_split = 2, .learning_rate = .02 };

static void assert_same_fit(const struct gbt *a, const struct gbt *b, size_t cols)
{
	for (size_t t = 0; t <= small.trees; t++)
		assert_near("training error", gbt_info(a).mse[t], gbt_info(b).mse[t], 1e-9 * gbt_info(b).mse[t]);
	for (size_t j = 0; j < cols; j++) {
		assert_near("sum", gbt_info(a).importance_sum[j], gbt_info(b).importance_sum[j], 1e-9);
		assert_near("per tree", gbt_info(a).importance_per_tree[j], gbt_info(b).importance_per_tree[j], 1e-9);
	}
}

static void test_rows_permuted(void **state)
{
	struct sample s = sample_new(1, 70, 9, .05), shuffled = { .X = mat_new(70, 9) };
	struct gbt *a, *b;
	size_t order[70];
	struct rng rng;

	(void)state;
	for (size_t i = 0; i < 70; i++)
		order[i] = i;
	rng_seed(&rng, 7);
	rng_shuffle(&rng, order, 70);
	for (size_t i = 0; i < 70; i++) {
		memcpy(shuffled.X.at + i * 9, s.X.at + order[i] * 9, 9 * sizeof(double));
		shuffled.y[i] = s.y[order[i]];
	}
	a = fit(&s.X, s.y, &small);
	b = fit(&shuffled.X, shuffled.y, &small);
	assert_same_fit(a, b, 9);
	assert_near("tied", gbt_info(a).tied_per_split, gbt_info(b).tied_per_split, 1e-9);
	gbt_free(a);
	gbt_free(b);
	mat_release(&s.X);
	mat_release(&shuffled.X);
}

static void test_column_negated(void **state)
{
	struct sample s = sample_new(2, 70, 9, .05);
	struct gbt *a = fit(&s.X, s.y, &small), *b;

	(void)state;
	for (size_t i = 0; i < 70; i++)
		mat_set(&s.X, i, 0, -mat_get(&s.X, i, 0));
	b = fit(&s.X, s.y, &small);
	assert_true(gbt_info(a).importance_sum[0] > .01);
	assert_same_fit(a, b, 9);
	gbt_free(a);
	gbt_free(b);
	mat_release(&s.X);
}

/* Checks a duplicated column, last and negated: neither its position nor its direction may matter. */
static void test_column_duplicated(void **state)
{
	struct sample s = sample_new(3, 70, 6, 0.0), twice = { .X = mat_new(70, 7) };
	struct gbt *a = fit(&s.X, s.y, &small), *b;

	(void)state;
	for (size_t i = 0; i < 70; i++) {
		memcpy(twice.X.at + i * 7, s.X.at + i * 6, 6 * sizeof(double));
		mat_set(&twice.X, i, 6, -mat_get(&s.X, i, 0));
	}
	b = fit(&twice.X, s.y, &small);
	assert_true(gbt_info(a).importance_sum[0] > .01);
	assert_near("shared equally", gbt_info(b).importance_sum[0], gbt_info(b).importance_sum[6], 1e-15);
	assert_near("shared equally", gbt_info(b).importance_per_tree[0], gbt_info(b).importance_per_tree[6], 1e-15);
	for (size_t t = 0; t <= small.trees; t++)
		assert_near("training error", gbt_info(b).mse[t], gbt_info(a).mse[t], 1e-9 * gbt_info(a).mse[t]);
	assert_true(gbt_info(b).tied_per_split > gbt_info(a).tied_per_split);
	gbt_free(a);
	gbt_free(b);
	mat_release(&s.X);
	mat_release(&twice.X);
}

static void test_training_rows_predicted(void **state)
{
	struct sample s = sample_new(4, 60, 8, 0.0);
	struct gbt *gbt = fit(&s.X, s.y, &small);
	double out[60], squares = 0.0;

	(void)state;
	gbt_predict(gbt, &s.X, out);
	for (size_t i = 0; i < 60; i++)
		squares += (s.y[i] - out[i]) * (s.y[i] - out[i]);
	assert_near("training error", squares / 60.0, gbt_info(gbt).mse[small.trees], 1e-9 * squares);
	for (size_t t = 1; t <= small.trees; t++)
		assert_true(gbt_info(gbt).mse[t] < gbt_info(gbt).mse[t - 1]);
	gbt_free(gbt);
	mat_release(&s.X);
}

static void test_importance_sums_to_one(void **state)
{
	(void)state;
	for (uint64_t seed = 10; seed < 15; seed++) {
		struct sample s = sample_new(seed, 40, 8, .2);
		struct gbt *gbt = fit(&s.X, s.y, &small);
		double sum = 0.0, per_tree = 0.0;

		for (size_t j = 0; j < 8; j++) {
			assert_true(gbt_info(gbt).importance_sum[j] >= 0.0 && gbt_info(gbt).importance_per_tree[j] >= 0.0);
			sum += gbt_info(gbt).importance_sum[j];
			per_tree += gbt_info(gbt).importance_per_tree[j];
		}
		assert_near("sum", sum, 1.0, 1e-14);
		assert_near("per tree", per_tree, 1.0, 1e-14);
		assert_true(gbt_info(gbt).tied_per_split >= 1.0 && gbt_info(gbt).tied_per_split <= 8.0);
		gbt_free(gbt);
		mat_release(&s.X);
	}
}

/* Checks rows far from the overall mean and close to each other: rounding must not distinguish a column from its reverse. */
static void test_ties_far_from_mean(void **state)
{
	struct mat X = mat_new(40, 3);
	double y[40];
	struct rng rng;
	struct gbt *gbt;

	(void)state;
	rng_seed(&rng, 5);
	for (size_t i = 0; i < 40; i++) {
		double x = rng_double(&rng);

		mat_set(&X, i, 0, i < 20 ? 0.0 : 1.0);
		mat_set(&X, i, 1, x);
		mat_set(&X, i, 2, -x);
		y[i] = (i < 20 ? 0.0 : 1e6) + 1e-3 * x;
	}
	gbt = fit(&X, y, &small);
	assert_true(gbt_info(gbt).importance_sum[1] > 0.0);
	assert_near("shared equally", gbt_info(gbt).importance_sum[1] / gbt_info(gbt).importance_sum[2], 1.0, 1e-12);
	gbt_free(gbt);
	mat_release(&X);
}

static void assert_same_rows(const struct gbt_node *node, const uint16_t *rows, size_t n)
{
	assert_int_equal(node->n, n);
	assert_memory_equal(node->rows, rows, n * sizeof(*rows));
}

/* Checks that trimming the cache of nodes changes no split. */
static void test_nodes_trimmed(void **state)
{
	struct sample s = sample_new(6, 50, 5, 0.0);
	struct gbt_nodes *nodes = gbt_nodes_new(&s.X);
	struct gbt_node *root = nodes->root, *same;
	uint16_t rows[50];
	double c[50], mean = 0.0;
	size_t n;

	(void)state;
	for (size_t i = 0; i < 50; i++)
		mean += s.y[i] / 50.0;
	for (size_t i = 0; i < 50; i++)
		c[i] = s.y[i] - mean;
	assert_true(gbt_split_find(nodes, root, c));
	n = root->left->n;
	memcpy(rows, root->left->rows, n * sizeof(*rows));
	same = root->left;
	gbt_nodes_trim(nodes, SIZE_MAX);
	assert_true(gbt_split_find(nodes, root, c));
	assert_ptr_equal(root->left, same);
	gbt_nodes_trim(nodes, 0);
	assert_null(root->left);
	assert_true(gbt_split_find(nodes, root, c));
	assert_same_rows(root->left, rows, n);
	assert_int_equal(root->right->n, 50 - n);
	gbt_nodes_free(nodes);
	mat_release(&s.X);
}

static void test_scale(void **state)
{
	/* The second column differs only in the last bit, which counts as rounding, not as variance. */
	double x[] = { 1, .1, 5, 2, .1, 5, 6, nextafter(.1, 1), 5 }, mean[3], scale[3];
	struct mat X = { 3, 3, x };

	(void)state;
	gbt_standardise(&X, mean, scale);
	assert_near("mean", mean[0], 3.0, 0.0);
	assert_near("variance over n", scale[0], sqrt(14.0 / 3.0), 1e-15);
	assert_near("no variance", scale[1], 1.0, 0.0);
	assert_near("no variance", scale[2], 1.0, 0.0);
	assert_near("value", x[0], -2.0 / sqrt(14.0 / 3.0), 1e-15);
	assert_near("value", x[6], 3.0 / sqrt(14.0 / 3.0), 1e-15);
	assert_near("constant", x[1], 0.0, 1e-16);
	assert_near("constant", x[2], 0.0, 0.0);
}

int suite_gbt(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_two_importances),
		cmocka_unit_test(test_min_samples_split),
		cmocka_unit_test(test_threshold),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_rows_permuted),
		cmocka_unit_test(test_column_negated),
		cmocka_unit_test(test_column_duplicated),
		cmocka_unit_test(test_training_rows_predicted),
		cmocka_unit_test(test_importance_sums_to_one),
		cmocka_unit_test(test_ties_far_from_mean),
		cmocka_unit_test(test_nodes_trimmed),
		cmocka_unit_test(test_scale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
