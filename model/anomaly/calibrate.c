#include "model/anomaly/calibrate.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <string.h>

#define ANOMALOUS_QUANTILE .95	 /* of a function's errors: above it a sample is anomalous */
#define NOTHING		   (-12.0) /* strangeness of a function that is not there: less than any other */
#define IMMATERIAL	   (-10.0) /* above that of what does not matter */
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
	free(c->threshold);
	free(c->normal);
	*c = (struct calibration){ 0 };
}

/* ---- a function in a run ---- */

struct calibrate_summary calibrate_summary_of(const struct calibration *c, size_t function, const double *error, const double *weight,
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

static void learn_thresholds(struct calibration *c, const struct scale_group *groups, size_t n_groups, const double *error, double *work)
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
			c->threshold[function] = fmax(stats_quantile(work, n, ANOMALOUS_QUANTILE), fmax(c->options.least, CALIBRATE_THRESHOLD_LEAST));
	}
}

void calibrate_fit(const struct scale_group *groups, size_t n_groups, const double *error, const double *weight, size_t functions,
		   size_t runs, const struct calibrate_options *options, struct calibration *out)
{
	struct calibration c = { .options = *options, .functions = functions, .runs = runs, .allowed = calibrate_allowed(options->rate, runs) };
	size_t samples = n_groups ? groups[n_groups - 1].first + groups[n_groups - 1].n : 0;
	double *work = mem_new(samples + 1, sizeof(*work));

	ASSAY_BUG_IF(c.allowed == 0);
	c.threshold = mem_new(functions, sizeof(*c.threshold));
	c.normal = mem_new(functions * runs, sizeof(*c.normal));
	learn_thresholds(&c, groups, n_groups, error, work);
	for (size_t g = 0; g < n_groups; g++) {
		size_t first = groups[g].first;

		if (!isnan(error[first]))
			c.normal[groups[g].function * runs + groups[g].run] =
				calibrate_summary_of(&c, groups[g].function, &error[first], &weight[first], groups[g].n);
	}
	free(work);
	*out = c;
}

/* ---- each run against the others ---- */

/* Normal runs, and the new one as the last when there is one. */
struct crowd {
	const struct calibration *c;
	const struct calibrate_summary *seen; /* [functions], NULL: none */
	size_t runs;
	double *between; /* [functions x runs] variance between the runs other than this one */
	double *typical; /* [runs] its median over the functions */
	double *strange; /* [runs] of the run */
};

static const struct calibrate_summary *member(const struct crowd *w, size_t function, size_t run)
{
	return run < w->c->runs ? &w->c->normal[function * w->c->runs + run] : &w->seen[function];
}

/* What the runs of a function say together, so that each can be taken out. */
struct totals {
	double runs, mean, squares; /* of S: its distances from the mean, squared */
	double within, freedom;	    /* squares of samples */
	double inverse, samples;    /* sum of 1 / n; samples */
};

static struct totals totals_of(const struct crowd *w, size_t function)
{
	struct totals t = { 0 };

	for (size_t r = 0; r < w->runs; r++) {
		const struct calibrate_summary *s = member(w, function, r);

		if (!(s->samples > 0.0))
			continue;
		t.runs += 1.0;
		t.mean += s->mean;
		t.within += s->squares;
		t.freedom += s->samples - 1.0;
		t.inverse += 1.0 / s->n;
		t.samples += s->samples;
	}
	t.mean = t.runs > 0.0 ? t.mean / t.runs : 0.0;
	for (size_t r = 0; r < w->runs; r++) {
		const struct calibrate_summary *s = member(w, function, r);

		t.squares += s->samples > 0.0 ? pow(s->mean - t.mean, 2) : 0.0;
	}
	return t;
}

static struct totals without(const struct totals *all, const struct calibrate_summary *s)
{
	struct totals t = *all;

	if (!(s->samples > 0.0))
		return t;
	t.runs -= 1.0;
	t.mean = t.runs > 0.0 ? all->mean - (s->mean - all->mean) / t.runs : 0.0;
	t.squares = fmax(0.0, all->squares - (s->mean - all->mean) * (s->mean - t.mean));
	t.within = fmax(0.0, all->within - s->squares);
	t.freedom -= s->samples - 1.0;
	t.inverse -= 1.0 / s->n;
	t.samples -= s->samples;
	return t;
}

