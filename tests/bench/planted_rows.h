/* Synthetic rows and injected shifts, for bench_scorers.c. The unit of all values is the one that scorers get (model/anomaly/scale.h):
 * the standard deviation within runs is 1. */
#ifndef TESTS_BENCH_PLANTED_ROWS_H
#define TESTS_BENCH_PLANTED_ROWS_H

#include "base/mat.h"
#include "base/rng.h"

#include <math.h>
#include <stdbool.h>

enum { P = 20, FACTORS = 3, SIZES = 4 };

/* Random parameters of one repeat: how the columns depend on the factors and on the input size. */
struct world {
	struct rng rng;
	double loading[P][FACTORS];
	double slope[P], bend[P];
};

static void world_init(struct world *w, uint64_t seed)
{
	rng_seed(&w->rng, seed);
	for (size_t j = 0; j < P; j++) {
		for (size_t f = 0; f < FACTORS; f++)
			w->loading[j][f] = rng_normal(&w->rng);
		w->slope[j] = 6.0 + 6.0 * rng_double(&w->rng);
		w->bend[j] = j % 2 ? 2.0 * rng_normal(&w->rng) : 0.0;
	}
}

/* Draws a row of independent columns. */
static void row_independent(struct world *w, double size, const double *run, double *row)
{
	(void)size;
	(void)run;
	for (size_t j = 0; j < P; j++)
		row[j] = rng_normal(&w->rng);
}

/* Draws a row in which three factors determine all columns. The factors explain at least 90 % of the variance. */
static void row_factors(struct world *w, double size, const double *run, double *row)
{
	double factor[FACTORS];

	(void)size;
	(void)run;
	for (size_t f = 0; f < FACTORS; f++)
		factor[f] = rng_normal(&w->rng);
	for (size_t j = 0; j < P; j++) {
		row[j] = .3 * rng_normal(&w->rng);
		for (size_t f = 0; f < FACTORS; f++)
			row[j] += w->loading[j][f] * factor[f];
	}
}

/* Draws a row whose columns grow with the input size of the run; every other column grows nonlinearly. */
static void row_sizes(struct world *w, double size, const double *run, double *row)
{
	(void)run;
	for (size_t j = 0; j < P; j++)
		row[j] = w->slope[j] * size + w->bend[j] * size * size + rng_normal(&w->rng);
}

/* Draws a row as row_sizes(). A quarter of the columns is zero except in one of ten samples. */
static void row_bursts(struct world *w, double size, const double *run, double *row)
{
	row_sizes(w, size, run, row);
	for (size_t j = 0; j < P; j += 4)
		row[j] = rng_double(&w->rng) < .1 ? -4.0 * log(1.0 - rng_double(&w->rng)) : 0.0;
}

/* Draws a row as row_factors() and adds a random offset per run and column. */
static void row_runs(struct world *w, double size, const double *run, double *row)
{
	row_factors(w, size, run, row);
	for (size_t j = 0; j < P; j++)
		row[j] += run[j];
}

struct kind {
	const char *name;
	void (*row)(struct world *w, double size, const double *run, double *row);
	bool bursts;
};
static const struct kind kinds[] = { { "independent", row_independent, false },
				     { "factors", row_factors, false },
				     { "sizes", row_sizes, false },
				     { "sizes and bursts", row_bursts, true },
				     { "factors and runs", row_runs, false } };

static struct mat rows_make(struct world *w, const struct kind *kind, size_t runs, size_t samples)
{
	struct mat rows = mat_new(runs * samples, P);

	for (size_t r = 0; r < runs; r++) {
		double size = (double)(r % SIZES), run[P];

		for (size_t j = 0; j < P; j++)
			run[j] = .5 * rng_normal(&w->rng);
		for (size_t i = 0; i < samples; i++)
			kind->row(w, size, run, rows.at + (r * samples + i) * P);
	}
	return rows;
}

/* ---- shifts ---- */

/* A change to apply to rows. It moves `count` columns by `by`; `moved` is the first of them. */
struct shift {
	const char *name;
	void (*apply)(struct world *w, struct mat *rows, const struct shift *shift, size_t moved);
	size_t count;
	double by;
};

static size_t moved_column(size_t moved, size_t j)
{
	return (moved + 7 * j) % P;
}

static bool is_moved(const struct shift *shift, size_t moved, size_t column)
{
	for (size_t j = 0; j < shift->count; j++)
		if (moved_column(moved, j) == column)
			return true;
	return false;
}

static void add(struct world *w, struct mat *rows, const struct shift *shift, size_t moved)
{
	(void)w;
	for (size_t i = 0; i < rows->rows; i++)
		for (size_t j = 0; j < shift->count; j++)
			rows->at[i * P + moved_column(moved, j)] += shift->by;
}

/* Permutes the values of column `moved` among samples, so that it no longer correlates with the other columns. */
static void tear(struct world *w, struct mat *rows, const struct shift *shift, size_t moved)
{
	(void)shift;
	for (size_t i = rows->rows; i-- > 1;) {
		size_t k = (size_t)rng_below(&w->rng, i + 1);
		double x = mat_get(rows, i, moved);

		mat_set(rows, i, moved, mat_get(rows, k, moved));
		mat_set(rows, k, moved, x);
	}
}

static const struct shift shifts_of_samples[] = { { "one column by 2", add, 1, 2.0 },
						  { "one column by 5", add, 1, 5.0 },
						  { "three columns by 3", add, 3, 3.0 },
						  { "all columns by 1", add, P, 1.0 },
						  { "one column torn off", tear, 1, 0.0 } };

/* Shifts of runs are smaller: a run has many samples, so that smaller shifts are detectable. */
static const struct shift shifts_of_runs[] = { { "one column by 1", add, 1, 1.0 },
					       { "one column by 2", add, 1, 2.0 },
					       { "three columns by 1", add, 3, 1.0 },
					       { "all columns by .5", add, P, .5 },
					       { "one column torn off", tear, 1, 0.0 } };

/* Returns a random column to move; never one of the columns that row_bursts() sets to zero. */
static size_t moved_draw(struct world *w)
{
	size_t moved = 1 + (size_t)rng_below(&w->rng, P - 1);

	return moved - (moved % 4 == 0);
}

#endif
