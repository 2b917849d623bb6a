/* Scorers around an autoencoder: the choice of its shape, its training, the scores of rows; the default, and AutoPerf's as published. */
#include "model/anomaly/autoencoder.h"
#include "model/anomaly/scorer.h"

#include "base/buf.h"
#include "base/order.h"
#include "base/rng.h"
#include "base/mem.h"
#include "base/stats.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ROWS_MAX     4096 /* that are learned from, so that a fit takes a fifth of a second however many there are */
#define FOLDS	     3
#define LARGEST	     1e150 /* of a value; beyond that its square would not be finite */
#define MARGIN	     .1	   /* by which a column may leave the range of what was learned, in parts of it, before the network is told */
#define SHAPES_MAX   8
#define NEGLIGIBLE   .05  /* part of an error by which another may exceed it without being worth more weights */
#define STEPS_CHOSEN 4000 /* of training, not epochs: few rows need as many steps, not as many passes */
#define STEPS_TRIED  1500

static const struct autoencoder_training defaults = {
	.rule = AUTOENCODER_ADAM,
	.rate = .02,
	.cooling = true,
	.swapped = .2,
	.batch = 32,
	.checks = 10,
};

/* ---- shapes ---- */

/* Widths as parts of the columns, rounded up; 0 ends a row; by number of weights. The middle has at most half as many neurons as there are
 * columns: a wider one passes everything on, also what is not normal. A wide layer before a narrow one learns what narrow ones alone
 * cannot, and finds smaller faults (docs/evidence/statistics.md). */
static const double width_parts[][AUTOENCODER_DEPTH_MAX] = { { .125 }, { .25 }, { .5 }, { 1, .25 }, { 1, .5 }, { 2, .5 } };

static bool same_shape(const struct autoencoder_shape *a, const struct autoencoder_shape *b)
{
	return a->depth == b->depth && !memcmp(a->width, b->width, a->depth * sizeof(*a->width));
}

/* The shapes that are tried, by number of weights, the fewest first; no two are alike. Returns how many, at least 1. */
static size_t shapes_of(size_t columns, struct autoencoder_shape out[SHAPES_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof(width_parts) / sizeof(width_parts[0]); i++) {
		struct autoencoder_shape shape = { .columns = columns, .hidden = LANES_TANH, .output = LANES_LINEAR };
		bool known = false;

		while (width_parts[i][shape.depth] > 0.0) {
			double width = ceil(width_parts[i][shape.depth] * (double)columns);

			shape.width[shape.depth++] = width < AUTOENCODER_WIDTH_MAX ? (size_t)width : AUTOENCODER_WIDTH_MAX;
		}
		for (size_t k = 0; k < n; k++)
			known = known || same_shape(&out[k], &shape);
		if (!known)
			out[n++] = shape;
	}
	return n;
}

/* ---- which rows ---- */

struct run_row {
	size_t run, row;
};

ORDER_BY(compare_runs, struct run_row, BY_UP(run) BY_UP(row))

/* The rows of each run together; *starts [runs + 1] is where they begin. Returns the number of runs. */
static size_t rows_by_run(const size_t *run, size_t n, struct run_row **members, size_t **starts)
{
	struct run_row *m = mem_new(n, sizeof(*m));
	size_t *at = mem_new(n + 1, sizeof(*at)), runs = 0;

	for (size_t i = 0; i < n; i++)
		m[i] = (struct run_row){ run[i], i };
	qsort(m, n, sizeof(*m), compare_runs);
	for (size_t i = 0; i < n; i++)
		if (!i || m[i].run != m[i - 1].run)
			at[runs++] = i;
	at[runs] = n;
	*members = m;
	*starts = at;
	return runs;
}

ORDER_BY(compare_sizes, size_t, BY_VALUE)

/* How many rows a run may give, so that all runs together give no more than max, but as many as they can. */
static size_t rows_quota(const size_t *starts, size_t runs, size_t max)
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