static double within_of(const struct totals *t)
{
	return t->freedom > 0.0 ? t->within / t->freedom : 0.0;
}

/* As the moments have it, without its floor. */
static double between_of(const struct totals *t)
{
	return t->runs > 1.0 ? fmax(0.0, t->squares / (t->runs - 1.0) - within_of(t) * t->inverse / t->runs) : (double)NAN;
}

/* Few runs tell little of the variance between them: functions borrow from each other (as in Smyth, Statistical Applications in Genetics and
 * Molecular Biology 3(1), 2004, with the prior's weight given). */
static void find_typical(struct crowd *w)
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

/* What does not matter is in order below what does. */
static double in_order(bool matters, double strange)
{
	double s = fmax(strange, CALIBRATE_MATTERS);

	return stats_round(matters ? s : IMMATERIAL - 1.0 / (1.0 + s - CALIBRATE_MATTERS));
}

static double strangeness(const struct crowd *w, size_t function, size_t run, const struct totals *all)
{
	const struct calibrate_summary *s = member(w, function, run);
	struct totals t = without(all, s);
	double own = fmax(t.runs - 1.0, 0.0), moments = w->between[function * w->runs + run], between, within;

	if (!(s->samples > 0.0) || !(t.runs > 0.0))
		return NOTHING;
	if (w->c->options.single_sample)
		return in_order(s->matters, s->largest + log1p(-exp(-s->largest)));
	between = ((own > 0.0 ? own * moments : 0.0) + BETWEEN_PRIOR * w->typical[run]) / (own + BETWEEN_PRIOR) + BETWEEN_LEAST;
	within = within_of(&t) + s->largest * s->largest / (t.samples + 1.0);
	return in_order(s->matters, (s->mean - t.mean) / sqrt(between + within / s->n));
}

/* strange [functions] of the last run, unless it is NULL. */
static void compare_all(struct crowd *w, double *strange)
{
	struct totals *all = mem_new(w->c->functions + 1, sizeof(*all));

	for (size_t f = 0; f < w->c->functions; f++) {
		all[f] = totals_of(w, f);
		for (size_t r = 0; r < w->runs; r++) {
			struct totals t = without(&all[f], member(w, f, r));

			w->between[f * w->runs + r] = between_of(&t);
		}
	}
	find_typical(w);
	for (size_t r = 0; r < w->runs; r++) {
		w->strange[r] = NOTHING;
		for (size_t f = 0; f < w->c->functions; f++) {
			double own = strangeness(w, f, r, &all[f]);

			w->strange[r] = fmax(w->strange[r], own);
			if (strange && r + 1 == w->runs)
				strange[f] = own;
		}
	}
	free(all);
}

static struct crowd crowd_of(const struct calibration *c, const struct calibrate_summary *seen)
{
	struct crowd w = { .c = c, .seen = seen, .runs = c->runs + (seen != NULL) };

	w.between = mem_new(c->functions * w.runs + 1, sizeof(*w.between));
	w.typical = mem_new(w.runs, sizeof(*w.typical));
	w.strange = mem_new(w.runs, sizeof(*w.strange));
	return w;
}

static void crowd_release(struct crowd *w)
{
	free(w->between);
	free(w->typical);
	free(w->strange);
}

static int compare_down(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

double calibrate_judge(const struct calibration *c, const struct calibrate_summary *seen, double *strange, double *p)
{
	struct crowd w = crowd_of(c, seen);
	double above = 0.0, limit;

	compare_all(&w, strange);
	for (size_t r = 0; r < c->runs; r++)
		above += w.strange[r] >= w.strange[c->runs];
	*p = (1.0 + above) / (1.0 + (double)c->runs);
	qsort(w.strange, c->runs, sizeof(*w.strange), compare_down);
	limit = w.strange[c->allowed - 1];
	crowd_release(&w);
	return limit;
}

double calibrate_measured(const struct calibration *c)
{
	struct crowd w = crowd_of(c, NULL);
	size_t anomalous = 0;

	compare_all(&w, NULL);
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
