#include "fingerprint/compare.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>

/* How much worse the median of k normal numbers is than their mean: 2 million draws (docs/statistics.md). */
static double median_factor(size_t k)
{
	static const double factors[] = { 1, 1, 1, 1.160, 1.092, 1.198, 1.135, 1.213, 1.160, 1.223, 1.177 };

	return k < sizeof(factors) / sizeof(factors[0]) ? factors[k] : 1.253;
}

/* One stressor in one fingerprint. */
struct side {
	double median;   /* NaN: not measured */
	double variance; /* of its log, from the passes; NaN where there are fewer than two */
	size_t df;
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
		side.df = n - 1;
	}
	return side;
}

/* Half-way to the mean of all stressors, and the floor; a stressor with one pass gets the mean. *df becomes the mean of their degrees of
 * freedom, 0 when no stressor has any. */
static void shrink(struct side *sides, size_t n, double *df)
{
	double mean = 0, sum_df = 0;
	size_t known = 0;

	for (size_t j = 0; j < n; j++) {
		if (isnan(sides[j].variance))
			continue;
		mean += sides[j].variance;
		sum_df += (double)sides[j].df;
		known++;
	}
	*df = known ? sum_df / (double)known : 0;
	mean = known ? mean / (double)known : (double)NAN;
	for (size_t j = 0; j < n; j++) {
		double own = isnan(sides[j].variance) ? mean : sides[j].variance;

		sides[j].variance = (own + mean) / 2 + COMPARE_FLOOR * COMPARE_FLOOR;
	}
}

static struct side *sides_of(const struct fingerprint_set *set, const struct fingerprint *f, double *df)
{
	struct side *sides = mem_new(set->n_stressors, sizeof(*sides));
	double *logs = mem_new(f->n_passes, sizeof(*logs));

	for (size_t j = 0; j < set->n_stressors; j++)
		sides[j] = side_of(set, f, j, logs);
	shrink(sides, set->n_stressors, df);
	free(logs);
	return sides;
}

enum assay_status compare_allowed(const struct fingerprint *a, const struct fingerprint *b, struct assay_error *err)
{
	if (strcmp(a->battery_hash, b->battery_hash) != 0)
		return assay_fail(err, ASSAY_E_USAGE,
				  "fingerprints of different batteries cannot be compared: %s is of '%s' (%s), %s of '%s' (%s)", a->id, a->battery,
				  a->battery_hash, b->id, b->battery, b->battery_hash);
	if (strcmp(a->stress_ng, b->stress_ng) != 0)
		return assay_fail(err, ASSAY_E_USAGE,
				  "fingerprints of different versions of stress-ng cannot be compared, its stressors change: %s is of %s, %s of %s",
				  a->id, a->stress_ng, b->id, b->stress_ng);
	if (strcmp(a->architecture, b->architecture) != 0)
		return assay_fail(err, ASSAY_E_USAGE, "fingerprints of different architectures cannot be compared: %s is of %s, %s of %s", a->id,
				  a->architecture, b->id, b->architecture);
	return ASSAY_OK;
}

static const char *reason_of(const struct fingerprint_set *set, const struct fingerprint *f, size_t stressor)
{
	struct fingerprint_summary s = fingerprint_summarise(set, f, stressor);

	if (s.measured)
		return NULL;
	return s.zero ? "recorded 0" : (f->reasons ? f->reasons[stressor] : NULL);
}

static void add_row(struct compare *c, const struct fingerprint_set *set, const struct fingerprint *const f[2], size_t stressor,
		    struct side *const sides[2])
{
	struct compare_row row = { .stressor = set->stressors[stressor], .ratio = (double)NAN, .low = (double)NAN, .high = (double)NAN,
				   .noise = (double)NAN };

	for (int i = 0; i < 2; i++) {
		row.medians[i] = sides[i][stressor].median;
		row.reasons[i] = reason_of(set, f[i], stressor);
	}
	if (isnan(row.medians[0]) && isnan(row.medians[1]) && !row.reasons[0] && !row.reasons[1])
		return; /* of another battery */
	if (row.medians[0] > 0 && row.medians[1] > 0) {
		row.ratio = row.medians[1] / row.medians[0];
		row.noise = sqrt(sides[0][stressor].variance + sides[1][stressor].variance);
		c->compared++;
	}
	c->rows[c->n++] = row;
}

/* t at three times the degrees of freedom that the passes have: what shrinking adds, measured on the safe side. */
static void judge(struct compare *c, double df, size_t looks)
{
	c->df = c->quantile = (double)NAN;
	if (df <= 0 || c->compared == 0)
		return;
	c->df = 3 * df;
	c->quantile = stats_t_quantile(1 - COMPARE_LEVEL / (2 * (double)c->compared * (double)looks), c->df);
	for (size_t i = 0; i < c->n; i++) {
		struct compare_row *row = &c->rows[i];
		double half = c->quantile * row->noise;

		if (isnan(half))
			continue;
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
	struct compare c = { 0 };
	struct side *sides[2];
	double df[2];
	enum assay_status st = compare_allowed(a, b, err);

	ASSAY_BUG_IF(looks == 0);
	*out = c;
	if (st)
		return st;
	c.rows = mem_new(set->n_stressors, sizeof(*c.rows));
	for (int i = 0; i < 2; i++)
		sides[i] = sides_of(set, both[i], &df[i]);
	for (size_t j = 0; j < set->n_stressors; j++)
		add_row(&c, set, both, j, sides);
	judge(&c, df[0] > 0 && df[1] > 0 ? df[0] + df[1] : 0, looks);
	free(sides[0]);
	free(sides[1]);
	*out = c;
	return ASSAY_OK;
}

void compare_release(struct compare *compare)
{
	free(compare->rows);
	*compare = (struct compare){ 0 };
}

size_t compare_largest(const struct compare *compare, size_t *order)
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