/* At most `max` rows, equally many from each run as far as there are, drawn by `seed`, in their order: picked [at most max]. Returns how
 * many. */
static size_t rows_sample(const size_t *run, size_t n, size_t max, uint64_t seed, size_t *picked)
{
	struct run_row *members;
	size_t *starts, *rows = mem_new(n, sizeof(*rows));
	size_t runs = rows_by_run(run, n, &members, &starts), each = rows_quota(starts, runs, max), used = 0;
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
	if (!used) /* more runs than rows */
		for (rng_shuffle(&rng, starts, runs); used < max && used < runs; used++)
			picked[used] = members[starts[used]].row;
	qsort(picked, used, sizeof(*picked), compare_sizes);
	mem_free(members, starts, rows);
	return used;
}

/* ---- cross-validation ---- */

struct shape_choice {
	size_t shape;		  /* index */
	double fraction;	  /* of the training after which the held-out error was least, (0, 1] */
	double error[SHAPES_MAX]; /* [n] held-out, mean over runs */
};

struct validation {
	const struct mat *rows;
	size_t *unit; /* [rows] what is held out together, numbered from 0 */
	size_t units;
	size_t *fold;		      /* [units] */
	size_t *size;		      /* [units] rows */
	double *error;		      /* [shapes x units] */
	double fractions[SHAPES_MAX]; /* sums over the folds */
};

static void validation_init(struct validation *v, const struct mat *rows, const size_t *run, size_t *folds, size_t n_shapes,
			    struct rng *rng)
{
	struct run_row *members;
	size_t *starts;
	size_t runs = rows_by_run(run, rows->rows, &members, &starts);

	*v = (struct validation){ .rows = rows, .units = runs > 1 ? runs : rows->rows };
	v->unit = mem_new(rows->rows, sizeof(*v->unit));
	for (size_t r = 0; r < runs; r++)
		for (size_t i = starts[r]; i < starts[r + 1]; i++)
			v->unit[members[i].row] = runs > 1 ? r : i;
	*folds = *folds < v->units ? *folds : v->units;
	v->size = mem_new(v->units, sizeof(*v->size));
	for (size_t i = 0; i < rows->rows; i++)
		v->size[v->unit[i]]++;
	v->fold = mem_new(v->units, sizeof(*v->fold));
	rng_deal(rng, v->units, *folds, v->fold);
	v->error = mem_new(n_shapes * v->units, sizeof(*v->error));
	mem_free(members, starts);
}

static void validation_release(struct validation *v)
{
	mem_free(v->unit, v->size, v->fold, v->error);
}

static void validation_split(const struct validation *v, size_t fold, struct mat *train, struct mat *held, size_t *held_unit)
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

static void validation_errors(struct validation *v, const struct autoencoder *ae, const struct mat *held, const size_t *unit, double *error)
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

static void validation_fold(struct validation *v, size_t fold, const struct autoencoder_shape *shapes, size_t n_shapes,
			    const struct autoencoder_training *how, uint64_t seed)
{
	size_t *unit = mem_new(v->rows->rows, sizeof(*unit));
	struct mat train, held;

	validation_split(v, fold, &train, &held, unit);
	for (size_t s = 0; s < n_shapes; s++) {
		struct autoencoder *ae = autoencoder_new(&shapes[s], seed);
		struct autoencoder_trained trained;

		autoencoder_train(ae, &train, &held, how, seed, &trained);
		validation_errors(v, ae, &held, unit, v->error + s * v->units);
		v->fractions[s] += (double)trained.epochs / (double)how->epochs;
		autoencoder_free(ae);
	}
	mat_release(&train);
	mat_release(&held);
	free(unit);
}

