#include "fingerprint/compare/compare.h"

#include "base/mem.h"
#include "base/stats.h"
#include "base/text.h"
#include "fingerprint/battery/stressor.h"

#include <math.h>

#define DF_MAX 1e6 /* of t, which is the normal distribution by then */

/* How much worse the median of k normal numbers is than their mean: 2 million draws (docs/evidence/statistics.md). */
static double median_factor(size_t k)
{
	static const double factors[] = { 1, 1, 1, 1.160, 1.092, 1.198, 1.135, 1.213, 1.160, 1.223, 1.177 };

	return k < sizeof(factors) / sizeof(factors[0]) ? factors[k] : 1.253;
}

/* One stressor in one fingerprint. */
struct side {
	double median;	 /* NaN: not measured */
	double variance; /* of its log, from the passes; NaN where there are fewer than two */
	double own;	 /* how much of it rests on these passes alone */
	double df;	 /* of that part */
};

static struct side side_of(const struct fingerprint_set *set, const struct fingerprint *f, size_t stressor, double *logs)
{
	struct side side = { .median = fingerprint_summarise(set, f, stressor).median, .variance = (double)NAN };
	size_t n = 0;

	for (size_t i = 0; i < f->n_passes; i++) {
		double rate = fingerprint_rate(set, f, i, stressor);

		if (rate > 0)
			logs[n++] = log(rate);
	}
	if (n >= 2) {
		double error = median_factor(n) * stats_sd(logs, n) / sqrt((double)n);

		side.variance = error * error;
		side.df = (double)(n - 1);
	}
	return side;
}

/* What the stressors of a fingerprint have in common: the median of their variances, which a few noisy ones do not raise, over what a
 * median is of its expectation. NaN when there is none. */
static double common_variance(const struct side *sides, size_t n)
{
	double *known = mem_new(n, sizeof(double)), df = 0, common = (double)NAN;
	size_t count = 0;

	for (size_t j = 0; j < n; j++) {
		if (isnan(sides[j].variance))
			continue;
		known[count++] = sides[j].variance;
		df += sides[j].df;
	}
	if (count) {
		df /= (double)count;
		common = stats_median(known, count) * df / stats_chi2_quantile(.5, df);
	}
	free(known);
	return common;
}

/* Small variances go half-way to the common one, large ones stay. */
static void shrink_variance(struct side *side, double common)
{
	double half;

	if (isnan(side->variance)) { /* one pass: as noisy as the others, and hardly known */
		side->variance = side->own = common;
		side->df = 1;
		return;
	}
	half = (side->variance + common) / 2;
	side->own = side->variance > half ? side->variance : side->variance / 2;
	side->variance = side->variance > half ? side->variance : half;
}

static void shrink_variances(struct side *sides, size_t n)
{
	double common = common_variance(sides, n);

	for (size_t j = 0; j < n; j++)
		shrink_variance(&sides[j], common);
}

static struct side *sides_of(const struct fingerprint_set *set, const struct fingerprint *f)
{
	struct side *sides = mem_new(set->n_stressors, sizeof(*sides));
	double *logs = mem_new(f->n_passes, sizeof(*logs));

	for (size_t j = 0; j < set->n_stressors; j++)
		sides[j] = side_of(set, f, j, logs);
	shrink_variances(sides, set->n_stressors);
	free(logs);
	return sides;
}

static enum assay_status compare_allowed(const struct fingerprint *a, const struct fingerprint *b, struct assay_error *err)
{
	if (strcmp(a->battery_hash, b->battery_hash) != 0)
		return assay_fail(err, ASSAY_E_USAGE,
				  "fingerprints of different batteries cannot be compared: %s is of '%s' (%s), %s of '%s' (%s)", a->id,
				  a->battery, a->battery_hash, b->id, b->battery, b->battery_hash);
	if (strcmp(a->stress_ng, b->stress_ng) != 0)
		return assay_fail(
		    err, ASSAY_E_USAGE,
		    "fingerprints of different versions of stress-ng cannot be compared, its stressors change: %s is of %s, %s of %s",
		    a->id, a->stress_ng, b->id, b->stress_ng);
	if (strcmp(a->architecture, b->architecture) != 0)
		return assay_fail(err, ASSAY_E_USAGE, "fingerprints of different architectures cannot be compared: %s is of %s, %s of %s",
				  a->id, a->architecture, b->id, b->architecture);
	return ASSAY_OK;
}

