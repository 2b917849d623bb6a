/* AutoPerf as published (Alam and others, NeurIPS 2019): scales normal samples to [0, 1], adds clusters while the false positive rate on
 * training data falls, and derives thresholds from training errors. Its autoencoder is in model/anomaly/autoencoder.c. */
#include "model/published/published.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>

#define CANDIDATES_MAX 8 /* maximum number of clusters that autoperf_clusters() tries */

/* ---- scaling ---- */

/* Learns one scale for all functions from samples of used runs. The center is the smallest value; the unit is the range (1 if none). */
static void range_learn(const struct rows *rows, const bool *use, double tolerance, struct scale *s)
{
	size_t p = rows->z.cols;

	(void)tolerance;
	for (size_t j = 0; j < p; j++) {
		double low = (double)INFINITY, high = -(double)INFINITY;

		for (size_t g = 0; g < rows->n_groups; g++) {
			const struct row_group *group = &rows->groups[g];

			for (size_t i = 0; use[group->run] && i < group->n; i++) {
				low = fmin(low, mat_get(&rows->z, group->first + i, j));
				high = fmax(high, mat_get(&rows->z, group->first + i, j));
				s->known[group->function] = true;
			}
		}
		for (size_t f = 0; f < s->functions; f++) {
			s->center[f * p + j] = low;
			s->unit[f * p + j] = high > low ? fmax(high - low, SCALE_UNIT_MIN) : 1.0;
			s->high[f * p + j] = high > low ? 1.0 : 0.0;
		}
	}
}

const struct detector_scaling detector_range = { .learn = range_learn };

/* ---- thresholds ---- */

/* Copies the errors of a cluster's samples into `own`. Returns the number of samples. */
static size_t cluster_errors(const struct rows *rows, const double *error, const size_t *of, size_t cluster, double *own)
{
	size_t n = 0;

	for (size_t g = 0; g < rows->n_groups; g++) {
		const struct row_group *group = &rows->groups[g];

		for (size_t i = 0; of[group->function] == cluster && i < group->n; i++)
			own[n++] = error[group->first + i];
	}
	return n;
}

/* Returns the mean plus t standard deviations of the errors; 0 if n is 0. */
static double deviation_limit(const double *error, size_t n, double t)
{
	return n ? stats_mean(error, n) + t * stats_sd(error, n) : 0.0;
}

/* Returns the share, by weight, of the samples in a group whose errors exceed the threshold. */
static double anomalous_share(const struct rows *rows, const double *error, const struct row_group *group, double threshold)
{
	double above = 0.0, sum = 0.0;

	for (size_t i = group->first; i < group->first + group->n; i++) {
		above += stats_round(error[i]) > stats_round(threshold) ? rows->weight[i] : 0.0;
		sum += rows->weight[i];
	}
	return above / sum;
}

/* Sets each function's threshold to its cluster's limit. Sets d->share to the function's largest share of anomalous samples in a run. */
static void threshold_learn(struct detector *d, const struct detector_training *t, const double *limit)
{
	bool *run = mem_new(d->about.runs, sizeof(*run));
	double anomalous = 0.0;

	for (size_t i = 0; i < d->about.functions; i++)
		d->threshold[i] = limit[d->about.cluster[i]];
	for (size_t g = 0; g < t->rows->n_groups; g++) {
		const struct row_group *group = &t->rows->groups[g];
		double share = anomalous_share(t->rows, t->error, group, d->threshold[group->function]);

		d->known[group->function] = true;
		d->share[group->function] = fmax(d->share[group->function], share);
		run[group->run] |= d->options.single_sample && share > 0.0;
	}
	for (size_t r = 0; r < d->about.runs; r++)
		anomalous += run[r];
	d->about.rate_measured = anomalous / (double)d->about.runs;
	free(run);
}

static void deviation_learn(struct detector *d, const struct detector_training *t)
{
	double *own = mem_new(t->rows->z.rows, sizeof(*own)), *limit = mem_new(d->about.clusters, sizeof(*limit));

	for (size_t c = 0; c < d->about.clusters; c++)
		limit[c] = deviation_limit(own, cluster_errors(t->rows, t->error, d->about.cluster, c, own), d->options.t);
	threshold_learn(d, t, limit);
	mem_free(own, limit);
}

