#include "model/anomaly/calibrate.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <string.h>

#define ANOMALOUS_QUANTILE .95	 /* of a function's held-out errors: above it a sample is anomalous */
#define STATISTIC_LEAST	   (-9.0)
#define BETWEEN_LEAST	   .0025 /* variance of S between runs that matters to nobody: a twentieth of its logarithm */
#define BETWEEN_PRIOR	   4.0	 /* runs that the variance of the other functions counts as */
#define ROUNDING	   1e-9	 /* as stats_round */

size_t calibrate_runs_needed(double rate)
{
	return (size_t)ceil(1.0 / rate - 1.0 - ROUNDING);
}

size_t calibrate_allowed(double rate, size_t runs)
{
	return (size_t)floor(rate * (double)(runs + 1) + ROUNDING);
}

void calibration_release(struct calibration *c)
{
	free(c->levels);
	free(c->fold);
	free(c->statistic);
	*c = (struct calibration){ 0 };
}

static struct calibrate_level *level_of(const struct calibration *c, size_t fold, size_t function)
{
	return &c->levels[fold * c->functions + function];
}

/* ---- one function in one run ---- */

struct summary {
	double share;	/* S */
	double n;	/* effective number of samples */
	double largest;
	double squares; /* of the samples' distances from S */
};

static struct summary summary_of(const double *error, const double *weight, size_t n, double threshold)
{
	double sum = 0.0, weights = 0.0, squared = 0.0;
	struct summary s = { 0 };

	for (size_t i = 0; i < n; i++) {
		sum += weight[i] * log1p(error[i] / threshold);
		weights += weight[i];
		squared += weight[i] * weight[i];
	}
	s.share = sum / weights;
	s.n = weights * weights / squared;
	for (size_t i = 0; i < n; i++) {
		double own = log1p(error[i] / threshold), d = own - s.share;

		s.squares += d * d;
		s.largest = fmax(s.largest, own);
	}
	return s;
}

double calibrate_statistic(const struct calibration *c, size_t fold, size_t function, const double *error, const double *weight,
			   size_t n)
{
	const struct calibrate_level *level = level_of(c, fold, function);
	double largest = 0.0, sum = 0.0, weights = 0.0, z;
	struct summary s;

	for (size_t i = 0; i < n; i++) {
		largest = fmax(largest, error[i]);
		sum += weight[i] * error[i];
		weights += weight[i];
	}
	if (!level->known || n == 0 || sum < weights * c->options.least || !(largest > 0.0))
		return CALIBRATE_NOTHING;
	if (c->options.single_sample)
		return stats_round(fmax(log(largest / level->threshold), STATISTIC_LEAST));
	s = summary_of(error, weight, n, level->threshold);
	z = (s.share - level->mean) / sqrt(level->between + (level->within + s.largest * s.largest / (level->samples + 1.0)) / s.n);
	return stats_round(fmax(z, STATISTIC_LEAST));
}

/* ---- what a fold learns of a function from the errors outside it ---- */

struct errors {
	const struct scale_group *groups; /* of one function */
	size_t n;
	const double *error, *weight;
	double *work; /* [samples of the function] */
};

static bool held_out(const struct calibration *c, const struct errors *e, size_t g, size_t fold)
{
	return c->fold[e->groups[g].run] != fold && !isnan(e->error[e->groups[g].first]);
}

/* Mean, within, and between as the moments have it, without its floor. Returns the number of runs. */
static double learn_moments(const struct calibration *c, const struct errors *e, size_t fold, struct calibrate_level *level)
{
	double runs = 0.0, sum = 0.0, squares = 0.0, freedom = 0.0, inverse = 0.0, spread = 0.0;

	for (size_t g = 0; g < e->n; g++) {
		size_t first = e->groups[g].first;
		struct summary s;

		if (!held_out(c, e, g, fold))
			continue;
		s = summary_of(&e->error[first], &e->weight[first], e->groups[g].n, level->threshold);
		squares += s.squares;
		freedom += (double)(e->groups[g].n - 1);
		inverse += 1.0 / s.n;
		e->work[(size_t)runs] = s.share;
		runs += 1.0;
		sum += s.share;
	}
	level->mean = sum / runs;
	level->within = freedom > 0.0 ? squares / freedom : 0.0;
	for (size_t r = 0; r < (size_t)runs; r++)
		spread += (e->work[r] - level->mean) * (e->work[r] - level->mean);
	level->between = runs > 1.0 ? fmax(0.0, spread / (runs - 1.0) - level->within * inverse / runs) : 0.0;
	return runs;
}

static double learn_level(const struct calibration *c, const struct errors *e, size_t fold, struct calibrate_level *level)
{
	size_t n = 0;

	for (size_t g = 0; g < e->n; g++) {
		if (!held_out(c, e, g, fold))
			continue;
		memcpy(&e->work[n], &e->error[e->groups[g].first], e->groups[g].n * sizeof(double));
		n += e->groups[g].n;
	}
	if (n == 0)
		return 0.0;
	level->known = true;
	level->samples = (double)n;
	level->threshold = fmax(stats_quantile(e->work, n, ANOMALOUS_QUANTILE), fmax(c->options.least, CALIBRATE_THRESHOLD_LEAST));
	return learn_moments(c, e, fold, level);
}

/* Few runs tell little of the variance between them: functions borrow from each other (as in Smyth, Statistical Applications in Genetics and
 * Molecular Biology 3(1), 2004, with the prior's weight given). */