static const char *reason_of(const struct fingerprint_set *set, const struct fingerprint *f, size_t stressor)
{
	struct fingerprint_summary s = fingerprint_summarise(set, f, stressor);

	if (s.measured)
		return NULL;
	return s.zero ? "recorded 0" : (f->reasons ? f->reasons[stressor] : NULL);
}

/* Standard error of the log ratio, and its degrees of freedom by Satterthwaite: only what rests on few passes is uncertain. */
static void row_weigh(struct compare_row *row, const struct side *a, const struct side *b)
{
	double variance = a->variance + b->variance + 2 * COMPARE_FLOOR * COMPARE_FLOOR;
	double uncertain = a->own * a->own / a->df + b->own * b->own / b->df;

	row->noise = sqrt(variance);
	row->df = uncertain > 0 ? variance * variance / uncertain : DF_MAX;
	row->df = row->df < DF_MAX ? row->df : DF_MAX;
}

static void add_row(struct compare *c, const struct fingerprint_set *set, const struct fingerprint *const f[2], size_t stressor,
		    struct side *const sides[2])
{
	struct compare_row row = { .stressor = set->stressors[stressor],
				   .ratio = (double)NAN,
				   .low = (double)NAN,
				   .high = (double)NAN,
				   .noise = (double)NAN,
				   .df = (double)NAN };

	for (int i = 0; i < 2; i++) {
		row.medians[i] = sides[i][stressor].median;
		row.reasons[i] = reason_of(set, f[i], stressor);
	}
	if (isnan(row.medians[0]) && isnan(row.medians[1]) && !row.reasons[0] && !row.reasons[1])
		return; /* of another battery */
	if (row.medians[0] > 0 && row.medians[1] > 0) {
		row.ratio = row.medians[1] / row.medians[0];
		c->compared++;
		if (c->has_noise)
			row_weigh(&row, &sides[0][stressor], &sides[1][stressor]);
	}
	c->rows[c->n++] = row;
}

/* Bonferroni over stressors and looks. */
static void judge_rows(struct compare *c, size_t looks)
{
	double p = 1 - COMPARE_LEVEL / (2 * (double)c->compared * (double)looks);

	for (size_t i = 0; i < c->n; i++) {
		struct compare_row *row = &c->rows[i];
		double half;

		if (isnan(row->noise))
			continue;
		half = stats_t_quantile(p, row->df) * row->noise;
		row->low = row->ratio * exp(-half);
		row->high = row->ratio * exp(half);
		row->differs = stats_round(row->low) > 1 || stats_round(row->high) < 1;
		c->differing += row->differs;
	}
}

enum assay_status compare_fingerprints(const struct fingerprint_set *set, const struct fingerprint *a, const struct fingerprint *b,
				       size_t looks, struct compare *out, struct assay_error *err)
{
	const struct fingerprint *const both[2] = { a, b };
	struct compare c = { .has_noise = true };
	enum assay_status st = compare_allowed(a, b, err);
	struct side *sides[2];

	ASSAY_BUG_IF(looks == 0);
	*out = (struct compare){ 0 };
	if (st)
		return st;
	c.rows = mem_new(set->n_stressors, sizeof(*c.rows));
	for (int i = 0; i < 2; i++) {
		sides[i] = sides_of(set, both[i]);
		c.has_noise = c.has_noise && set->n_stressors && !isnan(sides[i][0].variance); /* of one, of all */
	}
	for (size_t j = 0; j < set->n_stressors; j++)
		add_row(&c, set, both, j, sides);
	judge_rows(&c, looks);
	mem_free(sides[0], sides[1]);
	*out = c;
	return ASSAY_OK;
}

void compare_release(struct compare *compare)
{
	free(compare->rows);
	*compare = (struct compare){ 0 };
}

/* ---- a history ---- */

#define HISTORY_SIDE  3	   /* fingerprints on either side of a change, at least: so that one odd week is none */
#define HISTORY_FLOOR .005 /* standard deviation of the mean of many sessions that their scatter does not show */
#define HISTORY_DF    .35  /* degrees of freedom of the median absolute difference, for each difference */

/* One stressor over the fingerprints that have it. */
struct series {
	double *logs;	   /* [n] of the medians */
	int64_t *taken_ms; /* [n] */
	size_t n;
};

static struct series series_of(const struct fingerprint_set *set, const struct fingerprint *const *f, size_t n, size_t stressor)
{
	struct series s = { mem_new(n, sizeof(double)), mem_new(n, sizeof(int64_t)), 0 };

	for (size_t i = 0; i < n; i++) {
		double median = fingerprint_summarise(set, f[i], stressor).median;

		if (!(median > 0))
			continue;
		s.taken_ms[s.n] = f[i]->taken_ms;
		s.logs[s.n++] = log(median);
	}
	return s;
}

