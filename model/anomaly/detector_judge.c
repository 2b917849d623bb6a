/* Judges other runs by a fitted detector: finds the anomalous runs and functions, and the columns that cause the anomalies. */
#include "model/anomaly/detector_parts.h"

#include "base/mem.h"
#include "base/stats.h"
#include "model/parallel.h"

#include <math.h>
#include <string.h>

#define PART_MIN       .01 /* a column without a vote is reported if it has at least this part of a function's errors */
#define DIFFERENCE_MIN .05 /* maximum negligible relative difference of totals */

void detection_release(struct detection *d)
{
	for (size_t f = 0; f < d->n; f++)
		mem_free(d->functions[f].columns, d->functions[f].means, d->functions[f].anomalous_in_run);
	mem_free(d->functions, d->run_anomalous, d->run_negligible, d->run_p, d->errors);
	*d = (struct detection){ 0 };
}

/* ---- means ----
 * Verdicts on a function use its means in normal and in judged runs. Runs are the independent units, so each run contributes one number:
 * the mean of all its samples, weighted by represented calls or by their work. */

/* Sums over a run, [p + 1] each: for each column, then for the number of calls. */
struct run_sums {
	double *sum, *base;
};

static void run_sums_add(const struct observations *o, const size_t *columns, size_t p, size_t row, struct run_sums *to)
{
	double weight = o->weight[row];

	for (size_t j = 0; j < p; j++) {
		double value = mat_get(&o->values, row, columns[j]),
		       base = weight * (o->work && !o->per_call[columns[j]] ? o->work[row] : 1.0);

		if (!isfinite(value) || !(base > 0.0))
			continue;
		to->sum[j] += base * value;
		to->base[j] += base;
	}
	to->sum[p] += weight;
	to->base[p] = 1.0;
}

/* Adds x to a mean (Welford, Technometrics 4(3), 1962). */
static void run_mean_add(struct run_mean *mean, double x)
{
	double from = x - mean->mean;

	mean->n += 1.0;
	mean->mean += from / mean->n;
	mean->squares += from * (x - mean->mean);
}

struct run_mean *run_means_compute(const struct observations *o, const size_t *columns, size_t p, const struct rows *rows, size_t functions)
{
	struct run_mean *means = mem_new(functions * (p + 1) + 1, sizeof(*means));
	struct run_sums sums = { mem_new(2 * (p + 1), sizeof(double)), NULL };

	sums.base = sums.sum + p + 1;
	for (size_t g = 0; g < rows->n_groups; g++) {
		const struct row_group *group = &rows->groups[g];

		memset(sums.sum, 0, 2 * (p + 1) * sizeof(double));
		for (size_t i = group->first; i < group->first + group->n; i++)
			run_sums_add(o, columns, p, rows->origin[i], &sums);
		for (size_t j = 0; j <= p; j++)
			if (sums.base[j] > 0.0)
				run_mean_add(&means[group->function * (p + 1) + j], sums.sum[j] / sums.base[j]);
	}
	free(sums.sum);
	return means;
}

/* Reports whether the means differ by more than chance: equal runs do so with at most probability `chance`. One new run suffices. */
static bool run_means_differ(const struct run_mean *normal, const struct run_mean *now, double chance)
{
	double apart = fabs(now->mean - normal->mean), error;

	if (!(normal->n > 0.0) || !(now->n > 0.0) || stats_round(apart / fmax(fabs(now->mean), fabs(normal->mean))) <= 0.0)
		return false;
	if (normal->n < 2.0)
		return true;
	error = sqrt(normal->squares / (normal->n - 1.0) * (1.0 / normal->n + 1.0 / now->n));
	return apart > stats_t_quantile(1.0 - chance / 2.0, normal->n - 1.0) * error;
}

struct detection_mean detection_compare_means(const struct run_mean *normal, const struct run_mean *now)
{
	return (struct detection_mean){ .normal = normal->n > 0.0 ? normal->mean : (double)NAN,
					.now = now->n > 0.0 ? now->mean : (double)NAN,
					.is_significant = run_means_differ(normal, now, DETECTION_CHANCE) };
}

