#include "tests/bench/evaluate.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/rng.h"
#include "base/stats.h"

#include <math.h>

#define TAIL .025 /* probability of each tail outside a 95 % interval */

/* ---- the binomial distribution ---- */

/* Returns x with I_x(a, b) = p, by bisection; speed does not matter for about ten calls. */
static double beta_quantile(double p, double a, double b)
{
	double low = 0, high = 1;

	for (int i = 0; i < 200 && high - low > 1e-15; i++) {
		double middle = (low + high) / 2;

		if (stats_beta_inc(middle, a, b) < p)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

/* Returns Clopper and Pearson's 95 % limits (Biometrika 26(4), 1934) for k of n; n > 0. */
static double exact_low(double k, double n)
{
	ASSAY_BUG_IF(!(n > 0) || !(k >= 0 && k <= n));
	return k > 0 ? beta_quantile(TAIL, k, n - k + 1) : 0;
}

static double exact_high(double k, double n)
{
	ASSAY_BUG_IF(!(n > 0) || !(k >= 0 && k <= n));
	return k < n ? beta_quantile(1 - TAIL, k + 1, n - k) : 1;
}

/* ---- resampling of clusters ---- */

/* Draws n clusters with replacement. weight[c]: how often cluster c was drawn. */
static void draw(struct rng *rng, double *weight, size_t n)
{
	for (size_t i = 0; i < n; i++)
		weight[i] = 0;
	for (size_t i = 0; i < n; i++)
		weight[rng_below(rng, n)]++;
}

static void percentiles(const double *values, size_t n, double *low, double *high)
{
	*low = stats_quantile(values, n, TAIL);
	*high = stats_quantile(values, n, 1 - TAIL);
}

/* Counts the pairs and the flagged pairs per cluster. Removes clusters without pairs from both arrays; returns how many remain. */
static size_t count_clusters(const struct evaluate_sample *s, const bool *counts, const bool *flagged, double *pairs, double *hits)
{
	size_t present = 0;

	for (size_t i = 0; i < s->n; i++) {
		ASSAY_BUG_IF(s->cluster[i] >= s->n_clusters);
		pairs[s->cluster[i]] += counts[i];
		hits[s->cluster[i]] += counts[i] && flagged[i];
	}
	for (size_t c = 0; c < s->n_clusters; c++) {
		if (pairs[c] > 0) {
			pairs[present] = pairs[c];
			hits[present++] = hits[c];
		}
	}
	return present;
}

static void resample_rate(const struct evaluate_sample *s, const double *pairs, const double *hits, struct evaluate_rate *r)
{
	double *weight = mem_new(r->clusters, sizeof(double)), *rates = mem_new(s->resamples, sizeof(double));
	struct rng rng;

	rng_seed(&rng, s->seed);
	for (size_t i = 0; i < s->resamples; i++) {
		double n = 0, k = 0;

		draw(&rng, weight, r->clusters);
		for (size_t c = 0; c < r->clusters; c++) {
			n += weight[c] * pairs[c];
			k += weight[c] * hits[c];
		}
		rates[i] = k / n;
	}
	percentiles(rates, s->resamples, &r->low, &r->high);
	/* Dependence cannot make the interval shorter; only chance in few clusters can. */
	r->low = fmin(r->low, r->independent_low);
	r->high = fmax(r->high, r->independent_high);
	mem_free(weight, rates);
}

struct evaluate_rate evaluate_rate_of(const struct evaluate_sample *s, const bool *counts, const bool *flagged)
{
	double *pairs = mem_new(s->n_clusters, sizeof(double)), *hits = mem_new(s->n_clusters, sizeof(double));
	struct evaluate_rate r = { .clusters = count_clusters(s, counts, flagged, pairs, hits) };

	for (size_t c = 0; c < r.clusters; c++) {
		r.n += (size_t)pairs[c];
		r.flagged += (size_t)hits[c];
	}
	r.rate = r.low = r.high = r.independent_low = r.independent_high = nan("");
	if (r.n) {
		r.rate = (double)r.flagged / (double)r.n;
		r.independent_low = exact_low((double)r.flagged, (double)r.n);
		r.independent_high = exact_high((double)r.flagged, (double)r.n);
		/* If none or all are flagged, all resamples are equal. One trial per cluster is valid for any dependence. */
		if (r.flagged == 0 || r.flagged == r.n) {
			r.low = exact_low(r.rate * (double)r.clusters, (double)r.clusters);
			r.high = exact_high(r.rate * (double)r.clusters, (double)r.clusters);
		} else {
			resample_rate(s, pairs, hits, &r);
		}
	}
	mem_free(pairs, hits);
	return r;
}

/* ---- area under the curve ---- */

struct scored {
	double score;
	size_t cluster;
	bool changed;
};

ORDER_BY(compare_scores, struct scored, BY_ASC(score))

/* Returns the area with weight[c] for cluster c; NaN without a changed or an unchanged pair. `items` are sorted by score. */
static double weighted_area(const struct scored *items, size_t n, const double *weight)
{
	double below = 0, changed = 0, wins = 0;

	for (size_t i = 0; i < n;) {
		double tied[2] = { 0 };
		size_t first = i;

		for (; i < n && !(items[i].score > items[first].score); i++)
			tied[items[i].changed] += weight[items[i].cluster];
		wins += tied[1] * (below + tied[0] / 2);
		below += tied[0];
		changed += tied[1];
	}
	return changed > 0 && below > 0 ? wins / (changed * below) : (double)NAN;
}

/* Returns the number of clusters that have a pair with changed == kind. */
static size_t clusters_with(const struct evaluate_sample *s, const bool *changed, bool kind)
{
	bool *seen = mem_new(s->n_clusters, sizeof(bool));
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		n += changed[i] == kind && !seen[s->cluster[i]];
		seen[s->cluster[i]] = seen[s->cluster[i]] || changed[i] == kind;
	}
	free(seen);
	return n;
}

static void resample_area(const struct evaluate_sample *s, const struct scored *items, double *weight, struct evaluate_area *a)
{
	double *areas = mem_new(s->resamples, sizeof(double));
	struct rng rng;
	size_t n = 0;

	rng_seed(&rng, s->seed);
	for (size_t i = 0; i < s->resamples; i++) {
		draw(&rng, weight, s->n_clusters);
		areas[n] = weighted_area(items, s->n, weight);
		n += isnan(areas[n]) ? 0 : 1; /* a draw without both kinds has no area */
	}
	if (n)
		percentiles(areas, n, &a->low, &a->high);
	free(areas);
}

struct evaluate_area evaluate_area_of(const struct evaluate_sample *s, const bool *changed, const double *score)
{
	struct scored *items = mem_new(s->n, sizeof(*items));
	double *weight = mem_new(s->n_clusters, sizeof(double));
	struct evaluate_area a = { nan(""), nan(""), nan("") };

	for (size_t i = 0; i < s->n; i++)
		items[i] = (struct scored){ isnan(score[i]) ? -(double)INFINITY : stats_round(score[i]), s->cluster[i], changed[i] };
	for (size_t c = 0; c < s->n_clusters; c++)
		weight[c] = 1;
	qsort(items, s->n, sizeof(*items), compare_scores);
	a.area = weighted_area(items, s->n, weight);
	if (!isnan(a.area) && clusters_with(s, changed, true) > 1 && clusters_with(s, changed, false) > 1)
		resample_area(s, items, weight, &a);
	mem_free(items, weight);
	return a;
}
