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
	free(d->run_small);
	free(d->run_p);
	free(d->errors);
	*d = (struct detection){ 0 };
}

/* What is said of a function in a run. */
struct opinion {
	double score, limit;
	bool anomalous, small;
};

struct judge {
	const struct detector *d;
	const struct observations *seen;
	size_t *columns;   /* [p] of the detector's, the place in what was seen */
	size_t *functions; /* [functions of what was seen] place in the detector, SIZE_MAX: not known */
	size_t *back;	   /* [functions of the detector] place in what was seen */
	struct rows rows;
	double *error;	   /* [rows] */
	struct mat parts, toward; /* [rows x p] */
	struct opinion *opinions; /* [groups] */
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

/* ---- errors ---- */

static void find_errors(void *context, size_t g)
{
	struct judge *k = context;
	const struct scale_group *group = &k->rows.groups[g];
	const struct model *model = &k->d->models[detector_model_of(k->d, group->run)];
	size_t p = k->rows.z.cols, n = group->n, first = group->first;
	struct mat units = mat_new(n, p), parts = { n, p, &k->parts.at[first * p] }, toward = { n, p, &k->toward.at[first * p] };

	for (size_t i = 0; i < n; i++)
		scale_row(&model->scale, group->function, &k->rows.z.at[(first + i) * p], &units.at[i * p]);
	model_parts(model, k->d->about.cluster[group->function], group->function, k->d->options.watch_constant, &units, &parts, &toward);
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < p; j++)
			k->error[first + i] += mat_get(&parts, i, j);
	}
	mat_release(&units);
}

/* ---- a run, by thresholds from runs that were held out ---- */

struct held_out {
	struct judge *k;
	struct detection *out;
};

static void judge_run(void *context, size_t run)
{
	const struct held_out *h = context;
	struct judge *k = h->k;
	const struct calibration *c = &k->d->calibration;
	struct calibrate_summary *seen = mem_new(c->functions, sizeof(*seen));
	double *strange = mem_new(c->functions, sizeof(*strange)), limit;
	size_t judged = 0;

	for (size_t g = 0; g < k->rows.n_groups; g++) {
		const struct scale_group *group = &k->rows.groups[g];

		if (group->run != run)
			continue;
		seen[group->function] = calibrate_summary_of(c, group->function, &k->error[group->first], &k->rows.weight[group->first], group->n);
		judged++;
	}
	if (judged) {
		limit = calibrate_judge(c, seen, strange, &h->out->run_p[run]);
		for (size_t g = 0; g < k->rows.n_groups; g++) {
			size_t f = k->rows.groups[g].function;

			if (k->rows.groups[g].run == run)
				k->opinions[g] = (struct opinion){ .score = strange[f], .limit = limit, .anomalous = strange[f] > limit,
								   .small = strange[f] > limit && !seen[f].matters };
		}
	}
	free(seen);
	free(strange);
}

/* ---- a function in a run, as published ---- */

static struct opinion published_opinion(const struct judge *k, const struct scale_group *group)
{
	const struct detector *d = k->d;
	double share = detector_share(&k->error[group->first], &k->rows.weight[group->first], group->n, d->threshold[group->function]);
	struct opinion opinion = { .score = share, .limit = d->share[group->function] };

	opinion.anomalous = stats_round(share) > stats_round(opinion.limit);
	if (d->options.single_sample) {
		opinion.limit = d->threshold[group->function];
		opinion.anomalous = share > 0.0;
		for (size_t i = 0; i < group->n; i++)
			opinion.score = i ? fmax(opinion.score, k->error[group->first + i]) : k->error[group->first];
	}
	return opinion;
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
	for (size_t g = 0; g < n; g++) {
		const struct opinion *o = &k->opinions[g0 + g];

		out->samples += groups[g].n;
		out->runs_anomalous += o->anomalous;
		out->runs_small += o->small;
		if (g && o->score - o->limit <= out->score - out->threshold)
			continue;
		out->score = o->score;
		out->threshold = o->limit;
	}
	out->anomalous = too_many(d, n, out->runs_anomalous);
	out->small = out->anomalous && !too_many(d, n, out->runs_anomalous - out->runs_small);
	sum_up_errors(k, first, out->samples, out);
	anomalous = mem_new(out->samples, sizeof(*anomalous));
	out->samples_anomalous = mark_samples(k, groups, n, out->error_threshold, false, anomalous);
	if (out->samples_anomalous || (out->anomalous && mark_samples(k, groups, n, 0.0, true, anomalous)))
		find_cause(k, function, first, out->samples, anomalous, out);
	free(anomalous);
}

/* ---- all ---- */

static void judge_runs(struct judge *k, struct detection *out)
{
	struct held_out h = { .k = k, .out = out };
	bool *matters = mem_new(k->seen->runs + 1, sizeof(*matters));

	if (k->d->options.threshold == DETECTOR_HELD_OUT)
		parallel_for(k->seen->runs, k->d->options.threads, judge_run, &h);
	for (size_t g = 0; g < k->rows.n_groups; g++) {
		size_t run = k->rows.groups[g].run;

		if (k->d->options.threshold != DETECTOR_HELD_OUT)
			k->opinions[g] = published_opinion(k, &k->rows.groups[g]);
		out->run_anomalous[run] |= k->opinions[g].anomalous;
		matters[run] |= k->opinions[g].anomalous && !k->opinions[g].small;
	}
	for (size_t r = 0; r < k->seen->runs; r++) {
		out->run_small[r] = out->run_anomalous[r] && !matters[r];
		out->runs_anomalous += out->run_anomalous[r];
		out->runs_small += out->run_small[r];
	}
	free(matters);
}

static void sum_up(struct judge *k, struct detection *out)
{
	for (size_t i = 0; i < k->seen->functions; i++)
		out->functions[i] = (struct detection_function){ .function = i, .known = k->functions[i] != SIZE_MAX };
	for (size_t r = 0; r < k->seen->runs; r++)
		out->run_p[r] = (double)NAN;
	for (size_t i = 0; i < k->seen->values.rows; i++)
		out->errors[i] = (double)NAN;
	for (size_t i = 0; i < k->rows.z.rows; i++)
		out->errors[k->rows.origin[i]] = k->error[i];
	judge_runs(k, out);
	for (size_t g = 0, n; g < k->rows.n_groups; g += n) {
		const struct scale_group *groups = &k->rows.groups[g];

		for (n = 0; g + n < k->rows.n_groups && groups[n].function == groups[0].function;)
			n++;
		sum_up_function(k, groups, n, &out->functions[k->back[groups[0].function]]);
	}
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
	parallel_for(k.rows.n_groups, detector->options.threads, find_errors, &k);
	*out = (struct detection){ .n = seen->functions, .runs = seen->runs, .left_out = k.rows.left_out };
	out->functions = mem_new(seen->functions + 1, sizeof(*out->functions));
	out->run_anomalous = mem_new(seen->runs + 1, sizeof(*out->run_anomalous));
	out->run_small = mem_new(seen->runs + 1, sizeof(*out->run_small));
	out->run_p = mem_new(seen->runs + 1, sizeof(*out->run_p));
	out->errors = mem_new(seen->values.rows + 1, sizeof(*out->errors));
	sum_up(&k, out);
out:
	judge_release(&k);
	return st;
}
