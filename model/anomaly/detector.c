/* Fits a detector: scales the observations, fits models, and lets a rule learn from their errors. */
#include "model/anomaly/detector_parts.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/rng.h"
#include "base/stats.h"
#include "base/text.h"

#include <math.h>

#define TERMINATION_RUNS_MIN 4	 /* minimum number of runs, so that a quarter of these is at least one */
#define TERMINATION_T	     2.0 /* number of standard deviations above the mean, as in the published threshold */
#define RUNS_MIN	     3	 /* minimum number of runs if runs are held out: each is compared with two others */

const struct detector_options detector_defaults = {
	.scorer = &scorer_autoencoder,
	.scaling = &detector_asinh,
	.rule = &detector_held_out,
	.rate = .05,
	.tolerance = .05,
	.t = 2,
	.fixed = .2,
	.check_constant_columns = true,
	.folds = 4,
	.seed = 1,
	.threads = 1,
};

double detector_negligible_error(const struct detector_options *o)
{
	return o->scaling->stretched ? 1.0 : 0.0;
}

void detector_free(struct detector *d)
{
	if (!d)
		return;
	if (d->options.rule && d->options.rule->free)
		d->options.rule->free(d);
	models_release(&d->models);
	names_release(&d->names);
	mem_free(d->stretch, d->known, d->means, d->threshold, d->share, d->about.cluster, d->about.dropped, d);
}

const struct detector_info *detector_info(const struct detector *d)
{
	return &d->about;
}

/* ---- statistics of the observations ---- */

struct fit {
	const struct observations *normal;
	struct detector *d;
	size_t *columns;   /* [p] index in the observations of each column of the detector */
	size_t *functions; /* [functions] index in the detector of each function of the observations */
	struct rows rows;
	size_t *fold;  /* [runs] index of the model that judges the run; with folds, of the model that did not learn the run's fold */
	double *error; /* [rows] error of each row by that model */
};

static void fit_release(struct fit *f)
{
	detector_free(f->d);
	mem_free(f->columns, f->functions);
	rows_release(&f->rows);
	mem_free(f->fold, f->error);
}

/* Sets used [columns] to true for columns that have a finite value in some row. Returns the number of such columns. */
static size_t fit_find_counted(const struct fit *f, bool *used)
{
	size_t n = 0;

	for (size_t j = 0; j < f->d->about.columns; j++) {
		for (size_t i = 0; i < f->normal->values.rows && !used[j]; i++)
			used[j] = isfinite(mat_get(&f->normal->values, i, f->columns[j]));
		n += used[j];
	}
	return n;
}

/* Renumbers the runs that have rows: 0, 1, ... in the same order. Returns the number of these runs. */
static size_t fit_number_runs(struct fit *f)
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

static enum assay_status fit_check_runs(const struct fit *f, struct assay_error *err)
{
	const struct detector_info *about = &f->d->about;
	const struct detector_options *o = &f->d->options;
	size_t needed = o->rule->holds_out ? detector_runs_needed(o->rate) : 2, least = o->rule->holds_out ? RUNS_MIN : 2;

	if (about->runs < least)
		return assay_fail(err, ASSAY_E_NODATA, "%zu normal run%s with usable samples%s: at least %zu are needed, %zu more",
				  about->runs, text_plural(about->runs), about->n_excluded ? " (others lack counters)" : "", least,
				  least - about->runs);
	if (about->runs < needed)
		return assay_fail(err, ASSAY_E_USAGE,
				  "%zu normal runs are too few for a false positive rate of %g: it needs %zu, %zu more; the smallest "
				  "possible rate is %.3g",
				  about->runs, o->rate, needed, needed - about->runs, 1.0 / (double)(about->runs + 1));
	return ASSAY_OK;
}

static enum assay_status fit_rows(struct fit *f, struct assay_error *err)
{
	struct detector *d = f->d;
	size_t p = d->about.columns;
	bool *used = mem_new(p + 1, sizeof(*used));
	enum assay_status st = ASSAY_OK;

	if (fit_find_counted(f, used) == 0) {
		st = assay_fail(err, ASSAY_E_NODATA, "nothing was counted in any of %zu sample%s", f->normal->values.rows,
				text_plural(f->normal->values.rows));
		goto out;
	}
	d->about.dropped = mem_new(p, sizeof(*d->about.dropped));
	d->stretch = d->options.scaling->stretched ? mem_new(p, sizeof(*d->stretch)) : NULL;
	for (size_t j = 0; j < p; j++) {
		d->about.dropped[j] = used[j] ? DETECTOR_CONSTANT : DETECTOR_NOT_COUNTED;
		if (d->stretch)
			d->stretch[j] = detector_stretch(f->normal->min_relevant_delta[f->columns[j]], d->options.tolerance);
	}
	rows_sort(f->normal, f->columns, p, used, f->functions, d->stretch, &f->rows);
	d->about.n_excluded = f->rows.n_excluded;
	d->about.samples = f->rows.z.rows;
	d->about.runs = fit_number_runs(f);
	st = fit_check_runs(f, err);
out:
	free(used);
	return st;
}

