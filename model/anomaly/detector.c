#include "model/anomaly/detector.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "base/text.h"
#include "model/anomaly/clusters.h"
#include "model/anomaly/detector_internal.h"

#include <math.h>
#include <string.h>

#define RUNS_LEAST 3 /* held out: each is compared with two others */

const struct detector_options detector_defaults = {
	.scorer = &scorer_autoencoder,
	.scaling = DETECTOR_ASINH,
	.threshold = DETECTOR_HELD_OUT,
	.rate = .05,
	.tolerance = .05,
	.t = 2,
	.fixed = .2,
	.watch_constant = true,
	.folds = 4,
	.seed = 1,
	.threads = 1,
};

const struct detector_options detector_paper = {
	.scorer = &scorer_paper,
	.scaling = DETECTOR_UNIT,
	.threshold = DETECTOR_DEVIATION,
	.rate = .05,
	.tolerance = .05,
	.t = 2,
	.fixed = .2,
	.single_sample = true,
	.clusters_paper = true,
	.folds = 4,
	.seed = 1,
	.threads = 1,
};

struct model_options detector_model_options(const struct detector_options *o)
{
	return (struct model_options){ .scorer = o->scorer, .scaling = o->scaling, .tolerance = o->tolerance,
				       .watch = o->watch_constant, .seed = o->seed, .threads = o->threads };
}

struct calibrate_options detector_calibrate_options(const struct detector_options *o)
{
	return (struct calibrate_options){ .rate = o->rate, .least = o->scaling == DETECTOR_ASINH ? 1.0 : 0.0, .single_sample = o->single_sample };
}

void detector_free(struct detector *d)
{
	if (!d)
		return;
	for (size_t j = 0; d->columns && j < d->about.columns; j++)
		free(d->columns[j]);
	for (size_t f = 0; f < d->about.functions; f++) {
		if (d->functions)
			free(d->functions[f]);
		if (d->errors)
			free(d->errors[f]);
	}
	for (size_t i = 0; i < d->n_models; i++)
		model_release(&d->models[i]);
	calibration_release(&d->calibration);
	free(d->columns);
	free(d->stretch);
	free(d->functions);
	free(d->known);
	free(d->median);
	free(d->errors);
	free(d->n_errors);
	free(d->models);
	free(d->threshold);
	free(d->share);
	free(d->about.cluster);
	free(d->about.dropped);
	free(d);
}

const struct detector_about *detector_about(const struct detector *d)
{
	return &d->about;
}

void detector_normal_errors(const struct detector *d, const char *function, const double **out, size_t *n)
{
	size_t f = names_find(d->functions, d->about.functions, function);

	*out = f < d->about.functions ? d->errors[f] : NULL;
	*n = f < d->about.functions ? d->n_errors[f] : 0;
}

/* ---- what the observations are like ---- */

struct fit {
	const struct observations *normal;
	struct detector *d;
	size_t *columns;   /* [p] of the detector's, the place in the observations */
	size_t *functions; /* [functions] of the observations, the place in the detector */
	struct rows rows;
	size_t *fold;	   /* [runs] the model that judges it: with folds the one without its own */
	double *error;	   /* [rows] by it */
};

static void fit_release(struct fit *f)
{
	detector_free(f->d);
	free(f->columns);
	free(f->functions);
	rows_release(&f->rows);
	free(f->fold);
	free(f->error);
}

static enum assay_status name_all(struct fit *f, struct assay_error *err)
{
	const struct observations *o = f->normal;
	size_t p = o->values.cols, *order = mem_new(o->functions + 1, sizeof(*order)), twice;
	struct detector *d = f->d;
	enum assay_status st = ASSAY_OK;

	d->about.columns = p;
	d->about.functions = o->functions;
	d->columns = mem_new(p, sizeof(*d->columns));
	d->functions = mem_new(o->functions, sizeof(*d->functions));
	twice = names_order(o->columns, p, f->columns);
	if (twice < p) {
		st = assay_fail(err, ASSAY_E_USAGE, "the column '%s' is there twice", o->columns[f->columns[twice]]);
		goto out;
	}
	twice = names_order(o->functions_names, o->functions, order);
	if (twice < o->functions) {
		st = assay_fail(err, ASSAY_E_USAGE, "the function '%s' is there twice", o->functions_names[order[twice]]);
		goto out;
	}
	for (size_t j = 0; j < p; j++)
		d->columns[j] = mem_string(o->columns[f->columns[j]]);
	for (size_t i = 0; i < o->functions; i++) {
		d->functions[i] = mem_string(o->functions_names[order[i]]);
		f->functions[order[i]] = i;
	}
out:
	free(order);
	return st;
}

/* Columns that no row has are not counted. Returns how many are. */
static size_t find_counted(const struct fit *f, bool *used)
{
	size_t n = 0;

	for (size_t j = 0; j < f->d->about.columns; j++) {
		for (size_t i = 0; i < f->normal->values.rows && !used[j]; i++)
			used[j] = isfinite(mat_get(&f->normal->values, i, f->columns[j]));
		n += used[j];
	}
	return n;
}

/* Runs that have rows become 0, 1, ... in their order; returns how many they are. */
static size_t close_up_runs(struct fit *f)
{
	size_t *to = mem_new(f->normal->runs + 1, sizeof(*to)), n = 0;

	for (size_t g = 0; g < f->rows.n_groups; g++)
		to[f->rows.groups[g].run] = 1;
	for (size_t r = 0; r < f->normal->runs; r++)
		to[r] = to[r] ? n++ : SIZE_MAX;
	for (size_t g = 0; g < f->rows.n_groups; g++)
		f->rows.groups[g].run = to[f->rows.groups[g].run];
	free(to);
	return n;
}