static void borrow(struct calibration *c, size_t fold, const double *runs)
{
	double *between = mem_new(c->functions + 1, sizeof(*between)), typical;
	size_t n = 0;

	for (size_t f = 0; f < c->functions; f++) {
		if (level_of(c, fold, f)->known && runs[f] > 1.0)
			between[n++] = level_of(c, fold, f)->between;
	}
	typical = n ? stats_median(between, n) : 0.0;
	for (size_t f = 0; f < c->functions; f++) {
		struct calibrate_level *level = level_of(c, fold, f);
		double own = fmax(runs[f] - 1.0, 0.0);

		level->between = (own * level->between + BETWEEN_PRIOR * typical) / (own + BETWEEN_PRIOR) + BETWEEN_LEAST;
	}
	free(between);
}

static void learn_fold(struct calibration *c, const struct scale_group *groups, size_t n_groups, struct errors *e, size_t fold)
{
	double *runs = mem_new(c->functions + 1, sizeof(*runs));

	for (size_t g = 0; g < n_groups; g += e->n) {
		e->groups = &groups[g];
		for (e->n = 1; g + e->n < n_groups && groups[g + e->n].function == groups[g].function;)
			e->n++;
		runs[groups[g].function] = learn_level(c, e, fold, level_of(c, fold, groups[g].function));
	}
	borrow(c, fold, runs);
	free(runs);
}

void calibrate_fit(const struct scale_group *groups, size_t n_groups, const struct mat *errors, const double *weight, const size_t *fold,
		   size_t functions, size_t runs, const struct calibrate_options *options, struct calibration *out)
{
	struct calibration c = { .options = *options, .functions = functions, .folds = errors->rows, .runs = runs };
	struct errors e = { .weight = weight };
	size_t samples = errors->cols;

	c.allowed = calibrate_allowed(options->rate, runs);
	ASSAY_BUG_IF(c.allowed == 0);
	c.levels = mem_new(c.folds * functions, sizeof(*c.levels));
	c.fold = mem_new(runs, sizeof(*c.fold));
	memcpy(c.fold, fold, runs * sizeof(*fold));
	c.statistic = mem_new(runs, sizeof(*c.statistic));
	e.work = mem_new(samples + 1, sizeof(*e.work));
	for (size_t k = 0; k < c.folds; k++) {
		e.error = &errors->at[k * samples];
		learn_fold(&c, groups, n_groups, &e, k);
	}
	for (size_t r = 0; r < runs; r++)
		c.statistic[r] = CALIBRATE_NOTHING;
	for (size_t g = 0; g < n_groups; g++) {
		size_t first = groups[g].first, run = groups[g].run;
		const double *error = &errors->at[fold[run] * samples + first];

		if (!isnan(error[0]))
			c.statistic[run] = fmax(c.statistic[run], calibrate_statistic(&c, fold[run], groups[g].function, error,
										      &weight[first], groups[g].n));
	}
	free(e.work);
	*out = c;
}

/* ---- a run against the normal ones ---- */

bool calibrate_known(const struct calibration *c, size_t function)
{
	size_t folds = 0;

	for (size_t k = 0; k < c->folds; k++)
		folds += level_of(c, k, function)->known;
	return folds >= 2;
}

double calibrate_threshold(const struct calibration *c, size_t function)
{
	double *thresholds = mem_new(c->folds, sizeof(*thresholds)), median;
	size_t n = 0;

	for (size_t k = 0; k < c->folds; k++) {
		if (level_of(c, k, function)->known)
			thresholds[n++] = level_of(c, k, function)->threshold;
	}
	median = n ? stats_median(thresholds, n) : (double)NAN;
	free(thresholds);
	return median;
}

static int compare_down(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

double calibrate_limit(const struct calibration *c)
{
	double *sorted = mem_new(c->runs, sizeof(*sorted)), limit;

	memcpy(sorted, c->statistic, c->runs * sizeof(*sorted));
	qsort(sorted, c->runs, sizeof(*sorted), compare_down);
	limit = sorted[c->allowed - 1];
	free(sorted);
	return limit;
}

bool calibrate_anomalous(const struct calibration *c, double p)
{
	return p <= c->options.rate + ROUNDING;
}

void calibrate_compare(const struct calibration *c, const double *strange, double *p, double *score)
{
	double *margin = mem_new(c->runs, sizeof(*margin));
	size_t above = 0;

	for (size_t r = 0; r < c->runs; r++) {
		margin[r] = stats_round(strange[c->fold[r]] - c->statistic[r]);
		above += margin[r] <= 0.0;
	}
	qsort(margin, c->runs, sizeof(*margin), compare_down);
	*p = (1.0 + (double)above) / (1.0 + (double)c->runs);
	*score = calibrate_limit(c) + margin[c->runs - c->allowed]; /* the allowed-th smallest */
	free(margin);
}

double calibrate_measured(const struct calibration *c)
{
	size_t anomalous = 0;

	for (size_t r = 0; r < c->runs; r++) {
		size_t above = 0;

		for (size_t other = 0; other < c->runs; other++)
			above += other != r && c->statistic[other] >= c->statistic[r];
		anomalous += calibrate_anomalous(c, (1.0 + (double)above) / (double)c->runs);
	}
	return (double)anomalous / (double)c->runs;
}

static double log_choose(size_t n, size_t k)
{
	return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);
}

double calibrate_chance(size_t runs, size_t allowed, size_t n, size_t anomalous)
{
	size_t top = anomalous + allowed - 1; /* of all, in which there are fewer normal ones than allowed */
	double sum = 0.0;

	ASSAY_BUG_IF(anomalous > n || allowed < 1 || allowed > runs);
	if (anomalous == 0)
		return 1.0;
	for (size_t i = 0; i < allowed; i++) {
		if (top - i <= n && i <= runs)
			sum += exp(log_choose(runs, i) + log_choose(n, top - i) - log_choose(runs + n, top));
	}
	return stats_round(fmin(sum, 1.0));
}