/* ---- models ---- */

/* Fits one model for each fold, to the runs of the other folds; without folds, one model to all runs. Assigns runs to folds in a seeded
 * random order, so that no fold gets all runs of an input that repeats periodically. */
static void fit_models(struct fit *f)
{
	struct detector *d = f->d;
	struct models *m = &d->models;
	bool **use;
	struct rng rng;

	d->about.cluster = mem_new(d->about.functions, sizeof(*d->about.cluster));
	d->about.clusters = clusters_choose(&f->rows, d->about.functions, d->about.runs, &d->options, d->about.cluster);
	if (d->options.rule->holds_out)
		d->folds = d->options.folds < d->about.runs ? d->options.folds : d->about.runs;
	f->fold = mem_new(d->about.runs, sizeof(*f->fold));
	rng_seed(&rng, d->options.seed);
	if (d->folds)
		rng_deal(&rng, d->about.runs, d->folds, f->fold);
	*m = (struct models){ .n = d->folds ? d->folds : 1,
			      .clusters = d->about.clusters,
			      .cluster = d->about.cluster,
			      .functions = d->about.functions,
			      .options = &d->options };
	use = mem_new(m->n, sizeof(*use));
	for (size_t i = 0; i < m->n; i++) {
		use[i] = mem_new(d->about.runs, sizeof(**use));
		for (size_t r = 0; r < d->about.runs; r++)
			use[i][r] = !d->folds || f->fold[r] != i;
	}
	models_fit(&f->rows, (const bool *const *)use, m);
	f->error = mem_new(f->rows.z.rows, sizeof(*f->error));
	models_compute_errors(m, &f->rows, f->fold, f->error);
	mem_free_all(use, m->n);
}

/* ---- number of runs ---- */

/* Decides whether there are enough normal runs: AutoPerf's variance termination (Alam and others, NeurIPS 2019, Algorithm 1), with eps
 * relative to the scale of the errors. O(max^2).
 *
 * As published, runs are added one by one until two averages, ave_piece and ave_half, differ by less than eps for `goal` consecutive times,
 * or until there are `max` runs. The paper's listing was not available, so we interpret these names: the averaged quantity is, after each
 * run, the standard deviation of the errors of all runs so far. ave_piece is its average over the last quarter of the runs, ave_half over
 * the last half. Redundant runs leave both equal. A run unlike the earlier ones, or drifting errors, change ave_piece first. We also divide
 * by mean + t standard deviations: this measures, in any unit, by how much the published threshold still changes. */
struct termination_options {
	double eps;   /* negligible difference of the two averages, relative to the scale of the errors */
	size_t goal;  /* required number of consecutive runs with a negligible difference */
	size_t max;   /* maximum number of runs */
	double least; /* lower limit of the scale of the errors, so that irrelevantly small errors do not require more runs */
};

struct termination {
	bool is_sufficient;    /* also false if `max` runs were not enough */
	size_t chosen;	       /* number of runs after which the rule stopped; all runs if not sufficient */
	size_t n_runs_missing; /* estimated number of missing runs; 0 if sufficient, or if `max` runs did not suffice, as more would not
				  help */
};

static const struct termination_options termination_defaults = { .eps = .02, .goal = 3, .max = 100 };

/* Computes deviation [n] and mean [n] of the first 1, 2, ... n errors (Welford, Technometrics 4(3), 1962). */
static void termination_deviations(const double *error, size_t n, double *deviation, double *mean)
{
	double squares = 0.0, m = 0.0;

	for (size_t i = 0; i < n; i++) {
		double d = error[i] - m;

		m += d / (double)(i + 1);
		squares += d * (error[i] - m);
		deviation[i] = i ? sqrt(squares / (double)i) : 0.0;
		mean[i] = m;
	}
}

/* Returns |ave_piece - ave_half| after r runs, relative to mean + t standard deviations of the errors. */
static double termination_difference(const double *deviation, const double *mean, size_t r, double least)
{
	double ave_piece = stats_mean(deviation + r - r / 4, r / 4), ave_half = stats_mean(deviation + r - r / 2, r / 2);
	double scale = fmax(mean[r - 1] + TERMINATION_T * deviation[r - 1], least);

	return scale > 0.0 ? stats_round(fabs(ave_piece - ave_half) / scale) : 0.0;
}

/* Estimates the number of missing runs. The standard deviation of r independent errors changes by about 1 / sqrt(r), so a difference d
 * after n runs falls to eps after n (d / eps)^2 runs. A single difference is noisy, so d is the median over the last quarter of the runs.
 * Returns at least the number of runs that `goal` still needs. */