void detection_judge_totals(const struct observations *seen, const struct run_mean *normal, const struct run_mean *now,
			    const size_t *columns, size_t p, size_t n, struct detection_function *out)
{
	size_t tests = 0;
	bool apart = false;

	for (int count = 1; count >= 0; count--)
		for (size_t j = 0; j <= p; j++) {
			bool in_all = j == p || (seen->work && (seen->per_call[columns[j]] || out->is_negligible));

			tests += count && in_all;
			if (count || !in_all)
				continue;
			apart = apart || (fabs(now[j].mean - normal[j].mean) > DIFFERENCE_MIN * fabs(normal[j].mean) &&
					  run_means_differ(&normal[j], &now[j], DETECTION_CHANCE / (double)(tests * n)));
		}
	if (!apart || (out->anomalous && !out->is_negligible))
		return;
	out->anomalous = out->is_by_total = true;
	out->is_negligible = false;
	out->runs_anomalous = out->runs;
	out->n_runs_negligible = 0;
}

/* ---- causes: the columns of a function's anomalous samples ---- */

/* Adds a vote for the leading column of a sample, which has the largest part of the error; of equal columns, the first. */
static void cause_add_vote(const double *parts, size_t p, struct detection_column *columns)
{
	size_t leading = 0;

	for (size_t j = 0; j < p; j++) {
		columns[j].part += parts[j];
		if (stats_round(parts[j]) > stats_round(parts[leading]))
			leading = j;
	}
	columns[leading].votes += 1.0;
}

/* Returns the direction of a column: that of its mean, if the mean changed by more than `moved`; otherwise that of the samples' errors. */
static int cause_direction(const struct detection_column *c, double moved, double toward)
{
	double by = c->now - c->normal;

	if (fabs(by) > moved)
		return by > 0.0 ? 1 : -1;
	return toward < 0.0 ? -1 : 1;
}

static int cause_compare(const void *a, const void *b)
{
	const struct detection_column *x = a, *y = b;
	double votes = stats_round(y->votes) - stats_round(x->votes), part = stats_round(y->part) - stats_round(x->part);

	if (votes != 0.0)
		return votes > 0.0 ? 1 : -1;
	if (part != 0.0)
		return part > 0.0 ? 1 : -1;
	return (x->column > y->column) - (x->column < y->column);
}

void detection_columns_sort(struct detection_column *columns, size_t n)
{
	qsort(columns, n, sizeof(*columns), cause_compare);
}

/* The n samples of one function. */
struct cause_samples {
	struct mat parts, toward;	    /* [n x p] parts of the samples' errors by column; signed roots of the parts */
	const struct detection_mean *means; /* [p] means of the columns */
	double *moved;			    /* [p] minimum relevant difference of the means */
	const bool *anomalous;		    /* [n] true for anomalous samples */
};

/* Finds the columns with a vote or at least 1 % of the error. *columns gets them, sorted (free() them), or NULL. Returns their number. */
static size_t cause_columns(const struct cause_samples *s, struct detection_column **columns)
{
	size_t p = s->parts.cols, samples = 0, n = 0;
	struct detection_column *all = mem_new(p, sizeof(*all));
	double total = 0.0;

	for (size_t i = 0; i < s->parts.rows; i++) {
		if (s->anomalous[i])
			cause_add_vote(&s->parts.at[i * p], p, all);
		samples += s->anomalous[i];
	}
	for (size_t j = 0; j < p; j++)
		total += all[j].part;
	for (size_t j = 0; samples && j < p; j++) {
		double side = 0.0;

		for (size_t i = 0; i < s->parts.rows; i++)
			side += s->anomalous[i] ? mat_get(&s->toward, i, j) : 0.0;
		all[j] = (struct detection_column){ .column = j,
						    .votes = all[j].votes / (double)samples,
						    .part = total > 0.0 ? all[j].part / total : 0.0,
						    .normal = s->means[j].normal,
						    .now = s->means[j].now };
		all[j].direction = cause_direction(&all[j], s->moved[j], side);
		if (all[j].votes > 0.0 || all[j].part >= PART_MIN)
			all[n++] = all[j];
	}
	if (n)
		detection_columns_sort(all, n);
	else
		free(all);
	*columns = n ? all : NULL;
	return n;
}

