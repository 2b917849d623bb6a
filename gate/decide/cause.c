#include "gate/decide/cause.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"

#include <math.h>

#define SPREAD_MIN	  .01	     /* of the log ratios over types: less than what differs from day to day (effect.c) follows nothing */
#define SINGULAR	  1e-9	     /* spread of a regressor, relative to its mean */
#define COLUMN_SPREAD_MIN 1e-12	     /* of a column, relative to its largest entry; below it there is only rounding */
#define NEARLY_ONE	  .999999999 /* beyond it a transformed correlation means nothing */
#define SAME_RELATIVE	  1e-9	     /* correlations this close are equal, so that a permutation that changes nothing counts */

ROWS_FUNCTION(cause_text, enum cause_word, CAUSE_ROWS, ROWS_CODE)
ROWS_FUNCTION(cause_sentence, enum cause_word, CAUSE_ROWS, ROWS_TEXT)

/* ---- the stressors that it follows ---- */

/* z and y standardised, so that a correlation is the sum of products. */
struct maxt {
	size_t types, features;
	double *z;	     /* [types x features] */
	double *y;	     /* [types] */
	double *correlation; /* [features], of the data as they are */
	size_t *hits;	     /* [features], permutations whose largest correlation reaches this one's */
	size_t *order;	     /* [types], the permutation */
	double *permuted;    /* [features], scratch */
};

/* To mean 0 and sum of squares 1; constant columns to 0. `stride` apart. */
static void standardise(double *x, size_t n, size_t stride)
{
	double mean = 0, square = 0, low = HUGE_VAL, high = -HUGE_VAL;

	for (size_t i = 0; i < n; i++) {
		mean += x[i * stride] / (double)n;
		low = fmin(low, x[i * stride]);
		high = fmax(high, x[i * stride]);
	}
	for (size_t i = 0; i < n; i++) {
		x[i * stride] -= mean;
		square += x[i * stride] * x[i * stride];
	}
	if (high - low <= COLUMN_SPREAD_MIN * fmax(fabs(low), fabs(high)) || square == 0)
		square = HUGE_VAL;
	for (size_t i = 0; i < n; i++)
		x[i * stride] /= sqrt(square);
}

static void correlate(const struct maxt *m, double *out)
{
	memset(out, 0, m->features * sizeof(*out));
	for (size_t i = 0; i < m->types; i++) {
		const double *row = m->z + m->order[i] * m->features;

		for (size_t j = 0; j < m->features; j++)
			out[j] += m->y[i] * row[j];
	}
}

static struct maxt maxt_new(const double *log_ratio, const struct mat *log_rate)
{
	size_t types = log_rate->rows, features = log_rate->cols;
	struct maxt m = { types,
			  features,
			  mem_new(types * features, sizeof(double)),
			  mem_new(types, sizeof(double)),
			  mem_new(features, sizeof(double)),
			  mem_new(features, sizeof(size_t)),
			  mem_new(types, sizeof(size_t)),
			  mem_new(features, sizeof(double)) };

	memcpy(m.z, log_rate->at, types * features * sizeof(double));
	memcpy(m.y, log_ratio, types * sizeof(double));
	for (size_t j = 0; j < features; j++)
		standardise(m.z + j, types, features);
	standardise(m.y, types, 1);
	for (size_t i = 0; i < types; i++)
		m.order[i] = i;
	correlate(&m, m.correlation);
	return m;
}

static void maxt_release(struct maxt *m)
{
	mem_free(m->z, m->y, m->correlation, m->hits, m->order, m->permuted);
}

static void maxt_count(struct maxt *m)
{
	double largest = 0;

	correlate(m, m->permuted);
	for (size_t j = 0; j < m->features; j++)
		largest = fmax(largest, fabs(m->permuted[j]));
	for (size_t j = 0; j < m->features; j++)
		m->hits[j] += largest >= fabs(m->correlation[j]) * (1 - SAME_RELATIVE);
}

/* n!, or limit + 1 when it is more than the limit. */
static size_t factorial(size_t n, size_t limit)
{
	size_t product = 1;

	for (size_t i = 2; i <= n; i++) {
		if (product > limit / i)
			return limit + 1;
		product *= i;
	}
	return product;
}