static size_t termination_missing_runs(const double *difference, size_t n, const struct termination_options *o, size_t reached)
{
	size_t last = n / 4 > 0 ? n / 4 : 1, left = o->goal - reached, most = o->max - n;
	double d, more;

	if (n < TERMINATION_RUNS_MIN)
		left = TERMINATION_RUNS_MIN - 1 + o->goal - n;
	if (n < TERMINATION_RUNS_MIN || left > most)
		return left < most ? left : most;
	if (last > n - TERMINATION_RUNS_MIN + 1)
		last = n - TERMINATION_RUNS_MIN + 1;
	d = stats_median(difference + n - last, last);
	more = ceil((double)n * ((d / o->eps) * (d / o->eps) - 1.0));
	if (!(more < (double)most))
		return most;
	return more > (double)left ? (size_t)more : left;
}

/* Applies the termination. error [n] is the mean error of each run, in the order of the runs, by a model that did not learn the run; >= 0,
 * finite. Uses at most `max` errors, and none after `chosen`, where measuring could have stopped. goal >= 1, eps > 0. */
static void termination_compute(const double *error, size_t n, const struct termination_options *options, struct termination *out)
{
	double *deviation = mem_new(3 * n, sizeof(*deviation)), *mean = deviation + n, *difference = mean + n;
	size_t reached = 0;

	*out = (struct termination){ .chosen = n < options->max ? n : options->max };
	termination_deviations(error, n, deviation, mean);
	for (size_t r = TERMINATION_RUNS_MIN; r <= out->chosen && !out->is_sufficient; r++) {
		difference[r - 1] = termination_difference(deviation, mean, r, options->least);
		reached = difference[r - 1] <= options->eps ? reached + 1 : 0;
		if (reached >= options->goal) {
			out->is_sufficient = true;
			out->chosen = r;
		}
	}
	if (!out->is_sufficient && n < options->max)
		out->n_runs_missing = termination_missing_runs(difference, n, options, reached);
	free(deviation);
}

/* ---- learning from errors ---- */

/* Decides, from the mean error of each run, whether more runs would change anything. */
static void fit_termination(struct fit *f)
{
	struct detector_info *about = &f->d->about;
	double *sum = mem_new(2 * about->runs, sizeof(*sum)), *weight = sum + about->runs;
	struct termination_options options = termination_defaults;
	struct termination end;

	for (size_t g = 0; g < f->rows.n_groups; g++) {
		const struct row_group *group = &f->rows.groups[g];

		for (size_t i = group->first; !isnan(f->error[group->first]) && i < group->first + group->n; i++) {
			sum[group->run] += f->rows.weight[i] * f->error[i];
			weight[group->run] += f->rows.weight[i];
		}
	}
	for (size_t r = 0; r < about->runs; r++)
		sum[r] = weight[r] > 0.0 ? sum[r] / weight[r] : 0.0;
	options.least = detector_negligible_error(&f->d->options);
	termination_compute(sum, about->runs, &options, &end);
	about->is_sufficient = end.is_sufficient;
	about->n_runs_sufficient = end.chosen;
	about->n_runs_missing = end.n_runs_missing;
	free(sum);
}

/* Describes the scorer of the largest cluster, and marks the columns that any scorer gets as used. */
static void fit_describe(struct detector *d)
{
	size_t *members = mem_new(d->about.clusters, sizeof(*members)), largest = 0;
	const struct scorer *scorer;

	for (size_t i = 0; i < d->about.functions; i++)
		members[d->about.cluster[i]]++;
	for (size_t c = 0; c < d->about.clusters; c++)
		largest = members[c] > members[largest] ? c : largest;
	scorer = d->models.items[0].experts[largest].scorer;
	if (scorer)
		scorer->kind->describe(scorer, d->about.topology, sizeof(d->about.topology));
	for (size_t i = 0; i < d->models.n * d->about.clusters; i++) {
		const struct cluster_scorer *cluster_scorer = &d->models.items[i / d->about.clusters].experts[i % d->about.clusters];

		for (size_t j = 0; j < cluster_scorer->n_columns; j++)
			d->about.dropped[cluster_scorer->columns[j]] = DETECTOR_USED;
	}
	free(members);
}

static void fit_learn(struct fit *f)
{
	struct detector *d = f->d;
	size_t functions = d->about.functions;

	d->known = mem_new(functions, sizeof(*d->known));
	d->threshold = mem_new(functions, sizeof(*d->threshold));
	d->share = mem_new(functions, sizeof(*d->share));
	d->means = run_means_compute(f->normal, f->columns, d->about.columns, &f->rows, functions);
	d->options.rule->learn(d, &(struct detector_training){ .rows = &f->rows, .error = f->error });
	fit_termination(f);
	fit_describe(d);
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
	st = names_sort(normal, &f.d->names, f.columns, f.functions, err);
	f.d->about.columns = f.d->names.p;
	f.d->about.functions = f.d->names.n;
	if (!st)
		st = fit_rows(&f, err);
	if (st)
		goto out;
	fit_models(&f);
	fit_learn(&f);
	*out = f.d;
	f.d = NULL;
out:
	fit_release(&f);
	return st;
}
