/* What a fitted detector says of other runs. */
#include "base/mem.h"
#include "base/stats.h"
#include "model/anomaly/cause.h"
#include "model/anomaly/detector_internal.h"
#include "model/parallel.h"

#include <math.h>

void detection_release(struct detection *d)
{
	for (size_t f = 0; f < d->n; f++)
		free(d->functions[f].columns);
	free(d->functions);
	free(d->run_anomalous);
	free(d->run_p);
	free(d->errors);
	*d = (struct detection){ 0 };
}

/* What is said of a function in a run. */
struct opinion {
	double p, score; /* p: of held-out runs */
	bool anomalous;
};

struct judge {
	const struct detector *d;
	const struct observations *seen;
	size_t *columns;   /* [p] of the detector's, the place in what was seen */
	size_t *functions; /* [functions of what was seen] place in the detector, SIZE_MAX: not known */
	size_t *back;	   /* [functions of the detector] place in what was seen */
	struct rows rows;
	double *error;	   /* [rows] */
	struct mat parts, toward; /* [rows x p] means over the models */
	struct opinion *opinions; /* [groups] */
	struct mat strange;	  /* [groups x models] */
};

static void judge_release(struct judge *k)
{
	free(k->columns);
	free(k->functions);
	free(k->back);
	rows_release(&k->rows);
	free(k->error);
	mat_release(&k->parts);
	mat_release(&k->toward);
	free(k->opinions);
	mat_release(&k->strange);
}

/* ---- the same columns, known functions ---- */

static enum assay_status match_columns(struct judge *k, struct assay_error *err)
{
	const struct observations *o = k->seen;
	size_t p = k->d->about.columns, *order = mem_new(o->values.cols + 1, sizeof(*order)), twice;
	enum assay_status st = ASSAY_OK;

	twice = names_order(o->columns, o->values.cols, order);
	if (twice < o->values.cols)
		st = assay_fail(err, ASSAY_E_USAGE, "the column '%s' is there twice", o->columns[order[twice]]);
	for (size_t j = 0; j < p; j++)
		k->columns[j] = SIZE_MAX;
	for (size_t i = 0; !st && i < o->values.cols; i++) {
		size_t j = names_find(k->d->columns, p, o->columns[order[i]]);

		if (j == p)
			st = assay_fail(err, ASSAY_E_USAGE, "the normal runs have no column '%s', which is in what is judged",
					o->columns[order[i]]);
		else
			k->columns[j] = order[i];
	}
	for (size_t j = 0; !st && j < p; j++) {
		if (k->columns[j] == SIZE_MAX)
			st = assay_fail(err, ASSAY_E_USAGE, "the normal runs have the column '%s', which is not in what is judged",
					k->d->columns[j]);
	}
	free(order);
	return st;
}

static enum assay_status check_counted(const struct judge *k, bool *used, struct assay_error *err)
{
	for (size_t j = 0; j < k->d->about.columns; j++) {
		bool counted = k->seen->values.rows == 0;

		used[j] = k->d->about.dropped[j] != DETECTOR_NOT_COUNTED;
		for (size_t i = 0; used[j] && i < k->seen->values.rows && !counted; i++)
			counted = isfinite(mat_get(&k->seen->values, i, k->columns[j]));
		if (used[j] && !counted)
			return assay_fail(err, ASSAY_E_USAGE, "'%s' was counted in normal runs, and in no sample of what is judged",
					  k->d->columns[j]);
	}
	return ASSAY_OK;
}

static enum assay_status match_functions(struct judge *k, struct assay_error *err)
{
	const struct observations *o = k->seen;
	size_t *order = mem_new(o->functions + 1, sizeof(*order)), twice = names_order(o->functions_names, o->functions, order);
	enum assay_status st = ASSAY_OK;

	if (twice < o->functions)
		st = assay_fail(err, ASSAY_E_USAGE, "the function '%s' is there twice", o->functions_names[order[twice]]);
	for (size_t i = 0; i < o->functions; i++) {
		size_t f = names_find(k->d->functions, k->d->about.functions, o->functions_names[i]);

		k->functions[i] = f < k->d->about.functions && k->d->known[f] ? f : SIZE_MAX;
		if (k->functions[i] != SIZE_MAX)
			k->back[f] = i;
	}
	free(order);
	return st;
}

static enum assay_status take_rows(struct judge *k, struct assay_error *err)
{
	size_t p = k->d->about.columns;
	bool *used = mem_new(p + 1, sizeof(*used));
	enum assay_status st = match_columns(k, err);

