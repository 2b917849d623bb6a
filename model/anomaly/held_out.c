/* The default rule. Derives anomalous runs from errors of samples; calls a normal run anomalous with the requested probability.
 *
 * Source: conformal prediction (Vovk, Gammerman, Shafer, "Algorithmic Learning in a Random World", 2005). A new run joins the normal runs,
 * and each of these runs is compared with all others. p is the share of runs that are at least as strange as the new one. If the new run is
 * normal, each run has the same probability of being the strangest. So p <= rate has exactly the probability `rate` if there are no ties,
 * for any distribution. This requires that the new run is treated like the others. Errors come from models that have not learned the run
 * (the caller's folds), and a normal run is compared with the new one, too. Without this comparison, only 0.42 instead of 0.52 of runs that
 * are 2 standard deviations off are found (19 runs; tests/test_calibrate.c).
 *
 * The strangeness of a run is the maximum over its functions of
 *
 *   (S - mean) / sqrt(between + (within + largest^2 / (samples + 1)) / n),   S = sum of weight * s / sum of weight,
 *   s = log(1 + error / threshold)
 *
 * The threshold is a quantile of the function's errors. mean, between and within (variances between runs, and between samples of one run)
 * are of the other runs' `samples`. n is the effective number of samples, `largest` the largest s of the run. By Laplace's rule of
 * succession, an event not seen in `samples` samples may still occur in one of (samples + 1). S is a continuous form of the share of
 * anomalous samples: a sample counts almost nothing far below the threshold, and the logarithm of its error far above it. Runs with a
 * relevant difference (a mean error of `least` or more) are stranger than all others. This changes the order, not the rate. */
#include "model/anomaly/detector_parts.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/stats.h"

#include <math.h>
#include <string.h>

#define ANOMALOUS_QUANTILE  .95	    /* quantile of a function's errors; a sample above it is anomalous */
#define STRANGENESS_ABSENT  (-12.0) /* strangeness of an absent function, below any other */
#define NEGLIGIBLE	    (-10.0) /* upper limit of strangeness for negligible differences */
#define RELEVANT	    (-9.0)  /* lower limit of strangeness for relevant differences */
#define BETWEEN_MIN	    .0025   /* negligible variance of S between runs: a standard deviation of a twentieth */
#define VARIANCE_PRIOR_RUNS 4.0	    /* weight of the variance of the other functions, in runs */
#define THRESHOLD_MIN	    1e-30   /* lower limit of a sample's threshold; smaller errors are rounding errors, and ratios stay finite */

struct calibrate_options {
	double rate;	    /* maximum share of normal runs that are called anomalous */
	double least;	    /* a run with a smaller mean error differs negligibly; a sample with a smaller error is not anomalous */
	bool single_sample; /* S is the logarithm of the largest error / threshold, and is compared directly */
};

/* Summary of one function in one run. */
struct calibrate_summary {
	double samples; /* number of samples; 0 if the run lacks the function */
	double mean;	/* S of the run (see the top of the file) */
	double n;	/* effective number of samples */
	double largest; /* largest s of the samples */
	double squares; /* sum of squared distances of s from S, over the samples */
	bool matters;
};

struct calibration {
	struct calibrate_options options;
	size_t functions, runs;
	double *threshold;		  /* [functions] error above which a sample is anomalous; NaN if no run has the function */
	struct calibrate_summary *normal; /* [functions x runs] summaries of the normal runs */
	size_t allowed;			  /* >= 1; a run is anomalous if fewer normal runs than this number are as strange */
};

/* Subtracts 1e-9, the precision of stats_round(), so that rounding errors do not add a run. */
size_t detector_runs_needed(double rate)
{
	return (size_t)ceil(1.0 / rate - 1.0 - 1e-9);
}

/* Returns a limit: a run is anomalous if fewer normal runs are as strange. It is rate * (runs + 1), rounded down; 0 with too few runs. */
static size_t calibrate_allowed(double rate, size_t runs)
{
	return (size_t)floor(rate * (double)(runs + 1) + 1e-9);
}

static void calibration_release(struct calibration *c)
{
	mem_free(c->threshold, c->normal);
}

/* ---- one function in one run ---- */

/* Summarizes the n samples of a known function in one run. */
static struct calibrate_summary calibrate_summarise(const struct calibration *c, size_t function, const double *error, const double *weight,
						    size_t n)
{
	double threshold = c->threshold[function], sum = 0.0, errors = 0.0, weights = 0.0, squared = 0.0, largest = 0.0;
	struct calibrate_summary s = { .samples = (double)n };

	for (size_t i = 0; i < n; i++) {
		sum += weight[i] * log1p(error[i] / threshold);
		errors += weight[i] * error[i];
		weights += weight[i];
		squared += weight[i] * weight[i];
		largest = fmax(largest, error[i]);
	}
	s.mean = sum / weights;
	s.n = weights * weights / squared;
	s.largest = log1p(largest / threshold);
	s.matters = errors >= weights * c->options.least && largest > 0.0;
	for (size_t i = 0; i < n; i++)
		s.squares += pow(log1p(error[i] / threshold) - s.mean, 2);
	return s;
}

