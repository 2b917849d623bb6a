/* Ways to rank the groups of a profile, for bench_irup.c: how stable each ranking is under resampling of the types, and how close to the
 * truth if the truth is known. Kendall's tau-b corrects for ties: a random order with equally many ties has 0 on average. */
#ifndef TESTS_BENCH_IRUP_RANKINGS_H
#define TESTS_BENCH_IRUP_RANKINGS_H

#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "gate/profile/profile.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define FLATTER	    .25 /* factor on the sharpness */
#define CORRELATION .1	/* weight of the correlation when added to the share */

enum key { BY_SHARE, BY_IMPORTANCE, BY_BOTH, BY_CORRELATION, BY_FLATTER, KEYS };

/* A ranking of groups by `key`; groups with a key below `from` are tied. */
static const struct ranking {
	const char *name;
	enum key key;
	double from;
} rankings[] = {
	{ "share, below .10 tied (in use)", BY_SHARE, PROFILE_RANKED_SHARE_MIN },
	{ "share", BY_SHARE, -DBL_MAX },
	{ "share, below .02 tied", BY_SHARE, .02 },
	{ "share, below .05 tied", BY_SHARE, .05 },
	{ "share, below .15 tied", BY_SHARE, .15 },
	{ "share, below .20 tied", BY_SHARE, .20 },
	{ "importance of the stumps", BY_IMPORTANCE, -DBL_MAX },
	{ "half the sum of share and importance", BY_BOTH, -DBL_MAX },
	{ "half the sum, below .10 tied", BY_BOTH, .10 },
	{ "share + .1 x correlation of log cost and -log rate", BY_CORRELATION, -DBL_MAX },
	{ "share of models with a quarter of the sharpness", BY_FLATTER, -DBL_MAX },
	{ "the same, below .10 tied", BY_FLATTER, .10 },
};
#define RANKINGS (sizeof(rankings) / sizeof(rankings[0]))

/* ---- keys ---- */

static void mean_shares(const struct blend_data *d, const struct additive *fit, double *share)
{
	struct mat by_type = mat_new(d->types, d->features.groups + 1);

	shares_by_group(d, fit, false, &by_type);
	for (size_t t = 0; t < d->types; t++) {
		for (size_t g = 0; g < d->features.groups; g++)
			share[g] += mat_get(&by_type, t, g) / (double)d->types;
	}
	mat_release(&by_type);
}

/* Computes the correlation of log cost and -log rate per column, with types weighted by `count`; mean[g]: mean over group g. */
static void correlations(const struct blend_data *d, const double *count, double *mean)
{
	const struct features *f = &d->features;
	double *columns = mem_new(f->groups, sizeof(*columns)), total = 0.0, y = 0.0, yy = 0.0;

	for (size_t t = 0; t < d->types; t++) {
		total += count[t];
		y += count[t] * d->type_cost[t];
	}
	for (size_t t = 0; t < d->types; t++)
		yy += count[t] * (d->type_cost[t] - y / total) * (d->type_cost[t] - y / total);
	for (size_t k = 0; k < f->n; k++) {
		double x = 0.0, xx = 0.0, xy = 0.0;

		for (size_t t = 0; t < d->types; t++)
			x -= count[t] * mat_get(&f->type_logs, t, k) / total;
		for (size_t t = 0; t < d->types; t++) {
			double away = -mat_get(&f->type_logs, t, k) - x;

			xx += count[t] * away * away;
			xy += count[t] * away * (d->type_cost[t] - y / total);
		}
		mean[f->group[k]] += xx > 0.0 && yy > 0.0 ? xy / sqrt(xx * yy) : 0.0;
		columns[f->group[k]] += 1.0;
	}
	for (size_t g = 0; g < f->groups; g++)
		mean[g] /= columns[g];
	free(columns);
}