/* The next permutation in lexicographic order (Knuth, TAOCP 7.2.1.2, algorithm L); false after the last. */
static bool permutation_next(size_t *a, size_t n)
{
	size_t i = n - 1, j = n - 1, kept;

	while (i > 0 && a[i - 1] >= a[i])
		i--;
	if (i == 0)
		return false;
	while (a[j] <= a[i - 1])
		j--;
	kept = a[i - 1];
	a[i - 1] = a[j];
	a[j] = kept;
	for (j = n - 1; i < j; i++, j--) {
		kept = a[i];
		a[i] = a[j];
		a[j] = kept;
	}
	return true;
}

/* Fills hits; returns how many permutations there were. The data as they are count as one of the permutations drawn, or the
 * smallest p could be 0 (Phipson and Smyth, Statistical Applications in Genetics and Molecular Biology 9(1), 2010). */
static size_t maxt_permute(struct maxt *m, size_t permutations, uint64_t seed)
{
	size_t all = factorial(m->types, permutations);
	struct rng rng;

	maxt_count(m);
	if (all <= permutations) {
		while (permutation_next(m->order, m->types))
			maxt_count(m);
		return all;
	}
	rng_seed(&rng, seed);
	for (size_t k = 0; k < permutations; k++) {
		rng_shuffle(&rng, m->order, m->types);
		maxt_count(m);
	}
	return permutations + 1;
}

static int by_correlation(const void *a, const void *b)
{
	const struct cause_resource *x = a, *y = b;
	double rx = stats_round(fabs(x->correlation)), ry = stats_round(fabs(y->correlation));

	if (rx < ry || rx > ry)
		return rx < ry ? 1 : -1;
	return (x->feature > y->feature) - (x->feature < y->feature);
}

/* Fisher, Metron 1, 1921: atanh r is nearly normal with variance 1 / (T - 3). */
static void resource_interval(struct cause_resource *r, size_t types)
{
	double z = atanh(fmax(-NEARLY_ONE, fmin(NEARLY_ONE, r->correlation)));
	double half = types >= CAUSE_TYPES_MIN ? stats_normal_quantile((1 + EFFECT_LEVEL) / 2) / sqrt((double)types - 3) : (double)NAN;

	r->low = tanh(z - half);
	r->high = tanh(z + half);
}

/* Do two features, correlated by `both`, correlate equally strongly with the ratio, by a >= b? Williams's test, as Steiger recommends it
 * (Psychological Bulletin 87(2), 1980): t with T - 3 degrees of freedom. */
static bool resources_alike(double a, double b, double both, size_t types)
{
	double n = (double)types, mean = .5 * (a + b), apart = 1 - both, determinant, variance;

	if (types < CAUSE_TYPES_MIN || apart <= SAME_RELATIVE)
		return true;
	determinant = fmax(1 - a * a - b * b - both * both + 2 * a * b * both, 0);
	variance = 2 * (n - 1) / (n - 3) * determinant + mean * mean * apart * apart * apart;
	return stats_round(2 * (1 - stats_t_cdf((a - b) * sqrt((n - 1) * (1 + both) / fmax(variance, 1e-300)), n - 3))) > 1 - EFFECT_LEVEL;
}

/* Marks those that cannot be distinguished from the first of the sorted list. The sign of a correlation does not matter. */
static void mark_alike(const struct maxt *m, struct cause_resource *out)
{
	for (size_t k = 0; k < m->features; k++) {
		double sign = out[0].correlation * out[k].correlation < 0 ? -1 : 1, both = 0;

		for (size_t i = 0; i < m->types; i++)
			both += sign * m->z[i * m->features + out[0].feature] * m->z[i * m->features + out[k].feature];
		out[k].alike = k == 0 || resources_alike(fabs(out[0].correlation), fabs(out[k].correlation), both, m->types);
	}
}