/* ---- rows to judge ---- */

struct judge {
	const struct detector *d;
	const struct observations *seen;
	size_t *columns;       /* [p] index in `seen` of each column of the detector */
	size_t *functions;     /* [functions of `seen`] index in the detector; SIZE_MAX if unknown */
	size_t *reverse_index; /* [functions of the detector] index in `seen` */
	struct rows rows;
	double *error;		  /* [rows] error of each row */
	struct mat parts, toward; /* [rows x p] results of models_judge() */
	struct run_score *scores; /* [groups] verdicts of the rule */
	struct run_mean *means;	  /* [functions of the detector x (p + 1)] means in the judged runs */
	double *p;		  /* [runs] as detection.run_p */
};

static void judge_release(struct judge *k)
{
	mem_free(k->columns, k->functions, k->reverse_index);
	rows_release(&k->rows);
	free(k->error);
	mat_release(&k->parts);
	mat_release(&k->toward);
	mem_free(k->scores, k->means);
}

static enum assay_status judge_check_counted(const struct judge *k, bool *used, struct assay_error *err)
{
	for (size_t j = 0; j < k->d->about.columns; j++) {
		bool counted = k->seen->values.rows == 0;

		used[j] = k->d->about.dropped[j] != DETECTOR_NOT_COUNTED;
		for (size_t i = 0; used[j] && i < k->seen->values.rows && !counted; i++)
			counted = isfinite(mat_get(&k->seen->values, i, k->columns[j]));
		if (used[j] && !counted)
			return assay_fail(err, ASSAY_E_USAGE, "'%s' was counted in the normal runs, but in no sample of the runs to judge",
					  k->d->names.columns[j]);
	}
	return ASSAY_OK;
}

static enum assay_status judge_rows(struct judge *k, struct assay_error *err)
{
	const struct detector *d = k->d;
	bool *used = mem_new(d->about.columns + 1, sizeof(*used));
	enum assay_status st = names_match(&d->names, k->seen, k->columns, k->functions, err);

	for (size_t i = 0; !st && i < k->seen->functions; i++) {
		if (k->functions[i] != SIZE_MAX && !d->known[k->functions[i]])
			k->functions[i] = SIZE_MAX;
		if (k->functions[i] != SIZE_MAX)
			k->reverse_index[k->functions[i]] = i;
	}
	if (!st)
		st = judge_check_counted(k, used, err);
	if (!st)
		rows_sort(k->seen, k->columns, d->about.columns, used, k->functions, d->stretch, &k->rows);
	free(used);
	return st;
}

/* Computes the errors of group g. Judged runs are assigned to models in turn, continuing after the normal runs. */
static void judge_errors(void *context, size_t g)
{
	struct judge *k = context;
	const struct row_group *group = &k->rows.groups[g];
	size_t p = k->rows.z.cols, model = k->d->folds ? (k->d->about.runs + group->run) % k->d->folds : 0;
	struct mat parts = { group->n, p, &k->parts.at[group->first * p] }, toward = { group->n, p, &k->toward.at[group->first * p] };

	models_judge(&k->d->models, model, group->function, &k->rows, group->first, &parts, &toward, &k->error[group->first]);
}

static void judge_run(void *context, size_t run)
{
	struct judge *k = context;

	k->d->options.rule->judge(k->d, &k->rows, k->error, run, k->scores, &k->p[run]);
}

/* ---- one function ---- */

/* Reports whether more of n runs are anomalous than `rate` explains for normal runs. */
static bool judge_is_too_many(const struct detector *d, size_t n, size_t anomalous)
{
	return anomalous > 0 && stats_round(d->options.rule->chance(d, n, anomalous)) <= stats_round(d->options.rate);
}