	if (!st)
		st = check_counted(k, used, err);
	if (!st)
		st = match_functions(k, err);
	if (!st)
		rows_of(k->seen, k->columns, p, used, k->functions, k->d->stretch, &k->rows);
	free(used);
	return st;
}

/* ---- a function in a run ---- */

/* Adds what one model says of a group to the means; sum [n] the errors. */
static void ask_model(const struct judge *k, const struct model *model, const struct scale_group *group, double share, double *sum)
{
	size_t p = k->rows.z.cols, n = group->n;
	struct mat units = mat_new(n, p), parts = mat_new(n, p), toward = mat_new(n, p);

	for (size_t i = 0; i < n; i++)
		scale_row(&model->scale, group->function, &k->rows.z.at[(group->first + i) * p], &units.at[i * p]);
	model_parts(model, k->d->about.cluster[group->function], group->function, k->d->options.watch_constant, &units, &parts, &toward);
	for (size_t i = 0; i < n; i++) {
		sum[i] = 0.0;
		for (size_t j = 0; j < p; j++) {
			sum[i] += mat_get(&parts, i, j);
			k->parts.at[(group->first + i) * p + j] += share * mat_get(&parts, i, j);
			k->toward.at[(group->first + i) * p + j] += share * mat_get(&toward, i, j);
		}
	}
	mat_release(&units);
	mat_release(&parts);
	mat_release(&toward);
}

static size_t models_that_know(const struct detector *d, size_t function)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n_models; i++)
		n += d->models[i].scale.known[function];
	return n;
}

/* sums [models x n] to the medians over the models that know the function. */
static void take_medians(const struct judge *k, const struct scale_group *group, const double *sums)
{
	double *of_row = mem_new(k->d->n_models, sizeof(*of_row));

	for (size_t i = 0; i < group->n; i++) {
		size_t n = 0;

		for (size_t m = 0; m < k->d->n_models; m++) {
			if (k->d->models[m].scale.known[group->function])
				of_row[n++] = sums[m * group->n + i];
		}
		k->error[group->first + i] = stats_median(of_row, n);
	}
	free(of_row);
}

static struct opinion held_out_opinion(const struct judge *k, const struct scale_group *group, const double *sums)
{
	const struct detector *d = k->d;
	double *strange = &k->strange.at[(size_t)(group - k->rows.groups) * d->folds];
	double *error = mem_new(group->n, sizeof(*error));
	struct opinion opinion;

	for (size_t m = 0; m < d->folds; m++) {
		detector_fold_errors(d, m, group->function, sums, group->n, error);
		strange[m] = isnan(error[0]) ? CALIBRATE_NOTHING
					     : calibrate_statistic(&d->calibration, m, group->function, error,
								   &k->rows.weight[group->first], group->n);
	}
	free(error);
	calibrate_compare(&d->calibration, strange, &opinion.p, &opinion.score);
	opinion.anomalous = calibrate_anomalous(&d->calibration, opinion.p);
	return opinion;
}

static struct opinion published_opinion(const struct judge *k, const struct scale_group *group)
{
	const struct detector *d = k->d;
	double share = detector_share(&k->error[group->first], &k->rows.weight[group->first], group->n, d->threshold[group->function]);
	struct opinion opinion = { .p = (double)NAN, .score = share };

	opinion.anomalous = stats_round(share) > stats_round(d->share[group->function]);
	if (d->options.single_sample) {
		opinion.anomalous = share > 0.0;
		for (size_t i = 0; i < group->n; i++)
			opinion.score = i ? fmax(opinion.score, k->error[group->first + i]) : k->error[group->first];
	}
	return opinion;
}

static void judge_group(void *context, size_t g)
{
	struct judge *k = context;
	const struct detector *d = k->d;
	const struct scale_group *group = &k->rows.groups[g];
	double *sums = mem_new(d->n_models * group->n, sizeof(*sums));
	double share = 1.0 / (double)models_that_know(d, group->function);

	for (size_t m = 0; m < d->n_models; m++) {
		if (d->models[m].scale.known[group->function])
			ask_model(k, &d->models[m], group, share, &sums[m * group->n]);
	}
	take_medians(k, group, sums);
	k->opinions[g] = d->options.threshold == DETECTOR_HELD_OUT ? held_out_opinion(k, group, sums) : published_opinion(k, group);
	free(sums);
}

/* ---- a run ---- */

/* A run is as strange as its strangest function, whichever that is to each of the folds. When it is anomalous without any function being so to
 * all of the folds that count, the function that leads to most of them is. */
