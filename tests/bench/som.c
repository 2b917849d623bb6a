/* A self-organizing map (Kohonen, Biological Cybernetics 43, 1982) as in UBL (Dean, Nguyen and Gu, "UBL: unsupervised behavior learning
 * for predicting performance anomalies in virtualized cloud systems", ICAC 2012). The map is a square of units. Training takes one row
 * at a time and moves the best matching unit and its neighbors towards the row.
 *
 * In the paper, the area of a unit is the sum of the Manhattan distances to the units above, below, left and right of it. Units visited
 * by many normal rows are close together. A row is anomalous if the area of its best matching unit is above the 85th percentile over all
 * units. The columns are ranked by their difference to the nearest units with smaller areas.
 *
 * In this file, a row's error is |row - best matching unit|^2 + the unit's area per neighbor. Both are sums over columns, so that each
 * column has its part. The second term is the paper's rule as a number, with a threshold that the detector chooses. The first term is
 * needed because this map learns only from normal rows. Without it, a row far outside the map would be as normal as the border unit that
 * it matches. The expected row is the nearest unit whose area is not above the 85th percentile. This file has no cross-validation
 * between several maps. The number of units depends on the rows (about 5 sqrt(n): Vesanto and Alhoniemi, IEEE Transactions on Neural
 * Networks 11(3), 2000), at most 32 x 32. */
#include "tests/bench/rivals.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"

#include <float.h>
#include <math.h>

#define STEPS_A_UNIT 50
#define RATE_FIRST   .7 /* first learning rate; falls linearly to the last one */
#define RATE_LAST    .01
#define RADIUS_LAST  .5
#define REACH	     3.0 /* in radii; units farther away do not move */
#define SPARSE	     .85 /* quantile of the areas */
#define SIDE_MIN     3
#define SIDE_MAX     32

struct som {
	struct scorer scorer;
	size_t side;
	struct mat unit; /* [side * side x p], row by row of the map */
	struct mat area; /* [side * side x p], mean distance per column to the neighbors on the map */
	bool *sparse;	 /* [side * side], true if the area is above the 85th percentile */
};

static struct som *som_new(size_t side, size_t p)
{
	struct som *s = mem_new(1, sizeof(*s));

	s->scorer.kind = &scorer_som;
	s->side = side;
	s->unit = mat_new(side * side, p);
	s->area = mat_new(side * side, p);
	s->sparse = mem_new(side * side, sizeof(bool));
	return s;
}

static void som_free(struct scorer *scorer)
{
	struct som *s = (struct som *)scorer;

	if (!s)
		return;
	mat_release(&s->unit);
	mat_release(&s->area);
	mem_free(s->sparse, s);
}

/* Returns the unit nearest to row[p], the first of equally near ones. dense: ignore sparse units. */
static size_t som_nearest(const struct som *s, const double *row, bool dense)
{
	size_t best = SIZE_MAX, p = s->unit.cols;
	double least = DBL_MAX;

	for (size_t u = 0; u < s->unit.rows; u++) {
		const double *unit = s->unit.at + u * p;
		double sum = 0.0;

		if (dense && s->sparse[u])
			continue;
		for (size_t j = 0; j < p && sum < least; j++)
			sum += (row[j] - unit[j]) * (row[j] - unit[j]);
		if (best == SIZE_MAX || sum < least) {
			least = sum;
			best = u;
		}
	}
	return best;
}

/* Moves the units around `best` towards the row, by a Gaussian of their distance on the map. */
static void som_draw(struct som *s, const double *row, size_t best, double rate, double radius)
{
	size_t p = s->unit.cols, reach = (size_t)ceil(REACH * radius), x = best % s->side, y = best / s->side;
	size_t x_end = x + reach < s->side ? x + reach + 1 : s->side, y_end = y + reach < s->side ? y + reach + 1 : s->side;

	for (size_t v = y > reach ? y - reach : 0; v < y_end; v++) {
		for (size_t u = x > reach ? x - reach : 0; u < x_end; u++) {
			double dx = (double)u - (double)x, dy = (double)v - (double)y;
			double by = rate * exp(-(dx * dx + dy * dy) / (2.0 * radius * radius));
			double *unit = s->unit.at + (v * s->side + u) * p;

			for (size_t j = 0; j < p; j++)
				unit[j] += by * (row[j] - unit[j]);
		}
	}
}

