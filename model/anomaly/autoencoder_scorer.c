/* The two ways to score by an autoencoder: ours, and as published (Alam and others, NeurIPS 2019). */
#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/rng.h"
#include "model/anomaly/autoencoder_topology.h"
#include "model/anomaly/scorer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX    4096 /* that are learned from, so that a fit takes a fifth of a second however many there are */
#define FOLDS       3
#define LARGEST     1e150 /* of a value; beyond that its square would not be finite */
#define SCALE_LEAST 1e-155
#define MARGIN      .1 /* by which a column may leave the range of what was learned, in parts of it, before the network is told */

/* Steps of the training, not epochs: what few rows need is as many steps, not as many passes. */
static const size_t steps_chosen = 4000, steps_tried = 1500;
static const struct autoencoder_training defaults = {
	.rule = AUTOENCODER_ADAM,
	.rate = .02,
	.cooling = true,
	.swapped = .2,
	.batch = 32,
	.checks = 10,
};

/* A value goes in as (value - center) / scale, kept within low and high. */
struct fitted {
	struct scorer scorer;
	struct autoencoder *network;
	size_t columns;
	double scale;       /* one for all columns, which the caller has scaled alike */
	double *center;     /* [columns] */
	double *low, *high; /* [columns] */
};

static struct fitted *fitted_new(const struct scorer_kind *kind, size_t columns)
{
	struct fitted *f = mem_new(1, sizeof(*f));

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
	struct fitted *f = (struct fitted *)scorer;

	if (!f)
		return;
	autoencoder_free(f->network);
	free(f->center);
	free(f);
}

static double within(double x, double low, double high)
{
	return x < low ? low : x > high ? high : x;
}

/* What the network gets of the rows. */
static struct mat seen_by(const struct fitted *f, const struct mat *rows)
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
	const struct fitted *f = (const struct fitted *)scorer;
	struct mat made = seen_by(f, rows);

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

/* ---- ours ---- */

static void set_center(struct fitted *f, const struct mat *rows)
{
	for (size_t i = 0; i < rows->rows * rows->cols; i++)
		f->center[i % rows->cols] += within(rows->at[i], -LARGEST, LARGEST) / (double)rows->rows;
}

/* Root mean square distance from the center. */
static void set_scale(struct fitted *f, const struct mat *rows)
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
static void set_range(struct fitted *f, const struct mat *rows)
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

static struct scorer *fit(const struct mat *rows, const size_t *run, uint64_t seed)
{
	struct fitted *f = fitted_new(&scorer_autoencoder, rows->cols);
	struct autoencoder_shape shapes[AUTOENCODER_SHAPES_MAX];
	size_t n_shapes = autoencoder_shapes(rows->cols, shapes), *picked = mem_new(rows->rows, sizeof(*picked));
	size_t n, *picked_run = mem_new(rows->rows, sizeof(*picked_run));
	struct mat some, given;
	struct autoencoder_training how;
	struct autoencoder_choice choice;
	struct rng rng;

	ASSAY_BUG_IF(rows->rows < 2 || !rows->cols);
	rng_seed(&rng, seed);
	n = autoencoder_sample(run, rows->rows, ROWS_MAX, rng_next(&rng), picked);
	some = mat_new(n, rows->cols);
	for (size_t i = 0; i < n; i++) {
		memcpy(some.at + i * rows->cols, rows->at + picked[i] * rows->cols, rows->cols * sizeof(double));
		picked_run[i] = run[picked[i]];
	}
	set_center(f, &some);
	set_scale(f, &some);
	set_range(f, &some);
	given = seen_by(f, &some);
	how = training_of(n - n / FOLDS, steps_tried);
	autoencoder_choose(&given, picked_run, shapes, n_shapes, &how, FOLDS, rng_next(&rng), &choice);
	how = training_of(n, (size_t)ceil((double)steps_chosen * choice.fraction));
	f->network = autoencoder_new(&shapes[choice.shape], rng_next(&rng));
	autoencoder_train(f->network, &given, NULL, &how, rng_next(&rng), NULL);
	mat_release(&some);
	mat_release(&given);
	free(picked);
	free(picked_run);
	return &f->scorer;
}

/* ---- as published ---- */

static struct scorer *fit_paper(const struct mat *rows, const size_t *run, uint64_t seed)
{
	struct fitted *f = fitted_new(&scorer_paper, rows->cols);
	struct autoencoder_shape shapes[AUTOENCODER_SHAPES_MAX];
	size_t n_shapes = autoencoder_shapes_published(rows->cols, shapes);
	struct mat given;

	(void)run;
	ASSAY_BUG_IF(rows->rows < 2 || !rows->cols);
	for (size_t j = 0; j < f->columns; j++)
		f->high[j] = 1.0;
	given = seen_by(f, rows); /* from 0 to 1, which they are when the caller keeps to it */
	f->network = autoencoder_least_error(&given, shapes, n_shapes, &autoencoder_published, seed);
	for (size_t j = 0; j < f->columns; j++) {
		f->low[j] = -LARGEST;
		f->high[j] = LARGEST;
	}
	mat_release(&given);
	return &f->scorer;
}