struct run_opinion {
	double *strange; /* [folds] */
	double most;	 /* median over the folds, of the leader */
	struct opinion *leader;
	bool found;
};

static void add_to_run(const struct judge *k, size_t g, struct run_opinion *run)
{
	size_t folds = k->d->folds;
	const double *own = &k->strange.at[g * folds];
	double median = stats_median(own, folds);

	for (size_t m = 0; m < folds; m++)
		run->strange[m] = run->leader ? fmax(run->strange[m], own[m]) : own[m];
	run->found |= k->opinions[g].anomalous;
	if (!run->leader || median > run->most) {
		run->leader = &k->opinions[g];
		run->most = median;
	}
}

static void judge_runs(const struct judge *k, struct detection *out)
{
	const struct calibration *c = &k->d->calibration;
	struct run_opinion *runs = mem_new(k->seen->runs + 1, sizeof(*runs));
	double *strange = mem_new((k->seen->runs + 1) * c->folds, sizeof(*strange)), score;

	for (size_t r = 0; r < k->seen->runs; r++)
		runs[r].strange = &strange[r * c->folds];
	for (size_t g = 0; g < k->rows.n_groups; g++)
		add_to_run(k, g, &runs[k->rows.groups[g].run]);
	for (size_t r = 0; r < k->seen->runs; r++) {
		if (!runs[r].leader)
			continue;
		calibrate_compare(c, runs[r].strange, &out->run_p[r], &score);
		out->run_anomalous[r] = calibrate_anomalous(c, out->run_p[r]);
		if (out->run_anomalous[r] && !runs[r].found) {
			runs[r].leader->anomalous = true;
			runs[r].leader->score = score;
		}
	}
	free(runs);
	free(strange);
}

/* ---- a function ---- */

/* Would so many of n normal runs be expected? */
static bool too_many(const struct detector *d, size_t n, size_t anomalous)
{
	double chance;

	if (anomalous == 0)
		return false;
	chance = d->options.threshold == DETECTOR_HELD_OUT
		     ? calibrate_chance(d->calibration.runs, d->calibration.allowed, n, anomalous)
		     : stats_beta_inc(d->options.rate, (double)anomalous, (double)(n - anomalous + 1)); /* binomial */
	return stats_round(chance) <= stats_round(d->options.rate);
}

/* Rows [first, first + n) are the function's; anomalous [n]. */
static void find_cause(const struct judge *k, size_t function, size_t first, size_t n, const bool *anomalous,
		       struct detection_function *out)
{
	size_t p = k->rows.z.cols;
	const double *normal = &k->d->median[function * p];
	struct mat parts = { .rows = n, .cols = p, .at = &k->parts.at[first * p] };
	struct mat toward = { .rows = n, .cols = p, .at = &k->toward.at[first * p] }, values = mat_new(n, p);
	double *moved = mem_new(p, sizeof(*moved)), tolerance = k->d->options.tolerance;

	for (size_t j = 0; j < p; j++) {
		moved[j] = fmax(tolerance * fabs(normal[j]), k->d->stretch ? k->d->stretch[j] * sinh(tolerance) : 0.0);
		for (size_t i = 0; k->d->about.dropped[j] != DETECTOR_NOT_COUNTED && i < n; i++)
			mat_set(&values, i, j, mat_get(&k->seen->values, k->rows.origin[first + i], k->columns[j]));
	}
	out->n_columns = cause_columns(&parts, &toward, &values, normal, moved, anomalous, &out->columns);
	for (size_t c = 0; c < out->n_columns; c++)
		out->columns[c].column = k->columns[out->columns[c].column];
	free(moved);
	mat_release(&values);
}

/* Samples above the threshold; where a function is anomalous without any, because all have moved a little, those of its anomalous runs. */
static size_t mark_samples(const struct judge *k, const struct scale_group *groups, size_t n, double threshold, bool whole_runs,
			   bool *anomalous)
{
	size_t marked = 0, first = groups[0].first;

	for (size_t g = 0; g < n; g++) {
		for (size_t i = groups[g].first; i < groups[g].first + groups[g].n; i++) {
			anomalous[i - first] = whole_runs ? k->opinions[&groups[g] - k->rows.groups].anomalous
							  : stats_round(k->error[i]) > stats_round(threshold);
			marked += anomalous[i - first];
		}
	}
	return marked;
}