/* Finds the columns that cause the anomaly of a function with rows [first, first + n). anomalous [n] marks its anomalous samples. */
static void judge_cause(const struct judge *k, size_t first, size_t n, const bool *anomalous, struct detection_function *out)
{
	size_t p = k->rows.z.cols;
	double tolerance = k->d->options.tolerance;
	struct detection_mean *means = mem_new(p, sizeof(*means));
	struct cause_samples s = { .parts = { n, p, &k->parts.at[first * p] },
				   .toward = { n, p, &k->toward.at[first * p] },
				   .means = means,
				   .anomalous = anomalous };

	s.moved = mem_new(p, sizeof(*s.moved));
	for (size_t j = 0; j < p; j++) {
		means[j] = out->means[k->columns[j]];
		s.moved[j] = fmax(tolerance * fabs(means[j].normal), k->d->stretch ? k->d->stretch[j] * sinh(tolerance) : 0.0);
	}
	out->n_columns = cause_columns(&s, &out->columns);
	for (size_t c = 0; c < out->n_columns; c++)
		out->columns[c].column = k->columns[out->columns[c].column];
	mem_free(s.moved, means);
}

/* Marks samples above the threshold. With `whole_runs`, marks all samples of anomalous runs instead: for a function without samples above
 * the threshold, whose samples all differ a little. Returns the number of marked samples. */
static size_t judge_mark_samples(const struct judge *k, const struct row_group *groups, size_t n, double threshold, bool whole_runs,
				 bool *anomalous)
{
	size_t marked = 0, first = groups[0].first;

	for (size_t g = 0; g < n; g++) {
		for (size_t i = groups[g].first; i < groups[g].first + groups[g].n; i++) {
			anomalous[i - first] = whole_runs ? k->scores[&groups[g] - k->rows.groups].anomalous
							  : stats_round(k->error[i]) > stats_round(threshold);
			marked += anomalous[i - first];
		}
	}
	return marked;
}

/* Computes the median of the errors, and the mean of their excess over the threshold. */
static void judge_sum_errors(const struct judge *k, size_t first, size_t n, struct detection_function *out)
{
	double above = 0.0, weight = 0.0;

	out->error = stats_median(&k->error[first], n);
	for (size_t i = first; i < first + n; i++) {
		above += k->rows.weight[i] * fmax(0.0, k->error[i] - out->error_threshold);
		weight += k->rows.weight[i];
	}
	out->excess = above / weight;
}

/* Judges the function of groups[n]. */
static void judge_function(const struct judge *k, const struct row_group *groups, size_t n, struct detection_function *out)
{
	const struct detector *d = k->d;
	size_t function = groups[0].function, first = groups[0].first, g0 = (size_t)(groups - k->rows.groups), p = k->rows.z.cols;
	const struct run_mean *normal = &d->means[function * (p + 1)], *now = &k->means[function * (p + 1)];
	bool *anomalous;

	out->runs = n;
	out->anomalous_in_run = mem_new(k->seen->runs + 1, sizeof(*out->anomalous_in_run));
	out->error_threshold = d->threshold[function];
	for (size_t g = 0; g < n; g++) {
		const struct run_score *o = &k->scores[g0 + g];

		out->samples += groups[g].n;
		out->runs_anomalous += o->anomalous;
		out->anomalous_in_run[groups[g].run] = o->anomalous;
		out->n_runs_negligible += o->is_negligible;
		if (g && o->score - o->limit <= out->score - out->threshold)
			continue;
		out->score = o->score;
		out->threshold = o->limit;
	}
	out->means = mem_new(p + 1, sizeof(*out->means));
	for (size_t j = 0; j <= p; j++)
		out->means[j < p ? k->columns[j] : p] = detection_compare_means(&normal[j], &now[j]);
	out->anomalous = judge_is_too_many(d, n, out->runs_anomalous);
	out->is_negligible = out->anomalous && !judge_is_too_many(d, n, out->runs_anomalous - out->n_runs_negligible);
	judge_sum_errors(k, first, out->samples, out);
	anomalous = mem_new(out->samples, sizeof(*anomalous));
	out->samples_anomalous = judge_mark_samples(k, groups, n, out->error_threshold, false, anomalous);
	if (out->samples_anomalous || (out->anomalous && judge_mark_samples(k, groups, n, 0.0, true, anomalous)))
		judge_cause(k, first, out->samples, anomalous, out);
	free(anomalous);
	if (d->options.rule->holds_out)
		detection_judge_totals(k->seen, normal, now, k->columns, p, d->about.functions, out);
}