static void calibrate_thresholds(struct calibration *c, const struct row_group *groups, size_t n_groups, const double *error, double *work)
{
	for (size_t f = 0; f < c->functions; f++)
		c->threshold[f] = (double)NAN;
	for (size_t g = 0; g < n_groups;) {
		size_t function = groups[g].function, n = 0;

		for (; g < n_groups && groups[g].function == function; g++) {
			if (isnan(error[groups[g].first]))
				continue;
			memcpy(&work[n], &error[groups[g].first], groups[g].n * sizeof(*work));
			n += groups[g].n;
		}
		if (n)
			c->threshold[function] = fmax(stats_quantile(work, n, ANOMALOUS_QUANTILE), fmax(c->options.least, THRESHOLD_MIN));
	}
}

/* Fits the calibration. error [rows] is by a model that did not learn the run; NaN for an unknown function. O(rows log rows). */
static void calibrate_fit(const struct rows *rows, const double *error, size_t functions, size_t runs,
			  const struct calibrate_options *options, struct calibration *out)
{
	struct calibration c = {
		.options = *options, .functions = functions, .runs = runs, .allowed = calibrate_allowed(options->rate, runs)
	};
	const struct row_group *groups = rows->groups;
	size_t n_groups = rows->n_groups, samples = n_groups ? groups[n_groups - 1].first + groups[n_groups - 1].n : 0;
	double *work = mem_new(samples + 1, sizeof(*work));

	ASSAY_BUG_IF(c.allowed == 0);
	c.threshold = mem_new(functions, sizeof(*c.threshold));
	c.normal = mem_new(functions * runs, sizeof(*c.normal));
	calibrate_thresholds(&c, groups, n_groups, error, work);
	for (size_t g = 0; g < n_groups; g++) {
		size_t first = groups[g].first;

		if (!isnan(error[first]))
			c.normal[groups[g].function * runs + groups[g].run] =
			    calibrate_summarise(&c, groups[g].function, &error[first], &rows->weight[first], groups[g].n);
	}
	free(work);
	*out = c;
}

/* ---- comparison of runs ---- */

/* The runs to compare: the normal runs, then the new run if there is one. */
struct normal_runs {
	const struct calibration *c;
	const struct calibrate_summary *seen; /* [functions] summaries of the new run; NULL without a new run */
	size_t runs;
	double *between; /* [functions x runs] variance of the runs' means S, without this run */
	double *typical; /* [runs] median over functions of `between` */
	double *strange; /* [runs] strangeness of each run */
};

static const struct calibrate_summary *crowd_function_summary(const struct normal_runs *w, size_t function, size_t run)
{
	return run < w->c->runs ? &w->c->normal[function * w->c->runs + run] : &w->seen[function];
}

/* Sums over the runs of a function. totals_excluding() removes one run from these sums. */
struct totals {
	double runs, mean, squares;	   /* number of runs; mean of S over runs; sum of squared distances of S from this mean */
	double within, degrees_of_freedom; /* sum of squares of the samples within runs; degrees of freedom of this sum */
	double inverse, samples;	   /* sum of 1 / n; number of samples */
};

static struct totals totals_compute(const struct normal_runs *w, size_t function)
{
	struct totals t = { 0 };

	for (size_t r = 0; r < w->runs; r++) {
		const struct calibrate_summary *s = crowd_function_summary(w, function, r);

		if (!(s->samples > 0.0))
			continue;
		t.runs += 1.0;
		t.mean += s->mean;
		t.within += s->squares;
		t.degrees_of_freedom += s->samples - 1.0;
		t.inverse += 1.0 / s->n;
		t.samples += s->samples;
	}
	t.mean = t.runs > 0.0 ? t.mean / t.runs : 0.0;
	for (size_t r = 0; r < w->runs; r++) {
		const struct calibrate_summary *s = crowd_function_summary(w, function, r);

		t.squares += s->samples > 0.0 ? pow(s->mean - t.mean, 2) : 0.0;
	}
	return t;
}

static struct totals totals_excluding(const struct totals *all, const struct calibrate_summary *s)
{
	struct totals t = *all;