static void series_release(struct series *s)
{
	mem_free(s->logs, s->taken_ms);
}

/* The variance from session to session, by the differences of neighbours: a change is in one of them, an odd session in two. */
static struct side series_noise(const struct series *s)
{
	struct side side = { .variance = (double)NAN };
	double *apart, error;

	if (s->n < COMPARE_HISTORY_MIN)
		return side;
	apart = mem_new(s->n - 1, sizeof(*apart));
	for (size_t i = 0; i + 1 < s->n; i++)
		apart[i] = fabs(s->logs[i + 1] - s->logs[i]);
	error = stats_median(apart, s->n - 1) / (sqrt(2) * stats_normal_quantile(.75));
	free(apart);
	side.variance = error * error;
	side.df = HISTORY_DF * (double)(s->n - 1);
	return side;
}

/* out[i]: the median of the first i + 1 of x[n], or, backwards, of the last i + 1. */
static void running_medians(const double *x, size_t n, bool backwards, double *out)
{
	double *sorted = mem_new(n, sizeof(*sorted));

	for (size_t i = 0; i < n; i++) {
		double next = x[backwards ? n - 1 - i : i];
		size_t at = i;

		for (; at > 0 && sorted[at - 1] > next; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = next;
		out[i] = (sorted[i / 2] + sorted[(i + 1) / 2]) / 2;
	}
	free(sorted);
}

/* Variance of a median of n sessions. */
static double median_variance(const struct side *side, size_t n)
{
	return side->variance * median_factor(n) * median_factor(n) / (double)n + HISTORY_FLOOR * HISTORY_FLOOR;
}

/* The division into before and after whose medians are farthest apart in units of their noise; Bonferroni over all of them, stressors and
 * looks. The row is changed when that is beyond chance. */
static void row_history(struct compare_row *row, const struct series *s, const struct side *side, double tests)
{
	double *before = mem_new(2 * s->n, sizeof(*before)), *after = before + s->n, most = 0, noise = 0;
	double splits = (double)(s->n + 1 - 2 * HISTORY_SIDE), t, df;
	size_t split = 0;

	running_medians(s->logs, s->n, false, before);
	running_medians(s->logs, s->n, true, after);
	for (size_t k = HISTORY_SIDE; k + HISTORY_SIDE <= s->n; k++) {
		double here = sqrt(median_variance(side, k) + median_variance(side, s->n - k));
		double apart = fabs(after[s->n - k - 1] - before[k - 1]) / here;

		if (!(apart > most))
			continue;
		most = apart;
		noise = here;
		split = k;
	}
	/* Only what rests on this stressor's own scatter is uncertain. */
	df = fmin(side->df * (side->variance / side->own) * (side->variance / side->own), DF_MAX);
	t = stats_t_quantile(1 - COMPARE_LEVEL / (2 * tests * splits), df);
	if (split && stats_round(most) > stats_round(t)) {
		row->medians[0] = exp(before[split - 1]);
		row->medians[1] = exp(after[s->n - split - 1]);
		row->ratio = row->medians[1] / row->medians[0];
		row->low = row->ratio * exp(-t * noise);
		row->high = row->ratio * exp(t * noise);
		row->noise = noise;
		row->df = df;
		row->differs = true;
		row->since_ms = s->taken_ms[split];
	}
	free(before);
}

void compare_history(const struct fingerprint_set *set, const struct fingerprint *const *f, size_t n, size_t looks, struct compare *c)
{
	struct series *series = mem_new(set->n_stressors, sizeof(*series));
	struct side *sides = mem_new(set->n_stressors, sizeof(*sides));

	ASSAY_BUG_IF(n < COMPARE_HISTORY_MIN || looks == 0);
	for (size_t j = 0; j < set->n_stressors; j++) {
		series[j] = series_of(set, f, n, j);
		sides[j] = series_noise(&series[j]);
	}
	shrink_variances(sides, set->n_stressors);
	for (size_t i = 0, j = 0; i < c->n; i++) {
		struct compare_row *row = &c->rows[i];

		while (strcmp(set->stressors[j], row->stressor) != 0)
			j++;
		if (isnan(row->ratio) || series[j].n < COMPARE_HISTORY_MIN)
			continue;
		c->differing -= row->differs;
		row_history(row, &series[j], &sides[j], (double)c->compared * (double)looks);
		c->differing += row->differs;
	}
	mem_release_all(series, set->n_stressors, series_release);
	free(sides);
}

/* ---- as a document ---- */

/* Rows that differ, largest absolute log ratio first: their indices into order[differing], and their number. */
static size_t largest_rows(const struct compare *compare, size_t *order)
{
	size_t n = 0;

	for (size_t i = 0; i < compare->n; i++) {
		size_t k = n;

		if (!compare->rows[i].differs)
			continue;
		while (k > 0 && fabs(log(compare->rows[order[k - 1]].ratio)) < fabs(log(compare->rows[i].ratio))) {
			order[k] = order[k - 1];
			k--;
		}
		order[k] = i;
		n++;
	}
	return n;
}

void compare_add_largest(const struct compare *compare, size_t rows, struct document *d)
{
	size_t *order = mem_new(compare->n, sizeof(size_t)), n = largest_rows(compare, order);
	bool since = false;

	for (size_t i = 0; i < n; i++)
		since = since || compare->rows[order[i]].since_ms;
	doc_table(d, NULL);
	for (size_t i = 0; i < n && i < rows; i++) {
		const struct compare_row *row = &compare->rows[order[i]];

		doc_row(d);
		doc_show(d, NULL, "stressor", row->stressor);
		doc_showf(d, NULL, "before/s", row->medians[0], "%.5g", row->medians[0]);
		doc_showf(d, NULL, "after/s", row->medians[1], "%.5g", row->medians[1]);
		doc_showf(d, NULL, "ratio", row->ratio, "%.3f", row->ratio);
		doc_showf(d, NULL, "interval", "", "%.3f to %.3f", row->low, row->high);
		if (since)
			doc_show(d, NULL, "since", row->since_ms ? TEXT_MS(row->since_ms) : NULL);
		doc_show(d, NULL, "category", category_name(stressor_category(row->stressor)));
	}
	doc_end(d);
	if (n > rows)
		doc_line(d, "and %zu more", n - rows);
	free(order);
}

void compare_set_rows(const struct compare *compare, struct document *d)
{
	static const char *const medians[2] = { "before", "after" }, *const reasons[2] = { "before_not_measured", "after_not_measured" };

	doc_list(d, "stressors");
	for (size_t i = 0; i < compare->n; i++) {
		const struct compare_row *row = &compare->rows[i];

		doc_object(d, NULL);
		doc_set(d, "stressor", row->stressor);
		for (int k = 0; k < 2; k++) {
			doc_set(d, medians[k], row->medians[k]);
			if (row->reasons[k])
				doc_set(d, reasons[k], row->reasons[k]);
		}
		doc_set(d, "ratio", row->ratio);
		doc_set(d, "low", row->low);
		doc_set(d, "high", row->high);
		doc_set(d, "noise", row->noise);
		doc_set_bool(d, "differs", row->differs);
		if (row->since_ms)
			doc_set(d, "since_ms", row->since_ms);
		doc_end(d);
	}
	doc_end(d);
}

/* ---- what the fingerprints of one machine are to each other when `catalog drift` looks for changes ---- */

bool drift_is_latest(const struct machine *machine, const struct machine_fingerprint *f, int64_t now_ms)
{
	if (f->taken_ms > now_ms)
		return false;
	for (const struct machine_fingerprint *later = f + 1; later < machine->fingerprints + machine->n_fingerprints; later++) {
		if (later->taken_ms <= now_ms && machine_comparable(f, later))
			return false;
	}
	return true;
}

const struct machine_fingerprint *drift_reference(const struct machine *machine, const struct machine_fingerprint *latest,
						  const struct machine_acceptance **acceptance)
{
	const struct machine_fingerprint *f = machine->fingerprints;

	if (acceptance)
		*acceptance = NULL;
	for (size_t i = machine->n_accepted; i-- > 0;) {
		const struct machine_fingerprint *accepted = machine_find(machine, machine->accepted[i].fingerprint);

		if (!accepted || !machine_comparable(accepted, latest))
			continue;
		if (acceptance)
			*acceptance = &machine->accepted[i];
		return accepted;
	}
	while (!machine_comparable(f, latest))
		f++;
	return f;
}

const char *drift_version_before(const struct machine *machine, const struct machine_fingerprint *f)
{
	const char *before = NULL;

	for (const struct machine_fingerprint *e = machine->fingerprints; e < f; e++) {
		if (strcmp(e->battery_hash, f->battery_hash) == 0 && strcmp(e->architecture, f->architecture) == 0)
			before = e->stress_ng;
	}
	return before && strcmp(before, f->stress_ng) != 0 ? before : NULL;
}
