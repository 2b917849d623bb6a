#include "model/anomaly/autoencoder_topology.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NO_MATTER .05 /* part of an error by which another may exceed it without being worth more weights */

static bool same_shape(const struct autoencoder_shape *a, const struct autoencoder_shape *b)
{
	return a->depth == b->depth && !memcmp(a->width, b->width, a->depth * sizeof(*a->width));
}

/* Behind the others, unless it is there. */
static size_t shape_add(struct autoencoder_shape *out, size_t n, const struct autoencoder_shape *shape)
{
	for (size_t i = 0; i < n; i++)
		if (same_shape(&out[i], shape))
			return n;
	out[n] = *shape;
	return n + 1;
}

/* Widths as parts of the columns, rounded up; 0 ends a row; by number of weights. Chosen on made-up counters of functions
 * (docs/evidence/statistics.md): a wide layer before a narrow one learns what narrow ones alone cannot, and finds smaller faults. */
static const double parts[][AUTOENCODER_DEPTH_MAX] = { { .125 }, { .25 }, { .5 }, { 1, .25 }, { 1, .5 }, { 2, .5 } };

size_t autoencoder_shapes(size_t columns, struct autoencoder_shape out[AUTOENCODER_SHAPES_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct autoencoder_shape shape = { .columns = columns, .hidden = LANES_TANH, .output = LANES_LINEAR };

		while (parts[i][shape.depth] > 0.0) {
			double width = ceil(parts[i][shape.depth] * (double)columns);

			shape.width[shape.depth++] = width < AUTOENCODER_WIDTH_MAX ? (size_t)width : AUTOENCODER_WIDTH_MAX;
		}
		n = shape_add(out, n, &shape);
	}
	return n;
}

size_t autoencoder_shapes_published(size_t columns, struct autoencoder_shape out[AUTOENCODER_SHAPES_MAX])
{
	struct autoencoder_shape shape = { .columns = columns, .hidden = LANES_SIGMOID, .output = LANES_SIGMOID, .tied = true };
	size_t n = 0, width = columns;

	while (shape.depth < AUTOENCODER_DEPTH_MAX) {
		width = (width + 1) / 2;
		shape.width[shape.depth++] = width < AUTOENCODER_WIDTH_MAX ? width : AUTOENCODER_WIDTH_MAX;
		n = shape_add(out, n, &shape);
		if (width == 1)
			break;
	}
	return n;
}

/* ---- which rows ---- */

struct member {
	size_t run, row;
};