	if (!(s->samples > 0.0))
		return t;
	t.runs -= 1.0;
	t.mean = t.runs > 0.0 ? all->mean - (s->mean - all->mean) / t.runs : 0.0;
	t.squares = fmax(0.0, all->squares - (s->mean - all->mean) * (s->mean - t.mean));
	t.within = fmax(0.0, all->within - s->squares);
	t.degrees_of_freedom -= s->samples - 1.0;
	t.inverse -= 1.0 / s->n;
	t.samples -= s->samples;
	return t;
}

static double within_variance(const struct totals *t)
{
	return t->degrees_of_freedom > 0.0 ? t->within / t->degrees_of_freedom : 0.0;
}

/* Returns the method-of-moments estimate of the variance between runs, without a lower limit; NaN for a single run. */
static double between_variance(const struct totals *t)
{
	return t->runs > 1.0 ? fmax(0.0, t->squares / (t->runs - 1.0) - within_variance(t) * t->inverse / t->runs) : (double)NAN;
}

/* Computes the typical variance over functions. Few runs give poor estimates of the variance between them, so functions share information
 * (as in Smyth, Statistical Applications in Genetics and Molecular Biology 3(1), 2004, with a given prior weight). */
static void crowd_find_typical(struct normal_runs *w)
{
	size_t functions = w->c->functions;
	double *known = mem_new(functions + 1, sizeof(*known));

	for (size_t r = 0; r < w->runs; r++) {
		size_t n = 0;

		for (size_t f = 0; f < functions; f++) {
			if (!isnan(w->between[f * w->runs + r]))
				known[n++] = w->between[f * w->runs + r];
		}
		w->typical[r] = n ? stats_median(known, n) : 0.0;
	}
	free(known);
}

/* Returns a strangeness that ranks all negligible differences below all relevant ones. */
static double order_strangeness(bool matters, double strange)
{
	double s = fmax(strange, RELEVANT);

	return stats_round(matters ? s : NEGLIGIBLE - 1.0 / (1.0 + s - RELEVANT));
}

static double crowd_held_out_strangeness(const struct normal_runs *w, size_t function, size_t run, const struct totals *all)
{
	const struct calibrate_summary *s = crowd_function_summary(w, function, run);
	struct totals t = totals_excluding(all, s);
	double own = fmax(t.runs - 1.0, 0.0), moments = w->between[function * w->runs + run], between, within;

	if (!(s->samples > 0.0) || !(t.runs > 0.0))
		return STRANGENESS_ABSENT;
	if (w->c->options.single_sample)
		return order_strangeness(s->matters, s->largest + log1p(-exp(-s->largest)));
	between = ((own > 0.0 ? own * moments : 0.0) + VARIANCE_PRIOR_RUNS * w->typical[run]) / (own + VARIANCE_PRIOR_RUNS) + BETWEEN_MIN;
	/* One sample may be far off by chance. This is less likely if each run has only one sample, which represents the whole run. */
	within = within_variance(&t) + s->largest * s->largest / (t.samples + 1.0) / (t.degrees_of_freedom + s->samples > 1.0 ? 1.0 : 4.0);
	return order_strangeness(s->matters, (s->mean - t.mean) / sqrt(between + within / s->n));
}

/* Compares each run with the others. strange [functions] gets the strangeness of each function in the last run; may be NULL. */
static void crowd_compare(struct normal_runs *w, double *strange)
{
	struct totals *all = mem_new(w->c->functions + 1, sizeof(*all));

	for (size_t f = 0; f < w->c->functions; f++) {
		all[f] = totals_compute(w, f);
		for (size_t r = 0; r < w->runs; r++) {
			struct totals t = totals_excluding(&all[f], crowd_function_summary(w, f, r));

			w->between[f * w->runs + r] = between_variance(&t);
		}
	}
	crowd_find_typical(w);
	for (size_t r = 0; r < w->runs; r++) {
		w->strange[r] = STRANGENESS_ABSENT;
		for (size_t f = 0; f < w->c->functions; f++) {
			double own = crowd_held_out_strangeness(w, f, r, &all[f]);

			w->strange[r] = fmax(w->strange[r], own);
			if (strange && r + 1 == w->runs)
				strange[f] = own;
		}
	}
	free(all);
}

static struct normal_runs crowd_build(const struct calibration *c, const struct calibrate_summary *seen)
{
	struct normal_runs w = { .c = c, .seen = seen, .runs = c->runs + (seen != NULL) };

	w.between = mem_new(c->functions * w.runs + 1, sizeof(*w.between));
	w.typical = mem_new(w.runs, sizeof(*w.typical));
	w.strange = mem_new(w.runs, sizeof(*w.strange));
	return w;
}

static void crowd_release(struct normal_runs *w)
{
	mem_free(w->between, w->typical, w->strange);
}

