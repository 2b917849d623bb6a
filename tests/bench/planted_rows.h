/* Rows that are made up, and shifts that are planted in them, for bench_scorers.c. Their unit is that which scorers get
 * (model/anomaly/scale.h): the spread within runs is 1. */
#ifndef TESTS_BENCH_PLANTED_ROWS_H
#define TESTS_BENCH_PLANTED_ROWS_H

#include "base/mat.h"
#include "base/rng.h"

#include <math.h>
#include <stdbool.h>

enum { P = 20, FACTORS = 3, SIZES = 4 };

/* What is drawn once for a repeat: how columns hang together. */
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

/* Every column by itself. */
static void row_independent(struct world *w, double size, const double *run, double *row)
{
	(void)size;
	(void)run;
	for (size_t j = 0; j < P; j++)
		row[j] = rng_normal(&w->rng);
}

/* Three causes behind all columns: nine tenths of the variance and more. */
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

/* A run has one of four input sizes; columns grow with it, half of them not in a straight line. */
static void row_sizes(struct world *w, double size, const double *run, double *row)
{
	(void)run;
	for (size_t j = 0; j < P; j++)
		row[j] = w->slope[j] * size + w->bend[j] * size * size + rng_normal(&w->rng);
}

/* The same, and a quarter of the columns is zero but for one sample in ten. */
static void row_bursts(struct world *w, double size, const double *run, double *row)
{
	row_sizes(w, size, run, row);
	for (size_t j = 0; j < P; j += 4)
		row[j] = rng_double(&w->rng) < .1 ? -4.0 * log(1.0 - rng_double(&w->rng)) : 0.0;
}

/* The three causes, and every run is off by itself in all columns. */
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

/* by: for how much. count columns are moved, `moved` the first of them. */
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

/* A column that no longer goes with the others: its values are those of other samples. */
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

/* Runs of many samples show smaller ones. */
static const struct shift shifts_of_runs[] = { { "one column by 1", add, 1, 1.0 },
					       { "one column by 2", add, 1, 2.0 },
					       { "three columns by 1", add, 3, 1.0 },
					       { "all columns by .5", add, P, .5 },
					       { "one column torn off", tear, 1, 0.0 } };

/* Which column is moved: none with bursts, those are another matter. */
static size_t moved_draw(struct world *w)
{
	size_t moved = 1 + (size_t)rng_below(&w->rng, P - 1);

	return moved - (moved % 4 == 0);
}

#endif
