/* Runs with several input sizes lie in several heaps, and one normal distribution over all of them takes a shift for another size. But a heap that is cut
 * in two is no two heaps: the logarithm of the density of runs that were left out has to grow, by more than a row's noise. */
#include "model/anomaly/mahalanobis.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdbool.h>

#define FOLDS    4
#define RUNS_MIN 8    /* fewer: one center */
#define ROWS_MAX 4000 /* of more, every so many-th decides */
#define GAIN     1.0  /* of the mean logarithm of the density of a row, at least */

static const size_t candidates[] = { 2, 3, 4, 6, 8 };

/* Rows of which a part is left out; fold [n] < FOLDS. */
struct folds {
	struct mat rows;
	size_t *fold;
	size_t runs;
};

static int compare(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x > y) - (x < y);
}

/* Whole runs, drawn: sizes may follow in turns. */
static size_t *folds_of_runs(const size_t *run, size_t n, uint64_t seed, size_t *runs)
{
	size_t *sorted = mem_new(n, sizeof(*sorted)), *fold = mem_new(n, sizeof(*fold)), *order;
	struct rng rng;

	memcpy(sorted, run, n * sizeof(*run));
	qsort(sorted, n, sizeof(*sorted), compare);
	*runs = 0;
	for (size_t i = 0; i < n; i++)
		if (i == 0 || sorted[i] != sorted[i - 1])
			sorted[(*runs)++] = sorted[i];
	order = mem_new(*runs, sizeof(*order));
	for (size_t r = 0; r < *runs; r++)
		order[r] = r;
	rng_seed(&rng, seed);
	rng_shuffle(&rng, order, *runs);
	for (size_t i = 0; i < n; i++) {
		const size_t *at = bsearch(&run[i], sorted, *runs, sizeof(*sorted), compare);

		fold[i] = order[at - sorted] % FOLDS;
	}
	free(sorted);
	free(order);
	return fold;
}

static struct folds folds_new(const struct mat *rows, const size_t *run, uint64_t seed)
{
	size_t step = (rows->rows + ROWS_MAX - 1) / ROWS_MAX, n = (rows->rows + step - 1) / step, *of = mem_new(n, sizeof(*of));
	struct folds f = { .rows = mat_new(n, rows->cols) };

	for (size_t i = 0; i < n; i++) {
		of[i] = run[i * step];
		memcpy(f.rows.at + i * rows->cols, rows->at + i * step * rows->cols, rows->cols * sizeof(double));
	}
	f.fold = folds_of_runs(of, n, seed, &f.runs);
	free(of);
	return f;
}

/* Rows of the fold, or all others. */
static struct mat pick(const struct folds *f, size_t fold, bool others)
{
	struct mat picked = mat_new(f->rows.rows, f->rows.cols);

	picked.rows = 0;
	for (size_t i = 0; i < f->rows.rows; i++)
		if ((f->fold[i] == fold) != others)
			memcpy(picked.at + picked.rows++ * picked.cols, f->rows.at + i * picked.cols, picked.cols * sizeof(double));
	return picked;
}

static double log_density(const struct mahalanobis *m, const struct mat *rows)
{
	double *d = mem_new(4 * m->p, sizeof(*d)), sum = 0.0;

	for (size_t i = 0; i < rows->rows; i++) {
		double squares;
		size_t c = mahalanobis_nearest(m, rows->at + i * m->p, d, d + m->p, d + 2 * m->p, &squares);

		sum += log(m->share[c]) - .5 * (m->log_det + squares);
	}
	free(d);
	return sum;
}

/* Mean over the rows, each by a model without its fold. */
static double left_out_density(const struct folds *f, size_t k, uint64_t seed)
{
	double sum = 0.0;

	for (size_t fold = 0; fold < FOLDS; fold++) {
		struct mat train = pick(f, fold, true), test = pick(f, fold, false);
		struct mahalanobis *m = mahalanobis_fit_with(&train, k, seed);

		sum += log_density(m, &test);
		mahalanobis_free(&m->scorer);
		mat_release(&train);
		mat_release(&test);
	}
	return sum / (double)f->rows.rows;
}

size_t mahalanobis_choose(const struct mat *rows, const size_t *run, uint64_t seed)
{
	struct folds f;
	double best = 0.0;
	size_t k = 1;

	if (!run)
		return 1;
	f = folds_new(rows, run, seed);
	if (f.runs >= RUNS_MIN)
		best = left_out_density(&f, 1, seed);
	for (size_t i = 0; f.runs >= RUNS_MIN && i < sizeof(candidates) / sizeof(candidates[0]) && candidates[i] <= f.runs / 3; i++) {
		double density = left_out_density(&f, candidates[i], seed);

		if (density > best + GAIN) {
			best = density;
			k = candidates[i];
		}
	}
	mat_release(&f.rows);
	free(f.fold);
	return k;
}