ORDER_BY(compare_down, double, BY_VALUE_DESC)

/* Judges a new run, seen [functions]. strange [functions] gets each function's strangeness; *p gets (1 + normal runs at least as strange) /
 * (1 + normal runs). Returns the limit above which a function is anomalous; one is anomalous if p <= rate. O(functions * runs). */
static double calibrate_judge(const struct calibration *c, const struct calibrate_summary *seen, double *strange, double *p)
{
	struct normal_runs w = crowd_build(c, seen);
	double above = 0.0, limit;

	crowd_compare(&w, strange);
	for (size_t r = 0; r < c->runs; r++)
		above += w.strange[r] >= w.strange[c->runs];
	*p = (1.0 + above) / (1.0 + (double)c->runs);
	qsort(w.strange, c->runs, sizeof(*w.strange), compare_down);
	limit = w.strange[c->allowed - 1];
	crowd_release(&w);
	return limit;
}

/* Returns the share of normal runs that are anomalous if each is compared with the others. */
static double calibrate_measured(const struct calibration *c)
{
	struct normal_runs w = crowd_build(c, NULL);
	size_t anomalous = 0;

	crowd_compare(&w, NULL);
	for (size_t r = 0; r < c->runs; r++) {
		size_t above = 0;

		for (size_t other = 0; other < c->runs; other++)
			above += other != r && w.strange[other] >= w.strange[r];
		anomalous += above < calibrate_allowed(c->options.rate, c->runs - 1);
	}
	crowd_release(&w);
	return (double)anomalous / (double)c->runs;
}

static double log_choose(size_t n, size_t k)
{
	return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);
}

/* Returns the probability that at least `anomalous` of n further normal runs are stranger than all but allowed - 1 of `runs` normal runs.
 * It is negative hypergeometric, not binomial, because the runs share this limit. For one run, it is allowed / (runs + 1). */
static double calibrate_chance(size_t runs, size_t allowed, size_t n, size_t anomalous)
{
	size_t top = anomalous + allowed - 1; /* number of strangest runs, of which fewer than `allowed` are earlier runs */
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

/* ---- the rule ---- */

static struct calibrate_options held_out_options(const struct detector_options *o)
{
	return (struct calibrate_options){ .rate = o->rate, .least = detector_negligible_error(o), .single_sample = o->single_sample };
}

static void held_out_learn(struct detector *d, const struct detector_training *t)
{
	struct calibrate_options options = held_out_options(&d->options);

	d->calibration = mem_new(1, sizeof(*d->calibration));
	calibrate_fit(t->rows, t->error, d->about.functions, d->about.runs, &options, d->calibration);
	for (size_t i = 0; i < d->about.functions; i++) {
		d->known[i] = true;
		for (size_t m = 0; m < d->models.n; m++) /* true if runs of two folds have the function */
			d->known[i] = d->known[i] && d->models.items[m].scale.known[i];
		d->threshold[i] = d->known[i] ? d->calibration->threshold[i] : 0.0;
	}
	d->about.rate_measured = calibrate_measured(d->calibration);
}

static void held_out_judge(const struct detector *d, const struct rows *rows, const double *error, size_t run, struct run_score *scores,
			   double *p)
{
	const struct calibration *c = d->calibration;
	struct calibrate_summary *seen = mem_new(c->functions, sizeof(*seen));
	double *strange = mem_new(c->functions, sizeof(*strange)), limit = 0.0;
	bool any = false;

	for (size_t g = 0; g < rows->n_groups; g++) {
		const struct row_group *group = &rows->groups[g];

		if (group->run != run)
			continue;
		seen[group->function] =
		    calibrate_summarise(c, group->function, &error[group->first], &rows->weight[group->first], group->n);
		any = true;
	}
	if (any)
		limit = calibrate_judge(c, seen, strange, p);
	for (size_t g = 0; g < rows->n_groups; g++) {
		size_t f = rows->groups[g].function;

		if (rows->groups[g].run == run)
			scores[g] = (struct run_score){ .score = strange[f],
							.limit = limit,
							.anomalous = strange[f] > limit,
							.is_negligible = strange[f] > limit && !seen[f].matters };
	}
	mem_free(seen, strange);
}

static double held_out_probability(const struct detector *d, size_t n, size_t anomalous)
{
	return calibrate_chance(d->calibration->runs, d->calibration->allowed, n, anomalous);
}

static void held_out_free(struct detector *d)
{
	if (d->calibration)
		calibration_release(d->calibration);
	free(d->calibration);
}

const struct detector_rule detector_held_out = {
	.holds_out = true,
	.learn = held_out_learn,
	.judge = held_out_judge,
	.chance = held_out_probability,
	.free = held_out_free,
};