void cause_resources(const double *log_ratio, const struct mat *log_rate, size_t permutations, uint64_t seed, struct cause_resource *out)
{
	struct maxt m = maxt_new(log_ratio, log_rate);
	size_t total = m.types >= CAUSE_TYPES_MIN ? maxt_permute(&m, permutations, seed) : 0;

	for (size_t j = 0; j < m.features; j++) {
		double r = fmax(-1, fmin(1, m.correlation[j]));

		out[j] = (struct cause_resource){ .feature = j, .correlation = r, .p = total ? (double)m.hits[j] / (double)total : 1 };
		resource_interval(&out[j], m.types);
	}
	qsort(out, m.features, sizeof(*out), by_correlation);
	mark_alike(&m, out);
	maxt_release(&m);
}

/* ---- does the ratio differ by type? ---- */

/* Two tests of one question: the spread against the noise of repetitions, and whether the ratio follows a stressor. Either may be
 * impossible; Bonferroni where both are possible. Fills p, follows and by_type. */
static void cause_test(const struct effect *e, const double *log_ratio, const struct mat *log_rate, const struct cause_resource *resources,
		       struct cause *c)
{
	double moves = log_rate->rows >= CAUSE_TYPES_MIN && log_rate->cols > 0 ? resources[0].p : (double)NAN;

	if (!isnan(moves) && stats_round(stats_sd(log_ratio, log_rate->rows)) < SPREAD_MIN)
		moves = 1;
	c->p = fmin(e->shape_p, moves); /* of one that is NaN: the other */
	if (!isnan(e->shape_p) && !isnan(moves))
		c->p = fmin(1, 2 * c->p);
	c->follows = isnan(e->shape_p) || moves < e->shape_p;
	c->by_type = stats_round(c->p) < CAUSE_LEVEL;
}

/* ---- how did the rest of the work change, one resource aside? ---- */

/* ratio_t = a + b x_t, where x is the time that a machine needs for work on the resource, relative to what it needed for everything. The
 * ratio is always that of the version that costs more to the one that costs less: what was added, or taken away. */
struct cause_types {
	double *log_ratio, *log_cost; /* [log_rate->rows] of the version that costs more / of the one that costs less */
	const struct mat *log_rate;
};

struct line {
	double a, error; /* the part that is the same everywhere, with its standard error */
	double residual; /* sum of squares, in units of the largest ratio's; infinite when x does not vary */
};

/* x and the ratio are fitted in units of their largest, so that no square overflows. */
static struct line line_of(const struct cause_types *types, size_t feature)
{
	const double *log_ratio = types->log_ratio, *log_cost = types->log_cost;
	const struct mat *log_rate = types->log_rate;
	size_t n = log_rate->rows;
	double *x = mem_new(2 * n, sizeof(*x)), *y = x + n, mean_x, mean_y, xx = 0, xy = 0, yy = 0;
	double top_x = -HUGE_VAL, top_y = -HUGE_VAL;
	struct line line = { .residual = HUGE_VAL };

	for (size_t t = 0; t < n; t++) {
		top_x = fmax(top_x, -log_cost[t] - mat_get(log_rate, t, feature));
		top_y = fmax(top_y, log_ratio[t]);
	}
	for (size_t t = 0; t < n; t++) {
		x[t] = exp(-log_cost[t] - mat_get(log_rate, t, feature) - top_x);
		y[t] = exp(log_ratio[t] - top_y);
	}
	mean_x = stats_mean(x, n);
	mean_y = stats_mean(y, n);
	for (size_t t = 0; t < n; t++) {
		xx += (x[t] - mean_x) * (x[t] - mean_x);
		xy += (x[t] - mean_x) * (y[t] - mean_y);
		yy += (y[t] - mean_y) * (y[t] - mean_y);
	}
	if (xx > SINGULAR * mean_x * mean_x) {
		line.a = (mean_y - xy / xx * mean_x) * exp(top_y);
		line.residual = fmax(yy - xy * xy / xx, 0);
		line.error = sqrt(line.residual / ((double)n - 2) * (1 / (double)n + mean_x * mean_x / xx)) * exp(top_y);
	}
	free(x);
	return line;
}

