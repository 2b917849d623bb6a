/* What a detector learns from the errors of normal runs. */
#include "base/mem.h"
#include "base/stats.h"
#include "model/anomaly/detector_internal.h"
#include "model/anomaly/termination.h"

#include <math.h>

/* ---- published thresholds ---- */

static double deviation_threshold(const struct detector *d, const struct training *t, size_t cluster, double *work)
{
	size_t n = 0;

	for (size_t g = 0; g < t->rows->n_groups; g++) {
		const struct scale_group *group = &t->rows->groups[g];

		for (size_t i = 0; d->about.cluster[group->function] == cluster && i < group->n; i++)
			work[n++] = t->error[group->first + i];
	}
	return n ? stats_mean(work, n) + d->options.t * stats_sd(work, n) : 0.0;
}

/* Thresholds of samples by cluster, and the largest share of anomalous samples that a normal run of the function had. */
static void publish(struct detector *d, const struct training *t)
{
	double *work = mem_new(t->rows->z.rows, sizeof(*work)), anomalous = 0.0;
	bool *run = mem_new(d->about.runs, sizeof(*run));

	for (size_t c = 0; c < d->about.clusters; c++) {
		double columns = (double)d->models[0].experts[c].n_columns;
		double limit = d->options.threshold == DETECTOR_FIXED ? d->options.fixed * d->options.fixed * columns
								      : deviation_threshold(d, t, c, work);

		for (size_t i = 0; i < d->about.functions; i++)
			d->threshold[i] = d->about.cluster[i] == c ? limit : d->threshold[i];
	}
	for (size_t g = 0; g < t->rows->n_groups; g++) {
		const struct scale_group *group = &t->rows->groups[g];
		double share = detector_share(&t->error[group->first], &t->rows->weight[group->first], group->n, d->threshold[group->function]);

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

/* That is, in runs of two folds. */
static bool is_known_to_all(const struct detector *d, size_t function)
{
	for (size_t m = 0; m < d->n_models; m++) {
		if (!d->models[m].scale.known[function])
			return false;
	}
	return true;
}

static void calibrate(struct detector *d, const struct training *t)
{
	struct calibrate_options options = detector_calibrate_options(&d->options);

	calibrate_fit(t->rows->groups, t->rows->n_groups, t->error, t->rows->weight, d->about.functions, d->about.runs, &options,
		      &d->calibration);
	for (size_t i = 0; i < d->about.functions; i++) {
		d->known[i] = is_known_to_all(d, i);
		d->threshold[i] = d->known[i] ? d->calibration.threshold[i] : 0.0;
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
static void summarise(struct detector *d, const struct training *t, const struct scale_group *groups, size_t n, double *work)
{
	size_t function = groups[0].function, first = groups[0].first, kept = 0, total = 0, p = d->about.columns;

	for (size_t g = 0; g < n; g++)
		total += groups[g].n;
	for (size_t j = 0; j < p; j++) {
		for (size_t i = 0; i < total; i++)
			work[i] = mat_get(&t->normal->values, t->rows->origin[first + i], t->columns[j]);
		if (d->about.dropped[j] != DETECTOR_NOT_COUNTED)
			d->median[function * p + j] = stats_median(work, total);
	}
	for (size_t i = 0; i < total; i++) {
		if (!isnan(t->error[first + i]))
			work[kept++] = t->error[first + i];
	}
	if (kept)
		qsort(work, kept, sizeof(*work), compare_numbers);
	d->n_errors[function] = kept < DETECTOR_ERRORS_KEPT ? kept : DETECTOR_ERRORS_KEPT;
	d->errors[function] = mem_new(d->n_errors[function], sizeof(double));
	for (size_t i = 0; i < d->n_errors[function]; i++) /* all of few, else evenly spaced ones */
		d->errors[function][i] = work[kept == d->n_errors[function] ? i : i * (kept - 1) / (DETECTOR_ERRORS_KEPT - 1)];
}

/* Mean error of each run's samples, in the order of the runs. */
static void terminate(struct detector *d, const struct training *t)
{
	size_t runs = d->about.runs;
	double *sum = mem_new(2 * runs, sizeof(*sum)), *weight = sum + runs;
	struct termination_options options = termination_defaults;
	struct termination end;

	for (size_t g = 0; g < t->rows->n_groups; g++) {
		const struct scale_group *group = &t->rows->groups[g];

		for (size_t i = 0; !isnan(t->error[group->first]) && i < group->n; i++) {
			sum[group->run] += t->rows->weight[group->first + i] * t->error[group->first + i];
			weight[group->run] += t->rows->weight[group->first + i];
		}
	}
	for (size_t r = 0; r < runs; r++)
		sum[r] = weight[r] > 0.0 ? sum[r] / weight[r] : 0.0;
	options.least = detector_calibrate_options(&d->options).least;
	termination_of(sum, runs, &options, &end);
	d->about.sufficient = end.sufficient;
	d->about.runs_chosen = end.chosen;
	d->about.runs_more = end.runs_more;
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

void detector_learn(struct detector *d, const struct training *t)
{
	double *work = mem_new(t->rows->z.rows, sizeof(*work));
	size_t functions = d->about.functions;

	d->known = mem_new(functions, sizeof(*d->known));
	d->threshold = mem_new(functions, sizeof(*d->threshold));
	d->share = mem_new(functions, sizeof(*d->share));
	d->median = mem_new(functions * d->about.columns, sizeof(*d->median));
	d->errors = mem_new(functions, sizeof(*d->errors));
	d->n_errors = mem_new(functions, sizeof(*d->n_errors));
	if (d->options.threshold == DETECTOR_HELD_OUT)
		calibrate(d, t);
	else
		publish(d, t);
	for (size_t g = 0, n; g < t->rows->n_groups; g += n) {
		for (n = 1; g + n < t->rows->n_groups && t->rows->groups[g + n].function == t->rows->groups[g].function;)
			n++;
		summarise(d, t, &t->rows->groups[g], n, work);
	}
	terminate(d, t);
	describe(d);
	free(work);
}
