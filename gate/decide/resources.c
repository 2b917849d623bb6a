/* Which stressors' rates vary over the hardware types as the effect does: correlations, with the permutation distribution of the
 * largest one (Westfall and Young, Resampling-Based Multiple Testing, 1993, single-step maxT), which answers for having looked at
 * all of them and for their moving together. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "gate/decide/effect.h"

#include <math.h>

#define TYPES_MIN 4        /* fewer have at most 3! = 6 permutations: no p of .05 */
#define SPREAD_MIN 1e-12   /* of a column, relative to its largest entry; below it there is only rounding */
#define NEARLY_ONE .999999999 /* beyond it a transformed correlation means nothing */
#define SAME_RELATIVE 1e-9 /* correlations this close are equal, so that a permutation that changes nothing counts */

/* z and y standardised, so that a correlation is the sum of products. */
struct maxt {
	size_t types, features;
	double *z;           /* [types x features] */
	double *y;           /* [types] */
	double *correlation; /* [features], of the data as they are */
	size_t *hits;        /* [features], permutations whose largest correlation reaches this one's */
	size_t *order;       /* [types], the permutation */
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
	if (high - low <= SPREAD_MIN * fmax(fabs(low), fabs(high)) || square == 0)
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
	free(m->z);
	free(m->y);
	free(m->correlation);
	free(m->hits);
	free(m->order);
	free(m->permuted);
}

static void count_hits(struct maxt *m)
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

/* Fills hits; returns how many permutations there were. The data as they are count as one of those that are drawn, or the
 * smallest p could be 0 (Phipson and Smyth, Statistical Applications in Genetics and Molecular Biology 9(1), 2010). */
static size_t permute(struct maxt *m, size_t permutations, uint64_t seed)
{
	size_t all = factorial(m->types, permutations);
	struct rng rng;

	count_hits(m);
	if (all <= permutations) {
		while (permutation_next(m->order, m->types))
			count_hits(m);
		return all;
	}
	rng_seed(&rng, seed);
	for (size_t k = 0; k < permutations; k++) {
		rng_shuffle(&rng, m->order, m->types);
		count_hits(m);
	}
	return permutations + 1;
}

static int by_correlation(const void *a, const void *b)
{
	const struct effect_resource *x = a, *y = b;
	double rx = stats_round(fabs(x->correlation)), ry = stats_round(fabs(y->correlation));

	if (rx < ry || rx > ry)
		return rx < ry ? 1 : -1;
	return (x->feature > y->feature) - (x->feature < y->feature);
}

/* Fisher, Metron 1, 1921: atanh r is nearly normal with variance 1 / (T - 3). */
static void set_interval(struct effect_resource *r, size_t types)
{
	double z = atanh(fmax(-NEARLY_ONE, fmin(NEARLY_ONE, r->correlation)));
	double half = types >= TYPES_MIN ? stats_normal_quantile((1 + EFFECT_LEVEL) / 2) / sqrt((double)types - 3) : (double)NAN;

	r->low = tanh(z - half);
	r->high = tanh(z + half);
}

/* Do two features, correlated by `both`, correlate equally strongly with the ratio, by a >= b? Williams's test, as Steiger recommends it
 * (Psychological Bulletin 87(2), 1980): t with T - 3 degrees of freedom. */
static bool cannot_be_told_apart(double a, double b, double both, size_t types)
{
	double n = (double)types, mean = .5 * (a + b), apart = 1 - both, determinant, variance;

	if (types < TYPES_MIN || apart <= SAME_RELATIVE)
		return true;
	determinant = fmax(1 - a * a - b * b - both * both + 2 * a * b * both, 0);
	variance = 2 * (n - 1) / (n - 3) * determinant + mean * mean * apart * apart * apart;
	return stats_round(2 * (1 - stats_t_cdf((a - b) * sqrt((n - 1) * (1 + both) / fmax(variance, 1e-300)), n - 3))) > 1 - EFFECT_LEVEL;
}

/* Marks those that are like the first of the sorted list. A feature of the other sign is turned round. */
static void mark_alike(const struct maxt *m, struct effect_resource *out)
{
	for (size_t k = 0; k < m->features; k++) {
		double sign = out[0].correlation * out[k].correlation < 0 ? -1 : 1, both = 0;

		for (size_t i = 0; i < m->types; i++)
			both += sign * m->z[i * m->features + out[0].feature] * m->z[i * m->features + out[k].feature];
		out[k].alike = k == 0 || cannot_be_told_apart(fabs(out[0].correlation), fabs(out[k].correlation), both, m->types);
	}
}

void effect_resources(const double *log_ratio, const struct mat *log_rate, size_t permutations, uint64_t seed,
		      struct effect_resource *out)
{
	struct maxt m = maxt_new(log_ratio, log_rate);
	size_t total = m.types >= TYPES_MIN ? permute(&m, permutations, seed) : 0;

	for (size_t j = 0; j < m.features; j++) {
		double r = fmax(-1, fmin(1, m.correlation[j]));

		out[j] = (struct effect_resource){ .feature = j, .correlation = r, .p = total ? (double)m.hits[j] / (double)total : 1 };
		set_interval(&out[j], m.types);
	}
	qsort(out, m.features, sizeof(*out), by_correlation);
	mark_alike(&m, out);
	maxt_release(&m);
}
