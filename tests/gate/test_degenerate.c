/* Tests data that no machine would give: all equal, tied, duplicate columns, more columns than types, one repetition, a zero, 300 orders of
 * magnitude apart. Results must stay valid: permutation probabilities are above 0, shares sum to one, intervals contain their estimates,
 * and no number is NaN. */
#include "base/mem.h"
#include "base/rng.h"
#include "gate/decide/effect.h"
#include "tests/bench/evaluate.h"
#include "model/pca.h"
#include "model/profile/shares.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct effect_request asked = { .03, EFFECT_LEVEL };

#define SEEDS	  400
#define TYPES_MAX 9
#define NEAR	  1e-9

enum kind { ALIKE, TIED, APART, ORDINARY, KINDS };

static double number(struct rng *rng, enum kind kind)
{
	static const double tied[] = { .5, 1, 1, 1, 2, 1000 }, apart[] = { 1e-300, 1e-150, 1e-12, .5, 1, 1, 2, 1e12, 1e150, 1e300 };

	switch (kind) {
	case ALIKE:
		return 1;
	case TIED:
		return tied[rng_below(rng, sizeof(tied) / sizeof(tied[0]))];
	case APART:
		return apart[rng_below(rng, sizeof(apart) / sizeof(apart[0]))];
	default:
		return exp(rng_normal(rng));
	}
}

static enum kind any_kind(struct rng *rng)
{
	return (enum kind)rng_below(rng, KINDS);
}

static bool within(double low, double x, double high)
{
	return low <= x + NEAR * fabs(x) + NEAR && x <= high + NEAR * fabs(x) + NEAR;
}

/* ---- effects ---- */

static void test_changes(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 4 * SEEDS; seed++) {
		double log_ratio[TYPES_MAX];
		struct effect_pair pairs[TYPES_MAX + 3];
		size_t types, machines;
		enum kind ratio;
		struct effect e;
		struct rng rng;
		bool known;

		rng_seed(&rng, seed);
		types = 1 + rng_below(&rng, TYPES_MAX);
		machines = types + rng_below(&rng, 3);
		ratio = any_kind(&rng);
		known = rng_below(&rng, 2);
		for (size_t t = 0; t < types; t++)
			log_ratio[t] = log(number(&rng, ratio));
		for (size_t i = 0; i < machines; i++) {
			size_t t = i < types ? i : rng_below(&rng, types);

			pairs[i] =
			    (struct effect_pair){ t, log_ratio[t], known ? .01 : .01 * (double)rng_below(&rng, 2), known ? 4 : 0, false };
		}
		e = effect_compute(pairs, machines, types, &asked, NULL);
		assert_true(!isnan(e.ratio) && (isnan(e.low) ? isnan(e.high) : within(e.low, e.ratio, e.high)));
		assert_true(isnan(e.pattern_p) || (e.pattern_p >= 0 && e.pattern_p <= 1));
		assert_true(effect_pattern_classify(&e) != PATTERN_OTHER_RESOURCE || types > 1);
	}
}

/* ---- profiles ---- */

struct made {
	struct blend_data data;
	double ratio[TYPES_MAX];
};

/* Makes costs and ratios as far apart as callers allow, and rates farther. Columns may be duplicates, and a rate may be missing. */
static struct made made_of(uint64_t seed)
{
	size_t types, features, rows, *type;
	enum kind rate, cost, ratio;
	struct mat rates;
	struct made m;
	struct rng rng;
	double *costs;
	bool copies;

	rng_seed(&rng, seed);
	types = 4 + rng_below(&rng, TYPES_MAX - 3);
	features = 1 + rng_below(&rng, 2 * TYPES_MAX);
	rows = types * (1 + rng_below(&rng, 2));
	rate = any_kind(&rng);
	cost = any_kind(&rng);
	ratio = any_kind(&rng);
	copies = rng_below(&rng, 3) == 0;
	rates = mat_new(rows, features);
	costs = mem_new(rows, sizeof(*costs));
	type = mem_new(rows, sizeof(*type));
	for (size_t i = 0; i < rows; i++) {
		type[i] = i % types;
		costs[i] = fmin(fmax(number(&rng, cost), 2 / GROWTH_RATIO_MAX), GROWTH_RATIO_MAX / 2);
		for (size_t j = 0; j < features; j++)
			mat_set(&rates, i, j, j && copies ? 2 * mat_get(&rates, i, 0) : rng_below(&rng, 200) ? number(&rng, rate) : 0);
	}
	for (size_t t = 0; t < types; t++)
		m.ratio[t] = fmin(fmax(number(&rng, ratio), 2 / GROWTH_RATIO_MAX), GROWTH_RATIO_MAX / 2);
	blend_data_init(&rates, costs, type, types, &m.data);
	mat_release(&rates);
	free(costs);
	free(type);
	return m;
}