/* Reorders the columns of `keys` from the order of the features' groups to the order of the profile's groups. Releases `keys`. */
static struct mat by_profile(const struct profile *p, struct mat *keys)
{
	struct mat out = mat_new(keys->rows, keys->cols);

	for (size_t g = 0; g < p->n_groups; g++) {
		size_t group = p->data.features.group[p->data.features.distinct[p->groups[g].members[0]]];

		for (size_t k = 0; k < keys->rows; k++)
			mat_set(&out, k, g, mat_get(keys, k, group));
	}
	mat_release(keys);
	return out;
}

/* Fits all models to types weighted by `count`. Returns the keys as a matrix [KEYS x groups of the profile]. */
static struct mat keys_of(const struct profile *p, const double *count)
{
	const struct blend_data *d = &p->data;
	size_t n = d->features.groups;
	struct mat keys = mat_new(KEYS, n);
	struct additive_options flatter[BLEND_ADDITIVE];
	struct blend fit;

	blend_fit(d, count, &p->blend.choice, &fit);
	mean_shares(d, &fit.additive, &keys.at[BY_SHARE * n]);
	for (size_t k = 0; k < d->features.n; k++)
		keys.at[BY_IMPORTANCE * n + d->features.group[k]] += fit.stumps.importance[k];
	correlations(d, count, &keys.at[BY_CORRELATION * n]);
	for (size_t g = 0; g < n; g++) {
		double share = mat_get(&keys, BY_SHARE, g);

		mat_set(&keys, BY_BOTH, g, .5 * (share + mat_get(&keys, BY_IMPORTANCE, g)));
		mat_set(&keys, BY_CORRELATION, g, share + CORRELATION * mat_get(&keys, BY_CORRELATION, g));
	}
	for (size_t k = 0; k < BLEND_ADDITIVE; k++)
		flatter[k] = (struct additive_options){ blend_grid[k].size, FLATTER * blend_grid[k].sharpness };
	additive_weigh(&fit.additive, flatter, p->blend.choice.additive, BLEND_ADDITIVE);
	mean_shares(d, &fit.additive, &keys.at[BY_FLATTER * n]);
	blend_release(&fit);
	return by_profile(p, &keys);
}

/* Fills key[n] with the keys of the ranking `r`; a key below `r->from` becomes -DBL_MAX. Returns the number of other keys. */
static size_t tie(const struct ranking *r, const struct mat *keys, double *key)
{
	size_t ranked = 0;

	for (size_t g = 0; g < keys->cols; g++) {
		double value = stats_round(mat_get(keys, r->key, g));

		key[g] = value >= r->from ? value : -DBL_MAX;
		ranked += value >= r->from ? 1 : 0;
	}
	return ranked;
}

/* ---- agreement of two rankings ---- */

/* Reports whether group i is among the first three and not tied for its low key. */
static bool in_front(const double *key, size_t n, size_t i)
{
	size_t before = 0;

	for (size_t k = 0; k < n; k++)
		before += key[k] > key[i] || (key[k] == key[i] && k < i) ? 1 : 0;
	return before < 3 && key[i] > -DBL_MAX;
}

/* Returns the Jaccard index of the first three groups of both rankings; 0 if neither ranks any group. */
static double top3_jaccard(const double *a, const double *b, size_t n)
{
	double both = 0.0, either = 0.0;

	for (size_t i = 0; i < n; i++) {
		bool x = in_front(a, n, i), y = in_front(b, n, i);

		both += x && y ? 1.0 : 0.0;
		either += x || y ? 1.0 : 0.0;
	}
	return either > 0.0 ? both / either : 0.0;
}

/* Returns Kendall's tau-b; 0 if a ranking ties all groups. */
static double kendall(const double *a, const double *b, size_t n)
{
	double sum = 0.0, na = 0.0, nb = 0.0;

	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < i; k++) {
			double x = (a[i] > a[k] ? 1.0 : 0.0) - (a[i] < a[k] ? 1.0 : 0.0);
			double y = (b[i] > b[k] ? 1.0 : 0.0) - (b[i] < b[k] ? 1.0 : 0.0);

			sum += x * y;
			na += x * x;
			nb += y * y;
		}
	}
	return na > 0.0 && nb > 0.0 ? sum / sqrt(na * nb) : 0.0;
}