/* Learns fixed thresholds. options.fixed is a root mean square error, relative to the range. */
static void fixed_learn(struct detector *d, const struct detector_training *t)
{
	double *limit = mem_new(d->about.clusters, sizeof(*limit));

	for (size_t c = 0; c < d->about.clusters; c++)
		limit[c] = d->options.fixed * d->options.fixed * (double)d->models.items[0].experts[c].n_columns;
	threshold_learn(d, t, limit);
	free(limit);
}

static void threshold_judge(const struct detector *d, const struct rows *rows, const double *error, size_t run, struct run_score *scores,
			    double *p)
{
	(void)p;
	for (size_t g = 0; g < rows->n_groups; g++) {
		const struct row_group *group = &rows->groups[g];
		struct run_score score = { .limit = d->share[group->function] };

		if (group->run != run)
			continue;
		score.score = anomalous_share(rows, error, group, d->threshold[group->function]);
		score.anomalous = stats_round(score.score) > stats_round(score.limit);
		if (d->options.single_sample) {
			score.limit = d->threshold[group->function];
			score.anomalous = score.score > 0.0;
			for (size_t i = 0; i < group->n; i++)
				score.score = i ? fmax(score.score, error[group->first + i]) : error[group->first];
		}
		scores[g] = score;
	}
}

/* Returns the binomial probability that at least `anomalous` of n runs are called anomalous, each with probability options.rate. */
static double threshold_probability(const struct detector *d, size_t n, size_t anomalous)
{
	return stats_beta_inc(d->options.rate, (double)anomalous, (double)(n - anomalous + 1));
}

const struct detector_rule detector_deviation = {
	.learn = deviation_learn,
	.judge = threshold_judge,
	.chance = threshold_probability,
};

const struct detector_rule detector_fixed = {
	.learn = fixed_learn,
	.judge = threshold_judge,
	.chance = threshold_probability,
};

/* ---- clusters ---- */

/* Returns the share of training samples whose error exceeds the mean plus t standard deviations of the errors in their cluster. */
static double training_rate(const struct clustering *c, size_t *of, size_t n)
{
	struct models models = { .n = 1, .clusters = n, .cluster = of, .functions = c->functions, .options = c->options };
	double *error = mem_new(2 * c->rows.z.rows + 2, sizeof(*error)), *own = error + c->rows.z.rows + 1, above = 0.0;
	bool *all = mem_new(c->runs, sizeof(*all));

	for (size_t r = 0; r < c->runs; r++)
		all[r] = true;
	models_fit(&c->rows, (const bool *const[]){ all }, &models);
	models_compute_errors(&models, &c->rows, NULL, error);
	for (size_t cluster = 0; cluster < n; cluster++) {
		size_t samples = cluster_errors(&c->rows, error, of, cluster, own);
		double limit = deviation_limit(own, samples, c->options->t);

		for (size_t i = 0; i < samples; i++)
			above += stats_round(own[i]) > stats_round(limit);
	}
	models_release(&models);
	mem_free(error, all);
	return above / (double)c->rows.z.rows;
}

/* Chooses clusters: increases their number while the false positive rate on training data falls. Returns the number of clusters. */
static size_t autoperf_clusters(const struct clustering *c, size_t *of)
{
	size_t *trial = mem_new(c->functions, sizeof(*trial)), n = 1;
	double before = (double)INFINITY;

	for (size_t k = 1; k <= c->functions && k <= CANDIDATES_MAX; k++) {
		double rate = training_rate(c, trial, clusters_by_kmeans(c, k, trial));

		if (stats_round(rate) >= stats_round(before))
			break;
		before = rate;
		n = clusters_by_kmeans(c, k, of);
	}
	free(trial);
	return n;
}

const struct detector_options detector_paper = {
	.scorer = &scorer_paper,
	.scaling = &detector_range,
	.rule = &detector_deviation,
	.rate = .05,
	.tolerance = .05,
	.t = 2,
	.fixed = .2,
	.single_sample = true,
	.choose_clusters = autoperf_clusters,
	.folds = 4,
	.seed = 1,
	.threads = 1,
};