/* Median error, and the mean of what is above the threshold. */
static void sum_up_errors(const struct judge *k, size_t first, size_t n, struct detection_function *out)
{
	double above = 0.0, weight = 0.0;

	out->error = stats_median(&k->error[first], n);
	for (size_t i = first; i < first + n; i++) {
		above += k->rows.weight[i] * fmax(0.0, k->error[i] - out->error_threshold);
		weight += k->rows.weight[i];
	}
	out->excess = above / weight;
}

/* groups[n] are one function's. */
static void sum_up_function(const struct judge *k, const struct scale_group *groups, size_t n, struct detection_function *out)
{
	const struct detector *d = k->d;
	size_t function = groups[0].function, first = groups[0].first, g0 = (size_t)(groups - k->rows.groups);
	bool *anomalous;

	out->runs = n;
	out->error_threshold = d->threshold[function];
	out->threshold = d->options.threshold == DETECTOR_HELD_OUT ? calibrate_limit(&d->calibration)
			 : d->options.single_sample		   ? d->threshold[function]
								   : d->share[function];
	for (size_t g = 0; g < n; g++) {
		out->samples += groups[g].n;
		out->runs_anomalous += k->opinions[g0 + g].anomalous;
		out->score = g ? fmax(out->score, k->opinions[g0 + g].score) : k->opinions[g0].score;
	}
	out->anomalous = too_many(d, n, out->runs_anomalous);
	sum_up_errors(k, first, out->samples, out);
	anomalous = mem_new(out->samples, sizeof(*anomalous));
	out->samples_anomalous = mark_samples(k, groups, n, out->error_threshold, false, anomalous);
	if (out->samples_anomalous || (out->anomalous && mark_samples(k, groups, n, 0.0, true, anomalous)))
		find_cause(k, function, first, out->samples, anomalous, out);
	free(anomalous);
}

/* ---- all ---- */

static void sum_up(const struct judge *k, struct detection *out)
{
	size_t runs = k->seen->runs;

	for (size_t i = 0; i < k->seen->functions; i++)
		out->functions[i] = (struct detection_function){ .function = i, .known = k->functions[i] != SIZE_MAX };
	for (size_t r = 0; r < runs; r++)
		out->run_p[r] = (double)NAN;
	for (size_t i = 0; i < k->seen->values.rows; i++)
		out->errors[i] = (double)NAN;
	for (size_t i = 0; i < k->rows.z.rows; i++)
		out->errors[k->rows.origin[i]] = k->error[i];
	if (k->d->options.threshold == DETECTOR_HELD_OUT)
		judge_runs(k, out);
	for (size_t g = 0, n; g < k->rows.n_groups; g += n) {
		const struct scale_group *groups = &k->rows.groups[g];

		for (n = 0; g + n < k->rows.n_groups && groups[n].function == groups[0].function; n++)
			out->run_anomalous[groups[n].run] |= k->opinions[g + n].anomalous;
		sum_up_function(k, groups, n, &out->functions[k->back[groups[0].function]]);
	}
	for (size_t r = 0; r < runs; r++)
		out->runs_anomalous += out->run_anomalous[r];
}

enum assay_status detector_judge(const struct detector *detector, const struct observations *seen, struct detection *out,
				 struct assay_error *err)
{
	struct judge k = { .d = detector, .seen = seen };
	enum assay_status st;

	*out = (struct detection){ 0 };
	k.columns = mem_new(detector->about.columns, sizeof(*k.columns));
	k.functions = mem_new(seen->functions + 1, sizeof(*k.functions));
	k.back = mem_new(detector->about.functions + 1, sizeof(*k.back));
	st = take_rows(&k, err);
	if (st)
		goto out;
	k.error = mem_new(k.rows.z.rows + 1, sizeof(*k.error));
	k.parts = mat_new(k.rows.z.rows, k.rows.z.cols);
	k.toward = mat_new(k.rows.z.rows, k.rows.z.cols);
	k.opinions = mem_new(k.rows.n_groups + 1, sizeof(*k.opinions));
	k.strange = mat_new(k.rows.n_groups, detector->folds);
	parallel_for(k.rows.n_groups, detector->options.threads, judge_group, &k);
	*out = (struct detection){ .n = seen->functions, .runs = seen->runs, .left_out = k.rows.left_out };
	out->functions = mem_new(seen->functions + 1, sizeof(*out->functions));
	out->run_anomalous = mem_new(seen->runs + 1, sizeof(*out->run_anomalous));
	out->run_p = mem_new(seen->runs + 1, sizeof(*out->run_p));
	out->errors = mem_new(seen->values.rows + 1, sizeof(*out->errors));
	sum_up(&k, out);
out:
	judge_release(&k);
	return st;
}