static void check_shares(const struct blend_data *d, const struct shares_options *options)
{
	double count[TYPES_MAX] = { 0 }, sum = 0;
	struct blend_choice choice;
	struct blend blend;
	struct shares s;

	for (size_t t = 0; t < d->types; t++)
		count[t] = 1;
	blend_choose(d, count, &choice);
	blend_fit(d, count, &choice, &blend);
	shares_compute(d, &blend, NULL, 0, options, &s);
	for (size_t k = 0; k <= s.groups; k++) {
		sum += s.share[k];
		assert_true(s.share[k] >= -NEAR && within(s.low[k], s.share[k], s.high[k]) && s.low[k] >= -NEAR && s.high[k] <= 1 + NEAR);
		assert_true(k == s.groups || (s.least[k] <= s.share[k] && s.share[k] <= s.most[k] && s.most[k] <= 1 + NEAR));
	}
	assert_true(fabs(sum - 1) < NEAR);
	shares_release(&s);
	blend_release(&blend);
}

static void check_validation(const struct blend_data *d)
{
	struct blend_validation v;

	blend_validate(d, 1, &v);
	for (size_t i = 0; i < d->rows; i++)
		assert_true(isfinite(v.predicted[i]));
	assert_true(v.mape >= 0 && v.q2 <= 1);
	blend_validation_release(&v);
}

static void check_growth(const struct made *m, const struct shares_options *options)
{
	double before = 0, after = 0, lead = 0;
	struct growth g;

	growth_compute(&m->data, m->ratio, options, &g);
	for (size_t k = 0; k <= g.groups; k++) {
		before += g.before[k];
		after += g.after[k];
		lead += g.lead[k];
		assert_true(isfinite(g.low[k]) && isfinite(g.high[k]) && g.low[k] <= g.high[k] && g.lead[k] >= 0);
	}
	assert_true(fabs(before - 1) < NEAR && fabs(lead - 1) < NEAR && fabs(after - 1 - g.total) <= 1e-6 * (1 + fabs(g.total)));
	assert_true(g.total_low <= g.total && g.total <= g.total_high);
	growth_release(&g);
}

static void test_profiles(void **state)
{
	const struct shares_options options = { 3, 1, 1 };

	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct made m = made_of(seed);

		if (m.data.features.n) {
			check_shares(&m.data, &options);
			check_validation(&m.data);
			check_growth(&m, &options);
		}
		blend_data_release(&m.data);
	}
}

/* ---- labelled pairs, components ---- */

static void test_rates(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 4 * SEEDS; seed++) {
		bool counts[12], flagged[12], changed[12];
		struct evaluate_sample s = { .resamples = 40, .seed = seed };
		struct evaluate_rate rate;
		struct evaluate_area area;
		size_t cluster[12];
		double score[12];
		struct rng rng;

		rng_seed(&rng, seed);
		s.n = rng_below(&rng, 12);
		s.n_clusters = 1 + rng_below(&rng, 4);
		s.cluster = cluster;
		for (size_t i = 0; i < s.n; i++) {
			cluster[i] = rng_below(&rng, s.n_clusters);
			counts[i] = rng_below(&rng, 3);
			flagged[i] = rng_below(&rng, 2);
			changed[i] = rng_below(&rng, 2);
			score[i] = rng_below(&rng, 5) ? (double)rng_below(&rng, 4) : rng_below(&rng, 2) ? (double)NAN : (double)INFINITY;
		}
		rate = evaluate_rate_of(&s, counts, flagged);
		assert_true(rate.n ? rate.low >= 0 && rate.low <= rate.rate && rate.rate <= rate.high && rate.high <= 1 : isnan(rate.rate));
		area = evaluate_area_of(&s, changed, score);
		assert_true(isnan(area.area) || (area.area >= 0 && area.area <= 1));
		assert_true(isnan(area.low) || (area.low >= 0 && area.low <= area.high && area.high <= 1));
	}
}

static void test_components(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 4 * SEEDS; seed++) {
		double variance = 0;
		enum kind kind;
		struct mat X;
		struct pca pca;
		struct rng rng;

		rng_seed(&rng, seed);
		X = mat_new(rng_below(&rng, 7), rng_below(&rng, 5));
		kind = any_kind(&rng);
		for (size_t i = 0; i < X.rows * X.cols; i++)
			X.at[i] = log(number(&rng, kind));
		pca_compute(&X, &pca);
		for (size_t k = 0; k < pca.n; k++) {
			variance += pca.eigenvalue[k];
			assert_true(k == 0 || pca.eigenvalue[k] <= pca.eigenvalue[k - 1]);
			for (size_t i = 0; i < X.rows; i++)
				assert_true(isfinite(pca_score(&pca, k, &X.at[i * X.cols])));
		}
		assert_true(variance <= (double)X.cols + NEAR);
		pca_release(&pca);
		mat_release(&X);
	}
}

int suite_degenerate(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_profiles),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_components),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