static int by_run(const void *left, const void *right)
{
	const struct member *a = left, *b = right;

	if (a->run != b->run)
		return a->run < b->run ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

/* The rows of each run together; *starts [runs + 1] is where they begin. Returns the number of runs. */
static size_t by_runs(const size_t *run, size_t n, struct member **members, size_t **starts)
{
	struct member *m = mem_new(n, sizeof(*m));
	size_t *at = mem_new(n + 1, sizeof(*at)), runs = 0;

	for (size_t i = 0; i < n; i++)
		m[i] = (struct member){ run[i], i };
	qsort(m, n, sizeof(*m), by_run);
	for (size_t i = 0; i < n; i++)
		if (!i || m[i].run != m[i - 1].run)
			at[runs++] = i;
	at[runs] = n;
	*members = m;
	*starts = at;
	return runs;
}

static int by_size(const void *left, const void *right)
{
	const size_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* How many rows a run may give, so that all runs together give no more than max, but as many as they can. */
static size_t quota(const size_t *starts, size_t runs, size_t max)
{
	size_t low = 0, high = max;

	while (low < high) {
		size_t middle = low + (high - low + 1) / 2, total = 0;

		for (size_t r = 0; r < runs; r++)
			total += starts[r + 1] - starts[r] < middle ? starts[r + 1] - starts[r] : middle;
		if (total <= max)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

size_t autoencoder_sample(const size_t *run, size_t n, size_t max, uint64_t seed, size_t *picked)
{
	struct member *members;
	size_t *starts, *rows = mem_new(n, sizeof(*rows));
	size_t runs = by_runs(run, n, &members, &starts), each = quota(starts, runs, max), used = 0;
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t r = 0; r < runs; r++) {
		size_t size = starts[r + 1] - starts[r], take = size < each ? size : each;

		for (size_t i = 0; i < size; i++)
			rows[i] = members[starts[r] + i].row;
		if (take < size)
			rng_shuffle(&rng, rows, size);
		for (size_t i = 0; i < take; i++)
			picked[used++] = rows[i];
	}
	if (!used) /* more runs than rows are wanted: any */
		for (rng_shuffle(&rng, starts, runs); used < max && used < runs; used++)
			picked[used] = members[starts[used]].row;
	qsort(picked, used, sizeof(*picked), by_size);
	free(members);
	free(starts);
	free(rows);
	return used;
}

/* ---- cross-validation ---- */

struct validation {
	const struct mat *rows;
	size_t *unit; /* [rows] what is held out together, counted from 0 */
	size_t units;
	size_t *fold;                             /* [units] */
	size_t *size;                             /* [units] rows */
	double *error;                            /* [shapes x units] */
	double fractions[AUTOENCODER_SHAPES_MAX]; /* sums over the folds */
};

static void validation_init(struct validation *v, const struct mat *rows, const size_t *run, size_t *folds, size_t n_shapes,
                            struct rng *rng)
{
	struct member *members;
	size_t *starts, *order;
	size_t runs = by_runs(run, rows->rows, &members, &starts);

	*v = (struct validation){ .rows = rows, .units = runs > 1 ? runs : rows->rows };
	v->unit = mem_new(rows->rows, sizeof(*v->unit));
	for (size_t r = 0; r < runs; r++)
		for (size_t i = starts[r]; i < starts[r + 1]; i++)
			v->unit[members[i].row] = runs > 1 ? r : i;
	*folds = *folds < v->units ? *folds : v->units;
	v->size = mem_new(v->units, sizeof(*v->size));
	for (size_t i = 0; i < rows->rows; i++)
		v->size[v->unit[i]]++;
	order = mem_new(v->units, sizeof(*order));
	for (size_t u = 0; u < v->units; u++)
		order[u] = u;
	rng_shuffle(rng, order, v->units);
	v->fold = mem_new(v->units, sizeof(*v->fold));
	for (size_t u = 0; u < v->units; u++)
		v->fold[order[u]] = u % *folds;
	v->error = mem_new(n_shapes * v->units, sizeof(*v->error));
	free(order);
	free(members);
	free(starts);
}

static void validation_release(struct validation *v)
{
	free(v->unit);
	free(v->size);
	free(v->fold);
	free(v->error);
}

static void split(const struct validation *v, size_t fold, struct mat *train, struct mat *held, size_t *held_unit)
{
	size_t p = v->rows->cols;

	*train = mat_new(v->rows->rows, p);
	*held = mat_new(v->rows->rows, p);
	train->rows = held->rows = 0;
	for (size_t i = 0; i < v->rows->rows; i++) {
		struct mat *to = v->fold[v->unit[i]] == fold ? held : train;

		if (to == held)
			held_unit[held->rows] = v->unit[i];
		memcpy(to->at + to->rows++ * p, v->rows->at + i * p, p * sizeof(double));
	}
}

static void errors_of(struct validation *v, const struct autoencoder *ae, const struct mat *held, const size_t *unit,
                      double *error)
{
	struct mat expected = mat_new(held->rows, held->cols);

	autoencoder_expect(ae, held, &expected);
	for (size_t i = 0; i < held->rows * held->cols; i++) {
		size_t u = unit[i / held->cols];
		double miss = held->at[i] - expected.at[i];

		error[u] += miss * miss / (double)(v->size[u] * held->cols);
	}
	mat_release(&expected);
}

static void validate_fold(struct validation *v, size_t fold, const struct autoencoder_shape *shapes, size_t n_shapes,
                          const struct autoencoder_training *how, uint64_t seed)
{
	size_t *unit = mem_new(v->rows->rows, sizeof(*unit));
	struct mat train, held;

	split(v, fold, &train, &held, unit);
	for (size_t s = 0; s < n_shapes; s++) {
		struct autoencoder *ae = autoencoder_new(&shapes[s], seed);
		struct autoencoder_trained trained;

		autoencoder_train(ae, &train, &held, how, seed, &trained);
		errors_of(v, ae, &held, unit, v->error + s * v->units);
		v->fractions[s] += (double)trained.epochs / (double)how->epochs;
		autoencoder_free(ae);
	}
	mat_release(&train);
	mat_release(&held);
	free(unit);
}

/* The first that is not clearly worse than the best. */
static size_t simplest(const struct validation *v, const double *mean, size_t n_shapes)
{
	double *difference = mem_new(v->units, sizeof(*difference));
	size_t best = 0, s;

	for (s = 1; s < n_shapes; s++)
		if (mean[s] < mean[best])
			best = s;
	for (s = 0; s < best; s++) {
		for (size_t u = 0; u < v->units; u++)
			difference[u] = v->error[s * v->units + u] - v->error[best * v->units + u];
		if (mean[s] - mean[best] <= fmax(NO_MATTER * mean[best], stats_sd(difference, v->units) / sqrt((double)v->units)))
			break;
	}
	free(difference);
	return s;
}

void autoencoder_choose(const struct mat *rows, const size_t *run, const struct autoencoder_shape *shapes, size_t n_shapes,
                        const struct autoencoder_training *how, size_t folds, uint64_t seed, struct autoencoder_choice *out)
{
	struct validation v;
	struct rng rng;

	ASSAY_BUG_IF(rows->rows < 2 || folds < 2 || !n_shapes || n_shapes > AUTOENCODER_SHAPES_MAX);
	rng_seed(&rng, seed);
	validation_init(&v, rows, run, &folds, n_shapes, &rng);
	for (size_t fold = 0; fold < folds; fold++)
		validate_fold(&v, fold, shapes, n_shapes, how, rng_next(&rng));
	*out = (struct autoencoder_choice){ 0 };
	for (size_t s = 0; s < n_shapes; s++)
		out->error[s] = stats_mean(v.error + s * v.units, v.units);
	out->shape = simplest(&v, out->error, n_shapes);
	out->fraction = v.fractions[out->shape] / (double)folds;
	validation_release(&v);
}

struct autoencoder *autoencoder_least_error(const struct mat *rows, const struct autoencoder_shape *shapes, size_t n_shapes,
                                            const struct autoencoder_training *how, uint64_t seed)
{
	struct autoencoder *best = NULL;
	double least = DBL_MAX;

	ASSAY_BUG_IF(!n_shapes);
	for (size_t s = 0; s < n_shapes; s++) {
		struct autoencoder *ae = autoencoder_new(&shapes[s], seed);
		double error;

		autoencoder_train(ae, rows, NULL, how, seed, NULL);
		error = autoencoder_error(ae, rows);
		if (best && error >= least) {
			autoencoder_free(ae);
			continue;
		}
		autoencoder_free(best);
		best = ae;
		least = error;
	}
	return best;
}