/* ---- all functions and runs ---- */

static void judge_runs(struct judge *k, struct detection *out)
{
	bool *relevant = mem_new(k->seen->runs + 1, sizeof(*relevant));

	parallel_for(k->seen->runs, k->d->options.threads, judge_run, k);
	for (size_t g = 0; g < k->rows.n_groups; g++) {
		out->run_anomalous[k->rows.groups[g].run] |= k->scores[g].anomalous;
		relevant[k->rows.groups[g].run] |= k->scores[g].anomalous && !k->scores[g].is_negligible;
	}
	for (size_t r = 0; r < k->seen->runs; r++) {
		out->run_negligible[r] = out->run_anomalous[r] && !relevant[r];
		out->runs_anomalous += out->run_anomalous[r];
		out->n_runs_negligible += out->run_negligible[r];
	}
	free(relevant);
}

/* If more runs are anomalous than chance explains, but no function is in enough of them, marks the function that is in most runs. */
static void judge_set(const struct judge *k, struct detection *out)
{
	struct detection_function *most = NULL;

	for (size_t f = 0; f < out->n; f++) {
		struct detection_function *one = &out->functions[f];

		if (one->anomalous && !one->is_negligible)
			return;
		if (one->known && one->anomalous_in_run &&
		    (!most || one->runs_anomalous - one->n_runs_negligible > most->runs_anomalous - most->n_runs_negligible))
			most = one;
	}
	if (!most || most->runs_anomalous == most->n_runs_negligible ||
	    !judge_is_too_many(k->d, out->runs, out->runs_anomalous - out->n_runs_negligible))
		return;
	most->anomalous = true;
	most->is_negligible = false;
}

static void judge_all(struct judge *k, struct detection *out)
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
		n = rows_count_groups(&k->rows, g);
		judge_function(k, &k->rows.groups[g], n, &out->functions[k->reverse_index[k->rows.groups[g].function]]);
	}
	judge_set(k, out);
}

struct detection detection_new(const struct observations *seen)
{
	return (struct detection){ .n = seen->functions,
				   .runs = seen->runs,
				   .functions = mem_new(seen->functions + 1, sizeof(struct detection_function)),
				   .run_anomalous = mem_new(seen->runs + 1, sizeof(bool)),
				   .run_negligible = mem_new(seen->runs + 1, sizeof(bool)),
				   .run_p = mem_new(seen->runs + 1, sizeof(double)),
				   .errors = mem_new(seen->values.rows + 1, sizeof(double)) };
}

enum assay_status detector_judge(const struct detector *detector, const struct observations *seen, struct detection *out,
				 struct assay_error *err)
{
	struct judge k = { .d = detector, .seen = seen };
	enum assay_status st;

	*out = (struct detection){ 0 };
	k.columns = mem_new(detector->about.columns, sizeof(*k.columns));
	k.functions = mem_new(seen->functions + 1, sizeof(*k.functions));
	k.reverse_index = mem_new(detector->about.functions + 1, sizeof(*k.reverse_index));
	st = judge_rows(&k, err);
	if (st)
		goto out;
	k.error = mem_new(k.rows.z.rows + 1, sizeof(*k.error));
	k.means = run_means_compute(seen, k.columns, k.rows.z.cols, &k.rows, detector->about.functions);
	k.parts = mat_new(k.rows.z.rows, k.rows.z.cols);
	k.toward = mat_new(k.rows.z.rows, k.rows.z.cols);
	k.scores = mem_new(k.rows.n_groups + 1, sizeof(*k.scores));
	parallel_for(k.rows.n_groups, detector->options.threads, judge_errors, &k);
	*out = detection_new(seen);
	out->n_excluded = k.rows.n_excluded;
	k.p = out->run_p;
	judge_all(&k, out);
out:
	judge_release(&k);
	return st;
}