/* The interval of `a` over all resources whose line leaves nearly as little as the best one: T log(residual / least) at most the
 * chi-square quantile with one degree of freedom, as for the shares of a profile. */
static void cause_find_uniform(const struct cause_types *types, struct cause *out)
{
	size_t n = types->log_rate->rows, features = types->log_rate->cols;
	struct line *lines = mem_new(features, sizeof(*lines));
	double t = stats_t_quantile((1 + EFFECT_LEVEL) / 2, (double)n - 2), limit, floor = 1e-18;

	for (size_t j = 0; j < features; j++) {
		lines[j] = line_of(types, j);
		if (out->feature == SIZE_MAX || lines[j].residual < lines[out->feature].residual)
			out->feature = j;
	}
	limit = fmax(lines[out->feature].residual, floor) * exp(stats_chi2_quantile(EFFECT_LEVEL, 1) / (double)n);
	out->uniform = lines[out->feature].a - 1;
	out->low = HUGE_VAL;
	out->high = -HUGE_VAL;
	for (size_t j = 0; j < features; j++) {
		if (isinf(lines[j].residual) || !(lines[j].residual <= limit))
			continue;
		out->as_well++;
		out->low = fmin(out->low, lines[j].a - 1 - t * lines[j].error);
		out->high = fmax(out->high, lines[j].a - 1 + t * lines[j].error);
	}
	if (!out->as_well || !isfinite(out->low) || !isfinite(out->high)) { /* no stressor varies, or the numbers overflow */
		out->uniform = out->low = out->high = (double)NAN;
		out->feature = SIZE_MAX;
		out->as_well = 0;
	}
	free(lines);
}

/* For a version that costs less the ratio was that of the older to the newer one. */
static void cause_invert(struct cause *c)
{
	double low = c->low;

	c->uniform = 1 / (1 + c->uniform) - 1;
	c->low = 1 / (1 + c->high) - 1;
	c->high = 1 / (1 + low) - 1;
}

static void cause_find_part(bool faster, const double *log_ratio, const double *log_cost, const struct mat *log_rate, struct cause *c)
{
	size_t n = log_rate->rows;
	struct cause_types types = { mem_new(n, sizeof(double)), mem_new(n, sizeof(double)), log_rate };

	for (size_t t = 0; t < n; t++) {
		types.log_ratio[t] = faster ? -log_ratio[t] : log_ratio[t];
		types.log_cost[t] = faster ? log_cost[t] + log_ratio[t] : log_cost[t];
	}
	cause_find_uniform(&types, c);
	if (faster && c->feature != SIZE_MAX && c->low > -1)
		cause_invert(c);
	else if (faster)
		c->uniform = c->low = c->high = (double)NAN; /* it may be that nothing is left of it */
	mem_free(types.log_ratio, types.log_cost);
}

/* ---- the word ---- */

struct cause cause_of(const struct effect *e, const double *log_ratio, const double *log_cost, const struct mat *log_rate,
		      const struct cause_resource *resources)
{
	struct cause c = { .word = CAUSE_NOT_TESTED, .uniform = (double)NAN, .low = (double)NAN, .high = (double)NAN, .feature = SIZE_MAX };
	bool slower = stats_round(e->low) > 1, faster = stats_round(e->high) < 1;

	cause_test(e, log_ratio, log_rate, resources, &c);
	c.by_type = c.by_type && !isnan(e->low);
	if (isnan(c.p) || isnan(e->low))
		return c;
	if (!c.by_type) {
		/* When the noise of repetitions is unknown, little would be found: finding nothing means nothing. */
		if (!isnan(e->shape_p))
			c.word = slower || faster ? CAUSE_UNIFORM : CAUSE_NEITHER;
		return c;
	}
	if (log_rate->rows >= CAUSE_TYPES_MIN && log_rate->cols > 0)
		cause_find_part(faster, log_ratio, log_cost, log_rate, &c);
	c.word = CAUSE_OTHER_RESOURCE;
	if ((slower && stats_round(c.low) > 0) || (faster && stats_round(c.high) < 0))
		c.word = CAUSE_BOTH;
	return c;
}