/* ---- output ---- */

static struct mat keys_of_all_types(const struct profile *p)
{
	double *count = mem_new(p->data.types, sizeof(*count));
	struct mat keys;

	for (size_t t = 0; t < p->data.types; t++)
		count[t] = 1.0;
	keys = keys_of(p, count);
	free(count);
	return keys;
}

/* Adds "rankings": [groups ranked, mean top-3 Jaccard index, mean tau-b] per ranking, each resample compared with the fit on all types. */
static void add_stability(cJSON *o, const struct profile *p)
{
	size_t n = p->n_groups, ranked[RANKINGS];
	double *count = mem_new(p->data.types, sizeof(*count)), *key = mem_new(n, sizeof(*key)), means[RANKINGS][2] = { 0 };
	struct mat all = keys_of_all_types(p), whole = mat_new(RANKINGS, n);
	cJSON *list = cJSON_AddArrayToObject(o, "rankings");

	for (size_t r = 0; r < RANKINGS; r++)
		ranked[r] = tie(&rankings[r], &all, &whole.at[r * n]);
	for (size_t i = 0; i < SHARES_RESAMPLES; i++) {
		struct rng rng;
		struct mat keys;

		rng_seed(&rng, PROFILE_SEED + 0x9e3779b97f4a7c15ull * (i + 1));
		shares_draw_types(p->data.types, &rng, count);
		keys = keys_of(p, count);
		for (size_t r = 0; r < RANKINGS; r++) {
			tie(&rankings[r], &keys, key);
			means[r][0] += top3_jaccard(&whole.at[r * n], key, n) / SHARES_RESAMPLES;
			means[r][1] += kendall(&whole.at[r * n], key, n) / SHARES_RESAMPLES;
		}
		mat_release(&keys);
	}
	for (size_t r = 0; r < RANKINGS; r++)
		cJSON_AddItemToArray(list, cJSON_CreateDoubleArray((double[]){ (double)ranked[r], means[r][0], means[r][1] }, 3));
	free(count);
	free(key);
	mat_release(&all);
	mat_release(&whole);
}

static size_t first_of(const struct ranking *r, const struct mat *keys)
{
	size_t first = 0;

	for (size_t g = 1; g < keys->cols; g++)
		first = mat_get(keys, r->key, g) > mat_get(keys, r->key, first) ? g : first;
	return first;
}

/* Adds "rankings", compared with the true shares of the groups. Each ranking has four numbers: whether its first group is right, tau-b,
 * number of ranked groups, and number of ranked groups that the application uses. */
static void add_truth(cJSON *o, const struct profile *p, const double *truth)
{
	size_t n = p->n_groups;
	double *key = mem_new(n, sizeof(*key)), most = 0.0;
	struct mat all = keys_of_all_types(p);
	cJSON *list = cJSON_AddArrayToObject(o, "rankings");

	for (size_t g = 0; g < n; g++)
		most = fmax(most, truth[g]);
	for (size_t r = 0; r < RANKINGS; r++) {
		size_t ranked = tie(&rankings[r], &all, key), used = 0;
		double right = truth[first_of(&rankings[r], &all)] == most ? 1.0 : 0.0;

		for (size_t g = 0; g < n; g++)
			used += key[g] > -DBL_MAX && truth[g] > 0.0 ? 1 : 0;
		cJSON_AddItemToArray(list,
				     cJSON_CreateDoubleArray((double[]){ right, kendall(truth, key, n), (double)ranked, (double)used }, 4));
	}
	free(key);
	mat_release(&all);
}

#endif