/* ---- models that are kept ---- */

static cJSON *autoencoder_scorer_write(const struct scorer *scorer)
{
	const struct fitted *f = (const struct fitted *)scorer;
	cJSON *json = cJSON_CreateObject();

	cJSON_AddNumberToObject(json, "scale", f->scale);
	cJSON_AddItemToObject(json, "center", cJSON_CreateDoubleArray(f->center, (int)f->columns));
	cJSON_AddItemToObject(json, "low", cJSON_CreateDoubleArray(f->low, (int)f->columns));
	cJSON_AddItemToObject(json, "high", cJSON_CreateDoubleArray(f->high, (int)f->columns));
	cJSON_AddItemToObject(json, "network", autoencoder_write(f->network));
	return json;
}

static enum assay_status read_column(const char *name, const cJSON *json, const char *key, size_t n, double *out,
                                     struct assay_error *err)
{
	const cJSON *array, *number;
	enum assay_status st = json_array(name, json, key, true, &array, err);

	if (st)
		return st;
	if ((size_t)cJSON_GetArraySize(array) != n)
		return assay_fail(err, ASSAY_E_FORMAT, "%s: '%s' has %d numbers, not %zu", name, key, cJSON_GetArraySize(array),
		                  n);
	cJSON_ArrayForEach(number, array)
	{
		if (!cJSON_IsNumber(number) || !(fabs(number->valuedouble) <= LARGEST))
			return assay_fail(err, ASSAY_E_FORMAT, "%s: '%s' has something that is not a number within +-1e150", name,
			                  key);
		*out++ = number->valuedouble;
	}
	return ASSAY_OK;
}

static enum assay_status read_network(const struct scorer_kind *kind, const cJSON *json, size_t columns, struct autoencoder **out,
                                      struct assay_error *err)
{
	struct assay_error why = { .status = ASSAY_OK };
	enum assay_status st = autoencoder_read(json, columns, out, &why);

	if (st)
		return assay_fail(err, st, "%s: %s", kind->name, why.text);
	if (autoencoder_shape(*out)->hidden == LANES_LINEAR) /* nothing would keep what is read within numbers */
		return assay_fail(err, ASSAY_E_FORMAT, "%s: the hidden neurons of a scorer are not linear", kind->name);
	return ASSAY_OK;
}

static enum assay_status read_kind(const struct scorer_kind *kind, const cJSON *json, size_t columns, struct scorer **out,
                                   struct assay_error *err)
{
	static const char *const keys[] = { "scale", "center", "low", "high", "network" };
	struct fitted *f = fitted_new(kind, columns);
	const cJSON *network;
	enum assay_status st = json_keys(kind->name, json, "an autoencoder", keys, sizeof(keys) / sizeof(keys[0]), err);

	if (!st)
		st = json_number(kind->name, json, "scale", true, &f->scale, err);
	if (!st && !(f->scale >= SCALE_LEAST && f->scale <= LARGEST))
		st = assay_fail(err, ASSAY_E_FORMAT, "%s: 'scale' must be from 1e-155 to 1e150", kind->name);
	if (!st)
		st = read_column(kind->name, json, "center", columns, f->center, err);
	if (!st)
		st = read_column(kind->name, json, "low", columns, f->low, err);
	if (!st)
		st = read_column(kind->name, json, "high", columns, f->high, err);
	if (!st)
		st = json_object(kind->name, json, "network", true, &network, err);
	if (!st)
		st = read_network(kind, network, columns, &f->network, err);
	if (!st) {
		*out = &f->scorer;
		f = NULL;
	}
	if (f)
		autoencoder_scorer_free(&f->scorer);
	return st;
}

static enum assay_status read_default(const cJSON *json, size_t columns, struct scorer **out, struct assay_error *err)
{
	return read_kind(&scorer_autoencoder, json, columns, out, err);
}

static enum assay_status read_paper(const cJSON *json, size_t columns, struct scorer **out, struct assay_error *err)
{
	return read_kind(&scorer_paper, json, columns, out, err);
}

/* "20-10-5-10-20" */
static void describe(const struct scorer *scorer, char *text, size_t size)
{
	const struct autoencoder_shape *shape = autoencoder_shape(((const struct fitted *)scorer)->network);
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
	.about = "autoencoder: linear output, trained by Adam, topology by held-out error",
	.fit = fit,
	.parts = autoencoder_scorer_parts,
	.free = autoencoder_scorer_free,
	.write = autoencoder_scorer_write,
	.read = read_default,
	.describe = describe,
};

const struct scorer_kind scorer_paper = {
	.name = "paper",
	.about = "autoencoder as published: sigmoids, tied weights, gradient descent, the topology with the smallest error",
	.fit = fit_paper,
	.parts = autoencoder_scorer_parts,
	.free = autoencoder_scorer_free,
	.write = autoencoder_scorer_write,
	.read = read_paper,
	.describe = describe,
};
