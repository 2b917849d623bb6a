/* What functions did in the mean, in runs of two kinds: what is said of a function rests on this. Runs are what is independent, so a run is
 * one number: the mean of all its samples, by the calls that they stand for or by the work in these. */
#include "model/anomaly/detector_parts.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <string.h>

#define LEAST_APART .05 /* relative difference of what is done in all that is negligible */

/* Sums of a run: [p + 1] each, the last are of the calls. */
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

/* Welford, Technometrics 4(3), 1962. */
static void run_mean_add(struct run_mean *mean, double x)
{
	double from = x - mean->mean;

	mean->n += 1.0;
	mean->mean += from / mean->n;
	mean->squares += from * (x - mean->mean);
}

struct run_mean *run_means_of(const struct observations *o, const size_t *columns, size_t p, const struct rows *rows, size_t functions)
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

/* Would they be so far apart by this chance at most, if all runs varied as the normal ones do? A single new run can be compared, too. */
static bool run_means_apart(const struct run_mean *normal, const struct run_mean *now, double chance)
{
	double apart = fabs(now->mean - normal->mean), error;

	if (!(normal->n > 0.0) || !(now->n > 0.0) || stats_round(apart / fmax(fabs(now->mean), fabs(normal->mean))) <= 0.0)
		return false;
	if (normal->n < 2.0)
		return true;
	error = sqrt(normal->squares / (normal->n - 1.0) * (1.0 / normal->n + 1.0 / now->n));
	return apart > stats_t_quantile(1.0 - chance / 2.0, normal->n - 1.0) * error;
}

struct detection_mean detection_mean_of(const struct run_mean *normal, const struct run_mean *now)
{
	return (struct detection_mean){ .normal = normal->n > 0.0 ? normal->mean : (double)NAN,
					.now = now->n > 0.0 ? now->mean : (double)NAN,
					.apart = run_means_apart(normal, now, DETECTION_CHANCE) };
}

void detection_judge_totals(const struct observations *seen, const struct run_mean *normal, const struct run_mean *now,
			    const size_t *columns, size_t p, size_t n, struct detection_function *out)
{
	size_t tests = 0;
	bool apart = false;

	for (int count = 1; count >= 0; count--)
		for (size_t j = 0; j <= p; j++) {
			bool in_all = j == p || (seen->work && (seen->per_call[columns[j]] || out->small));

			tests += count && in_all;
			if (count || !in_all)
				continue;
			apart = apart || (fabs(now[j].mean - normal[j].mean) > LEAST_APART * fabs(normal[j].mean) &&
					  run_means_apart(&normal[j], &now[j], DETECTION_CHANCE / (double)(tests * n)));
		}
	if (!apart || (out->anomalous && !out->small))
		return;
	out->anomalous = out->in_total = true;
	out->small = false;
	out->runs_anomalous = out->runs;
	out->runs_small = 0;
}