/* The first that is not clearly worse than the best. */
static size_t validation_simplest(const struct validation *v, const double *mean, size_t n_shapes)
{
	double *difference = mem_new(v->units, sizeof(*difference));
	size_t best = 0, s;

	for (s = 1; s < n_shapes; s++)
		if (mean[s] < mean[best])
			best = s;
	for (s = 0; s < best; s++) {
		for (size_t u = 0; u < v->units; u++)
			difference[u] = v->error[s * v->units + u] - v->error[best * v->units + u];
		if (mean[s] - mean[best] <= fmax(NEGLIGIBLE * mean[best], stats_sd(difference, v->units) / sqrt((double)v->units)))
			break;
	}
	free(difference);
	return s;
}

/* Cross-validation over `folds` parts of the rows, whole runs together (rows, where there is one run only). Chosen is the first shape whose
 * error, run by run, exceeds that of the best one by no more than one standard error of the difference, or than a twentieth (Breiman and
 * others, Classification and Regression Trees, 1984, 3.4.3, in pairs). rows [n >= 2]; shapes by number of weights. */
static void shape_choose(const struct mat *rows, const size_t *run, const struct autoencoder_shape *shapes, size_t n_shapes,
			 const struct autoencoder_training *how, size_t folds, uint64_t seed, struct shape_choice *out)
{
	struct validation v;
	struct rng rng;

	ASSAY_BUG_IF(rows->rows < 2 || folds < 2 || !n_shapes || n_shapes > SHAPES_MAX);
	rng_seed(&rng, seed);
	validation_init(&v, rows, run, &folds, n_shapes, &rng);
	for (size_t fold = 0; fold < folds; fold++)
		validation_fold(&v, fold, shapes, n_shapes, how, rng_next(&rng));
	*out = (struct shape_choice){ 0 };
	for (size_t s = 0; s < n_shapes; s++)
		out->error[s] = stats_mean(v.error + s * v.units, v.units);
	out->shape = validation_simplest(&v, out->error, n_shapes);
	out->fraction = v.fractions[out->shape] / (double)folds;
	validation_release(&v);
}

/* ---- a scorer around a network, however that was trained ---- */

/* The network gets (value - center) / scale, kept within low and high. */
struct autoencoder_scorer {
	struct scorer scorer;
	struct autoencoder *network;
	size_t columns;
	double scale;	    /* one for all columns, which the caller has scaled alike */
	double *center;	    /* [columns] */
	double *low, *high; /* [columns] */
};

/* Returns one without a network; the scale is 1, all else 0. */
static struct autoencoder_scorer *autoencoder_scorer_new(const struct scorer_kind *kind, size_t columns)
{
	struct autoencoder_scorer *f = mem_new(1, sizeof(*f));

	f->scorer.kind = kind;
	f->columns = columns;
	f->scale = 1.0;
	f->center = mem_new(3 * columns, sizeof(*f->center));
	f->low = f->center + columns;
	f->high = f->low + columns;
	return f;
}

static void autoencoder_scorer_free(struct scorer *scorer)
{
	struct autoencoder_scorer *f = (struct autoencoder_scorer *)scorer;

	if (!f)
		return;
	autoencoder_free(f->network);
	mem_free(f->center, f);
}

static double within(double x, double low, double high)
{
	return x < low ? low : x > high ? high : x;
}

/* Returns the input of the network for these rows. */
static struct mat autoencoder_scorer_input(const struct autoencoder_scorer *f, const struct mat *rows)
{
	struct mat out = mat_new(rows->rows, rows->cols);

	for (size_t i = 0; i < rows->rows * rows->cols; i++) {
		size_t j = i % rows->cols;

		out.at[i] = within((rows->at[i] - f->center[j]) / f->scale, f->low[j], f->high[j]);
	}
	return out;
}

static void autoencoder_scorer_parts(const struct scorer *scorer, const struct mat *rows, struct mat *parts, struct mat *expected)
{
	const struct autoencoder_scorer *f = (const struct autoencoder_scorer *)scorer;
	struct mat made = autoencoder_scorer_input(f, rows);

	ASSAY_BUG_IF(rows->cols != f->columns);
	autoencoder_expect(f->network, &made, &made);
	for (size_t i = 0; i < rows->rows * rows->cols; i++) {
		double normal = within(f->center[i % rows->cols] + f->scale * made.at[i], -LARGEST, LARGEST);
		double miss = within(rows->at[i], -LARGEST, LARGEST) - normal;

		parts->at[i] = miss * miss;
		if (expected)
			expected->at[i] = normal;
	}
	mat_release(&made);
}

