#include "model/anomaly/detector.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "base/text.h"
#include "model/anomaly/clusters.h"
#include "model/anomaly/detector_internal.h"
#include "model/anomaly/termination.h"

#include <math.h>
#include <string.h>

#define FOLDS_LEAST 3 /* two are left out at a time */

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
	size_t *fold;	   /* [runs] */
	struct mat by_model; /* [models x rows] errors */
	struct mat errors;   /* [folds x rows] */
	double *error;	   /* [rows] held out, or of training */
};

static void fit_release(struct fit *f)
{
	detector_free(f->d);
	free(f->columns);
	free(f->functions);
	rows_release(&f->rows);
	free(f->fold);
	mat_release(&f->by_model);
	mat_release(&f->errors);
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
	size_t least = o->threshold == DETECTOR_HELD_OUT ? FOLDS_LEAST : 2;

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

size_t detector_pair(size_t a, size_t b)
{
	size_t low = a < b ? a : b, high = a < b ? b : a;

	return a == b ? SIZE_MAX : high * (high - 1) / 2 + low;
}

void detector_fold_errors(const struct detector *d, size_t fold, size_t function, const double *sums, size_t n, double *error)
{
	double *of_sample = mem_new(d->folds, sizeof(*of_sample));

	for (size_t i = 0; i < n; i++) {
		size_t known = 0;

		for (size_t other = 0; other < d->folds; other++) {
			size_t m = detector_pair(fold, other);

			if (other != fold && d->models[m].scale.known[function])
				of_sample[known++] = sums[m * n + i];
		}
		error[i] = known ? stats_median(of_sample, known) : (double)NAN;
	}
	free(of_sample);
}

/* All runs, or, of each pair of folds, those that are in neither. */
static void fit_models(struct fit *f)
{
	struct detector *d = f->d;
	struct model_options options = detector_model_options(&d->options);
	bool **use = mem_new(d->n_models, sizeof(*use));

	for (size_t m = 0; m < d->n_models; m++) {
		use[m] = mem_new(d->about.runs, sizeof(**use));
		for (size_t r = 0; r < d->about.runs; r++)
			use[m][r] = true;
	}
	for (size_t r = 0; r < d->about.runs; r++) {
		for (size_t other = 0; other < d->folds; other++) {
			if (other != f->fold[r])
				use[detector_pair(f->fold[r], other)][r] = false;
		}
	}
	models_fit(&f->rows, (const bool *const *)use, d->n_models, d->about.functions, d->about.cluster, d->about.clusters,
		   DETECTOR_TRAIN_MAX, &options, d->models);
	for (size_t m = 0; m < d->n_models; m++) {
		model_errors(&f->rows, &d->models[m], d->about.cluster, options.watch, options.threads, &f->by_model.at[m * f->rows.z.rows]);
		free(use[m]);
	}
	free(use);
}

/* Row k: by models that have not seen fold k; a run of another fold by the one that has not seen that one either, so that nothing in row k knows
 * anything of fold k, as it knows nothing of a new run. */
static void take_fold_errors(struct fit *f)
{
	const struct detector *d = f->d;
	size_t rows = f->rows.z.rows, largest = 0;
	double *sums;

	for (size_t g = 0; g < f->rows.n_groups; g++)
		largest = f->rows.groups[g].n > largest ? f->rows.groups[g].n : largest;
	sums = mem_new(d->n_models * largest, sizeof(*sums));
	for (size_t g = 0; g < f->rows.n_groups; g++) {
		const struct scale_group *group = &f->rows.groups[g];
		size_t own = f->fold[group->run];

		for (size_t m = 0; m < d->n_models; m++)
			memcpy(&sums[m * group->n], &f->by_model.at[m * rows + group->first], group->n * sizeof(*sums));
		for (size_t k = 0; k < d->folds; k++) {
			double *error = &f->errors.at[k * rows + group->first];

			if (k == own)
				detector_fold_errors(d, k, group->function, sums, group->n, error);
			else
				memcpy(error, &sums[detector_pair(k, own) * group->n], group->n * sizeof(*error));
		}
		memcpy(&f->error[group->first], &f->errors.at[own * rows + group->first], group->n * sizeof(double));
	}
	free(sums);
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

static void cluster_and_fit(struct fit *f)
{
	struct detector *d = f->d;
	struct clusters clusters;

	clusters_choose(&f->rows, d->about.functions, d->about.runs, &d->options, &clusters);
	d->about.cluster = clusters.of;
	d->about.clusters = clusters.n;
	d->n_models = 1;
	if (d->options.threshold == DETECTOR_HELD_OUT) {
		d->folds = d->options.folds < FOLDS_LEAST ? FOLDS_LEAST : d->options.folds;
		d->folds = d->folds < d->about.runs ? d->folds : d->about.runs;
		d->n_models = d->folds * (d->folds - 1) / 2;
	}
	d->models = mem_new(d->n_models, sizeof(*d->models));
	f->fold = mem_new(d->about.runs, sizeof(*f->fold));
	f->error = mem_new(f->rows.z.rows, sizeof(*f->error));
	f->by_model = mat_new(d->n_models, f->rows.z.rows);
	f->errors = mat_new(d->folds, f->rows.z.rows);
	if (d->folds)
		deal_folds(f);
	fit_models(f);
	if (d->folds)
		take_fold_errors(f);
	else
		memcpy(f->error, f->by_model.at, f->rows.z.rows * sizeof(*f->error));
}

/* ---- published thresholds ---- */

static double deviation_threshold(const struct fit *f, size_t cluster, double *work)
{
	size_t n = 0;

	for (size_t g = 0; g < f->rows.n_groups; g++) {
		const struct scale_group *group = &f->rows.groups[g];

		for (size_t i = 0; f->d->about.cluster[group->function] == cluster && i < group->n; i++)
			work[n++] = f->error[group->first + i];
	}
	return n ? stats_mean(work, n) + f->d->options.t * stats_sd(work, n) : 0.0;
}

/* Thresholds of samples by cluster, and the largest share of anomalous samples that a normal run of the function had. */
static void publish(struct fit *f)
{
	struct detector *d = f->d;
	double *work = mem_new(f->rows.z.rows, sizeof(*work)), anomalous = 0.0;
	bool *run = mem_new(d->about.runs, sizeof(*run));

	for (size_t c = 0; c < d->about.clusters; c++) {
		double columns = (double)d->models[0].experts[c].n_columns;
		double limit = d->options.threshold == DETECTOR_FIXED ? d->options.fixed * d->options.fixed * columns
								      : deviation_threshold(f, c, work);

		for (size_t i = 0; i < d->about.functions; i++)
			d->threshold[i] = d->about.cluster[i] == c ? limit : d->threshold[i];
	}
	for (size_t g = 0; g < f->rows.n_groups; g++) {
		const struct scale_group *group = &f->rows.groups[g];
		double share = detector_share(&f->error[group->first], &f->rows.weight[group->first], group->n, d->threshold[group->function]);

		d->known[group->function] = true;
		d->share[group->function] = fmax(d->share[group->function], share);
		run[group->run] |= d->options.single_sample && share > 0.0;
	}
	for (size_t r = 0; r < d->about.runs; r++)
		anomalous += run[r];
	d->about.rate_measured = anomalous / (double)d->about.runs;
	free(work);
	free(run);
}

double detector_share(const double *error, const double *weight, size_t n, double threshold)
{
	double above = 0.0, sum = 0.0;

	for (size_t i = 0; i < n; i++) {
		above += stats_round(error[i]) > stats_round(threshold) ? weight[i] : 0.0;
		sum += weight[i];
	}
	return above / sum;
}

/* ---- thresholds from runs that were held out ---- */

static void calibrate(struct fit *f)
{
	struct detector *d = f->d;
	struct calibrate_options options = detector_calibrate_options(&d->options);

	calibrate_fit(f->rows.groups, f->rows.n_groups, &f->errors, f->rows.weight, f->fold, d->about.functions, d->about.runs, &options,
		      &d->calibration);
	for (size_t i = 0; i < d->about.functions; i++) {
		d->known[i] = calibrate_known(&d->calibration, i);
		d->threshold[i] = d->known[i] ? calibrate_threshold(&d->calibration, i) : 0.0;
	}
	d->about.rate_measured = calibrate_measured(&d->calibration);
}

/* ---- what is said about it ---- */

static int compare_numbers(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Errors of a function's normal samples, sorted and thinned, and the medians of its columns. groups[n] are its own. */
static void summarise(struct fit *f, const struct scale_group *groups, size_t n, double *work)
{
	struct detector *d = f->d;
	size_t function = groups[0].function, first = groups[0].first, kept = 0, total = 0, p = d->about.columns;

	for (size_t g = 0; g < n; g++)
		total += groups[g].n;
	for (size_t j = 0; j < p; j++) {
		for (size_t i = 0; i < total; i++)
			work[i] = mat_get(&f->normal->values, f->rows.origin[first + i], f->columns[j]);
		if (d->about.dropped[j] != DETECTOR_NOT_COUNTED)
			d->median[function * p + j] = stats_median(work, total);
	}
	for (size_t i = 0; i < total; i++) {
		if (!isnan(f->error[first + i]))
			work[kept++] = f->error[first + i];
	}
	if (kept)
		qsort(work, kept, sizeof(*work), compare_numbers);
	d->n_errors[function] = kept < DETECTOR_ERRORS_KEPT ? kept : DETECTOR_ERRORS_KEPT;
	d->errors[function] = mem_new(d->n_errors[function], sizeof(double));
	for (size_t i = 0; i < d->n_errors[function]; i++) /* all of few, else evenly spaced ones */
		d->errors[function][i] = work[kept == d->n_errors[function] ? i : i * (kept - 1) / (DETECTOR_ERRORS_KEPT - 1)];
}

/* Mean error of each run's samples, in the order of the runs. */
static void terminate(struct fit *f)
{
	size_t runs = f->d->about.runs;
	double *sum = mem_new(2 * runs, sizeof(*sum)), *weight = sum + runs;
	struct termination_options options = termination_defaults;
	struct termination end;

	for (size_t g = 0; g < f->rows.n_groups; g++) {
		const struct scale_group *group = &f->rows.groups[g];

		for (size_t i = 0; !isnan(f->error[group->first]) && i < group->n; i++) {
			sum[group->run] += f->rows.weight[group->first + i] * f->error[group->first + i];
			weight[group->run] += f->rows.weight[group->first + i];
		}
	}
	for (size_t r = 0; r < runs; r++)
		sum[r] = weight[r] > 0.0 ? sum[r] / weight[r] : 0.0;
	options.least = detector_calibrate_options(&f->d->options).least;
	termination_of(sum, runs, &options, &end);
	f->d->about.sufficient = end.sufficient;
	f->d->about.runs_chosen = end.chosen;
	f->d->about.runs_more = end.runs_more;
	free(sum);
}

static void describe(struct detector *d)
{
	size_t *members = mem_new(d->about.clusters, sizeof(*members)), largest = 0;
	const struct scorer *scorer;

	for (size_t i = 0; i < d->about.functions; i++)
		members[d->about.cluster[i]]++;
	for (size_t c = 0; c < d->about.clusters; c++)
		largest = members[c] > members[largest] ? c : largest;
	scorer = d->models[0].experts[largest].scorer;
	if (scorer && scorer->kind->describe)
		scorer->kind->describe(scorer, d->about.topology, sizeof(d->about.topology));
	for (size_t i = 0; i < d->n_models; i++) {
		for (size_t c = 0; c < d->about.clusters; c++) {
			for (size_t j = 0; j < d->models[i].experts[c].n_columns; j++)
				d->about.dropped[d->models[i].experts[c].columns[j]] = DETECTOR_USED;
		}
	}
	free(members);
}

static void learn(struct fit *f)
{
	struct detector *d = f->d;
	double *work = mem_new(f->rows.z.rows, sizeof(*work));
	size_t functions = d->about.functions;

	d->known = mem_new(functions, sizeof(*d->known));
	d->threshold = mem_new(functions, sizeof(*d->threshold));
	d->share = mem_new(functions, sizeof(*d->share));
	d->median = mem_new(functions * d->about.columns, sizeof(*d->median));
	d->errors = mem_new(functions, sizeof(*d->errors));
	d->n_errors = mem_new(functions, sizeof(*d->n_errors));
	cluster_and_fit(f);
	if (d->options.threshold == DETECTOR_HELD_OUT)
		calibrate(f);
	else
		publish(f);
	for (size_t g = 0, n; g < f->rows.n_groups; g += n) {
		for (n = 1; g + n < f->rows.n_groups && f->rows.groups[g + n].function == f->rows.groups[g].function;)
			n++;
		summarise(f, &f->rows.groups[g], n, work);
	}
	terminate(f);
	describe(d);
	free(work);
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
	learn(&f);
	*out = f.d;
	f.d = NULL;
out:
	fit_release(&f);
	return st;
}