static enum assay_status check_runs(const struct fit *f, struct assay_error *err)
{
	const struct detector_about *about = &f->d->about;
	const struct detector_options *o = &f->d->options;
	size_t needed = o->threshold == DETECTOR_HELD_OUT ? calibrate_runs_needed(o->rate) : 2;
	size_t least = o->threshold == DETECTOR_HELD_OUT ? RUNS_LEAST : 2;

	if (about->runs < least)
		return assay_fail(err, ASSAY_E_NODATA, "%zu normal run%s with samples that can be used%s: at least %zu are needed, %zu more",
				  about->runs, text_plural(about->runs), about->left_out ? " (others lack counters)" : "", least,
				  least - about->runs);
	if (about->runs < needed)
		return assay_fail(err, ASSAY_E_USAGE,
				  "%zu normal runs cannot support a false positive rate of %g: it takes %zu, %zu more; the smallest that they support is %.3g",
				  about->runs, o->rate, needed, needed - about->runs, 1.0 / (double)(about->runs + 1));
	return ASSAY_OK;
}

static enum assay_status take_rows(struct fit *f, struct assay_error *err)
{
	struct detector *d = f->d;
	size_t p = d->about.columns;
	bool *used = mem_new(p + 1, sizeof(*used));
	enum assay_status st = ASSAY_OK;

	if (find_counted(f, used) == 0) {
		st = assay_fail(err, ASSAY_E_NODATA, "nothing was counted in any of %zu sample%s", f->normal->values.rows,
				text_plural(f->normal->values.rows));
		goto out;
	}
	d->about.dropped = mem_new(p, sizeof(*d->about.dropped));
	if (d->options.scaling == DETECTOR_ASINH)
		d->stretch = mem_new(p, sizeof(*d->stretch));
	for (size_t j = 0; j < p; j++) {
		d->about.dropped[j] = used[j] ? DETECTOR_CONSTANT : DETECTOR_NOT_COUNTED;
		if (d->stretch)
			d->stretch[j] = scale_stretch(f->normal->material[f->columns[j]], d->options.tolerance);
	}
	rows_of(f->normal, f->columns, p, used, f->functions, d->stretch, &f->rows);
	d->about.left_out = f->rows.left_out;
	d->about.samples = f->rows.z.rows;
	d->about.runs = close_up_runs(f);
	st = check_runs(f, err);
out:
	free(used);
	return st;
}

/* ---- models ---- */

size_t detector_model_of(const struct detector *d, size_t run)
{
	return d->folds ? (d->about.runs + run) % d->folds : 0;
}

/* Runs in a seeded order, so that no fold holds all runs of an input that comes round in turn. */
static void deal_folds(struct fit *f)
{
	size_t runs = f->d->about.runs, *order = mem_new(runs, sizeof(*order));
	struct rng rng;

	for (size_t r = 0; r < runs; r++)
		order[r] = r;
	rng_seed(&rng, f->d->options.seed);
	rng_shuffle(&rng, order, runs);
	for (size_t r = 0; r < runs; r++)
		f->fold[order[r]] = r % f->d->folds;
	free(order);
}

/* Of all runs; with folds, one without each of them. */
static void fit_models(struct fit *f)
{
	struct detector *d = f->d;
	struct model_options options = detector_model_options(&d->options);
	bool **use = mem_new(d->n_models, sizeof(*use));

	for (size_t m = 0; m < d->n_models; m++) {
		use[m] = mem_new(d->about.runs, sizeof(**use));
		for (size_t r = 0; r < d->about.runs; r++)
			use[m][r] = !d->folds || f->fold[r] != m;
	}
	models_fit(&f->rows, (const bool *const *)use, d->n_models, d->about.functions, d->about.cluster, d->about.clusters,
		   DETECTOR_TRAIN_MAX, &options, d->models);
	model_errors(&f->rows, d->models, f->fold, d->about.cluster, options.watch, options.threads, f->error);
	for (size_t m = 0; m < d->n_models; m++)
		free(use[m]);
	free(use);
}

static void cluster_and_fit(struct fit *f)
{
	struct detector *d = f->d;
	struct clusters clusters;

	clusters_choose(&f->rows, d->about.functions, d->about.runs, &d->options, &clusters);
	d->about.cluster = clusters.of;
	d->about.clusters = clusters.n;
	if (d->options.threshold == DETECTOR_HELD_OUT)
		d->folds = d->options.folds < d->about.runs ? d->options.folds : d->about.runs;
	d->n_models = d->folds ? d->folds : 1;
	d->models = mem_new(d->n_models, sizeof(*d->models));
	f->fold = mem_new(d->about.runs, sizeof(*f->fold));
	f->error = mem_new(f->rows.z.rows, sizeof(*f->error));
	if (d->folds)
		deal_folds(f);
	fit_models(f);
}

enum assay_status detector_fit(const struct observations *normal, const struct detector_options *options, struct detector **out,
			       struct assay_error *err)
{
	struct fit f = { .normal = normal };
	enum assay_status st;

	ASSAY_BUG_IF(!(options->rate > 0.0) || !(options->rate < 1.0) || !(options->tolerance > 0.0) || options->folds < 2);
	*out = NULL;
	f.d = mem_new(1, sizeof(*f.d));
	f.d->options = *options;
	f.columns = mem_new(normal->values.cols + 1, sizeof(*f.columns));
	f.functions = mem_new(normal->functions + 1, sizeof(*f.functions));
	st = name_all(&f, err);
	if (!st)
		st = take_rows(&f, err);
	if (st)
		goto out;
	cluster_and_fit(&f);
	detector_learn(f.d, &(struct training){ .normal = normal, .columns = f.columns, .rows = &f.rows, .error = f.error });
	*out = f.d;
	f.d = NULL;
out:
	fit_release(&f);
	return st;
}