/* ---- training ---- */

static void scorer_set_center(struct autoencoder_scorer *f, const struct mat *rows)
{
	for (size_t i = 0; i < rows->rows * rows->cols; i++)
		f->center[i % rows->cols] += within(rows->at[i], -LARGEST, LARGEST) / (double)rows->rows;
}

/* Root mean square distance from the center. */
static void scorer_set_scale(struct autoencoder_scorer *f, const struct mat *rows)
{
	double largest = 0.0, sum = 0.0;

	for (size_t i = 0; i < rows->rows * rows->cols; i++)
		largest = fmax(largest, fabs(within(rows->at[i], -LARGEST, LARGEST) - f->center[i % rows->cols]));
	if (largest < 1 / LARGEST)
		return; /* identical rows */
	for (size_t i = 0; i < rows->rows * rows->cols; i++) {
		double part = (within(rows->at[i], -LARGEST, LARGEST) - f->center[i % rows->cols]) / largest;

		sum += part * part;
	}
	f->scale = largest * sqrt(sum / (double)(rows->rows * rows->cols));
}

/* How far each column goes in what is learned, and a margin. A value far beyond would drive the network to where it was never
 * trained, and the other columns would be blamed for it. */
static void scorer_set_range(struct autoencoder_scorer *f, const struct mat *rows)
{
	for (size_t j = 0; j < rows->cols; j++) {
		double low = LARGEST, high = -LARGEST, margin;

		for (size_t i = 0; i < rows->rows; i++) {
			double x = (within(mat_get(rows, i, j), -LARGEST, LARGEST) - f->center[j]) / f->scale;

			low = fmin(low, x);
			high = fmax(high, x);
		}
		margin = MARGIN * (high - low);
		f->low[j] = low - margin;
		f->high[j] = high + margin;
	}
}

static struct autoencoder_training training_of(size_t rows, size_t steps)
{
	struct autoencoder_training how = defaults;
	size_t batches = (rows + how.batch - 1) / how.batch;

	how.epochs = (steps + batches - 1) / batches;
	return how;
}

static struct scorer *autoencoder_scorer_fit(const struct mat *rows, const size_t *run, uint64_t seed)
{
	struct autoencoder_scorer *f = autoencoder_scorer_new(&scorer_autoencoder, rows->cols);
	struct autoencoder_shape shapes[SHAPES_MAX];
	size_t n_shapes = shapes_of(rows->cols, shapes), *picked = mem_new(rows->rows, sizeof(*picked));
	size_t n, *picked_run = mem_new(rows->rows, sizeof(*picked_run));
	struct mat some, given;
	struct autoencoder_training how;
	struct shape_choice choice;
	struct rng rng;

	ASSAY_BUG_IF(rows->rows < 2 || !rows->cols);
	rng_seed(&rng, seed);
	n = rows_sample(run, rows->rows, ROWS_MAX, rng_next(&rng), picked);
	some = mat_new(n, rows->cols);
	for (size_t i = 0; i < n; i++) {
		memcpy(some.at + i * rows->cols, rows->at + picked[i] * rows->cols, rows->cols * sizeof(double));
		picked_run[i] = run[picked[i]];
	}
	scorer_set_center(f, &some);
	scorer_set_scale(f, &some);
	scorer_set_range(f, &some);
	given = autoencoder_scorer_input(f, &some);
	how = training_of(n - n / FOLDS, STEPS_TRIED);
	shape_choose(&given, picked_run, shapes, n_shapes, &how, FOLDS, rng_next(&rng), &choice);
	how = training_of(n, (size_t)ceil((double)STEPS_CHOSEN * choice.fraction));
	f->network = autoencoder_new(&shapes[choice.shape], rng_next(&rng));
	autoencoder_train(f->network, &given, NULL, &how, rng_next(&rng), NULL);
	mat_release(&some);
	mat_release(&given);
	mem_free(picked, picked_run);
	return &f->scorer;
}