static void som_train(struct som *s, const struct mat *rows, struct rng *rng)
{
	size_t n = rows->rows, p = rows->cols, steps = STEPS_A_UNIT * s->unit.rows, *order = mem_new(n, sizeof(*order));
	double first = fmax((double)s->side / 2.0, 1.0);

	for (size_t i = 0; i < n; i++)
		order[i] = i;
	for (size_t i = 0; i < steps; i++) {
		double done = (double)i / (double)steps;
		const double *row;

		if (i % n == 0)
			rng_shuffle(rng, order, n);
		row = rows->at + order[i % n] * p;
		som_draw(s, row, som_nearest(s, row, false), RATE_FIRST + done * (RATE_LAST - RATE_FIRST),
			 first * pow(RADIUS_LAST / first, done));
	}
	free(order);
}

/* Writes the indices of a unit's neighbors on the map to of[4]; returns their number. */
static size_t som_neighbours(size_t side, size_t unit, size_t *of)
{
	size_t n = 0, x = unit % side, y = unit / side;

	if (x > 0)
		of[n++] = unit - 1;
	if (x + 1 < side)
		of[n++] = unit + 1;
	if (y > 0)
		of[n++] = unit - side;
	if (y + 1 < side)
		of[n++] = unit + side;
	return n;
}

/* Fills `area` and `sparse` from the units. */
static void som_areas(struct som *s)
{
	size_t p = s->unit.cols, units = s->unit.rows;
	double *sum = mem_new(units, sizeof(*sum)), limit;

	for (size_t u = 0; u < units; u++) {
		size_t of[4], n = som_neighbours(s->side, u, of);

		for (size_t j = 0; j < p; j++) {
			double area = 0.0;

			for (size_t k = 0; k < n; k++)
				area += fabs(mat_get(&s->unit, u, j) - mat_get(&s->unit, of[k], j));
			mat_set(&s->area, u, j, area / (double)n);
			sum[u] += area / (double)n;
		}
	}
	limit = stats_quantile(sum, units, SPARSE);
	for (size_t u = 0; u < units; u++)
		s->sparse[u] = sum[u] > limit;
	free(sum);
}

static size_t som_side(size_t n)
{
	size_t side = (size_t)ceil(sqrt(5.0 * sqrt((double)n)));

	return side < SIDE_MIN ? SIDE_MIN : side > SIDE_MAX ? SIDE_MAX : side;
}

static struct scorer *som_fit(const struct mat *rows, const size_t *run, uint64_t seed)
{
	struct som *s = som_new(som_side(rows->rows), rows->cols);
	struct rng rng;

	(void)run;
	rng_seed(&rng, seed);
	for (size_t u = 0; u < s->unit.rows; u++)
		memcpy(s->unit.at + u * rows->cols, rows->at + rng_below(&rng, rows->rows) * rows->cols, rows->cols * sizeof(double));
	som_train(s, rows, &rng);
	som_areas(s);
	return &s->scorer;
}

static void som_parts(const struct scorer *scorer, const struct mat *rows, struct mat *parts, struct mat *expected)
{
	const struct som *s = (const struct som *)scorer;
	size_t p = s->unit.cols;

	ASSAY_BUG_IF(rows->cols != p);
	for (size_t i = 0; i < rows->rows; i++) {
		const double *row = rows->at + i * p;
		size_t best = som_nearest(s, row, false);

		for (size_t j = 0; j < p; j++) {
			double d = row[j] - mat_get(&s->unit, best, j);

			mat_set(parts, i, j, d * d + mat_get(&s->area, best, j));
		}
		if (expected)
			memcpy(expected->at + i * p, s->unit.at + som_nearest(s, row, true) * p, p * sizeof(double));
	}
}

static void som_describe(const struct scorer *scorer, char *text, size_t size)
{
	const struct som *s = (const struct som *)scorer;

	snprintf(text, size, "%zu x %zu units", s->side, s->side);
}

const struct scorer_kind scorer_som = {
	.name = "som",
	.fit = som_fit,
	.parts = som_parts,
	.free = som_free,
	.describe = som_describe,
};