/* "20-10-5-10-20" */
static void autoencoder_scorer_describe(const struct scorer *scorer, char *text, size_t size)
{
	const struct autoencoder_shape *shape = autoencoder_shape(((const struct autoencoder_scorer *)scorer)->network);
	struct buf words = BUF_INIT;

	buf_format(&words, "%zu", shape->columns);
	for (size_t i = 0; i < shape->depth; i++)
		buf_format(&words, "-%zu", shape->width[i]);
	for (size_t i = shape->depth - 1; i > 0; i--)
		buf_format(&words, "-%zu", shape->width[i - 1]);
	buf_format(&words, "-%zu", shape->columns);
	snprintf(text, size, "%s", words.bytes);
	buf_release(&words);
}

const struct scorer_kind scorer_autoencoder = {
	.name = "autoencoder",
	.fit = autoencoder_scorer_fit,
	.parts = autoencoder_scorer_parts,
	.free = autoencoder_scorer_free,
	.describe = autoencoder_scorer_describe,
};

/* ---- as published with AutoPerf (Alam and others, NeurIPS 2019) ---- */

const struct autoencoder_training autoperf_training = { .rule = AUTOENCODER_DESCENT, .rate = .01, .batch = 100, .epochs = 100 };

/* Sigmoids everywhere, tied weights, one to five layers each way, each of them half as wide as the one before. Returns how many. */
static size_t autoperf_shapes(size_t columns, struct autoencoder_shape out[AUTOENCODER_DEPTH_MAX])
{
	struct autoencoder_shape shape = { .columns = columns, .hidden = LANES_SIGMOID, .output = LANES_SIGMOID, .tied = true };
	size_t n = 0, width = columns;

	while (n < AUTOENCODER_DEPTH_MAX) {
		width = (width + 1) / 2;
		shape.width[shape.depth++] = width < AUTOENCODER_WIDTH_MAX ? width : AUTOENCODER_WIDTH_MAX;
		out[n++] = shape;
		if (width == 1)
			break;
	}
	return n;
}

/* Trains every shape on all rows and keeps the one with the smallest error on them. */
static struct autoencoder *autoperf_least_error(const struct mat *rows, const struct autoencoder_shape *shapes, size_t n_shapes,
						const struct autoencoder_training *how, uint64_t seed)
{
	struct autoencoder *best = NULL;
	double least = DBL_MAX;

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

static struct scorer *autoperf_fit(const struct mat *rows, const size_t *run, uint64_t seed)
{
	struct autoencoder_scorer *f = autoencoder_scorer_new(&scorer_paper, rows->cols);
	struct autoencoder_shape shapes[AUTOENCODER_DEPTH_MAX];
	size_t n_shapes = autoperf_shapes(rows->cols, shapes);
	struct mat given;

	(void)run;
	ASSAY_BUG_IF(rows->rows < 2 || !rows->cols);
	for (size_t j = 0; j < f->columns; j++)
		f->high[j] = 1.0;
	given = autoencoder_scorer_input(f, rows); /* from 0 to 1, where they are if the caller scaled them so */
	f->network = autoperf_least_error(&given, shapes, n_shapes, &autoperf_training, seed);
	for (size_t j = 0; j < f->columns; j++) {
		f->low[j] = -LARGEST;
		f->high[j] = LARGEST;
	}
	mat_release(&given);
	return &f->scorer;
}

const struct scorer_kind scorer_paper = {
	.name = "paper",
	.fit = autoperf_fit,
	.parts = autoencoder_scorer_parts,
	.free = autoencoder_scorer_free,
	.describe = autoencoder_scorer_describe,
};
