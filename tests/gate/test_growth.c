/* Tests the change of each group's contribution: invariants that hold for all data, and synthetic machines. */
#include "model/profile/shares.h"
#include "tests/gate/made_up_machines.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define TYPES	  12
#define NOISE_MAX .05

static const double two[MADE_FEATURES] = { [1] = .7, [7] = .3 };
static const struct shares_options usual = { 60, 3, 1 };

/* Sets each type's ratio to 1 + all + extra * (time on column 9, the only one in its group), relative to the type's time. */
static void ratios(const struct profile_rows *r, double all, double extra, double noise, double *ratio)
{
	struct rng rng;

	rng_seed(&rng, 21);
	for (size_t t = 0; t < TYPES; t++)
		ratio[t] = (1 + all + extra * 1000 / mat_get(&r->rates, t * MADE_REPEATS, 9) / r->cost[t * MADE_REPEATS]) *
			   exp(noise * rng_normal(&rng));
}

static struct growth growth_with(const struct profile_rows *r, const double *ratio, const struct shares_options *options, size_t *group)
{
	struct blend_data d;
	struct growth g;

	blend_data_init(&r->rates, r->cost, r->type, r->types, &d);
	growth_compute(&d, ratio, options, &g);
	*group = d.features.group[d.features.distinct[9]];
	blend_data_release(&d);
	return g;
}

static void assert_sums(const struct growth *g)
{
	double before = 0, after = 0, lead = 0;

	for (size_t k = 0; k <= g->groups; k++) {
		before += g->before[k];
		after += g->after[k];
		lead += g->lead[k];
		assert_true(g->lead[k] >= 0 && g->lead[k] <= 1 + 1e-9);
		assert_true(g->low[k] <= g->after[k] - g->before[k] && g->after[k] - g->before[k] <= g->high[k]);
	}
	assert_true(fabs(before - 1) < 1e-9);
	assert_true(fabs(after - 1 - g->total) < 1e-9);
	assert_true(fabs(lead - 1) < 1e-9);
	assert_true(g->total_low <= g->total && g->total <= g->total_high);
}

static void test_uniform(void **state)
{
	struct profile_rows r = made_rows(TYPES, two, .02, 5);
	double ratio[TYPES];
	struct growth g;
	size_t group;

	(void)state;
	ratios(&r, .2, 0, 0, ratio);
	g = growth_with(&r, ratio, &usual, &group);
	assert_sums(&g);
	assert_true(fabs(g.total - .2) < 1e-12 && fabs(g.uniform - .2) < 1e-9);
	for (size_t k = 0; k <= g.groups; k++)
		assert_true(fabs(g.after[k] - 1.2 * g.before[k]) < 1e-9);
	growth_release(&g);
	profile_rows_release(&r);
}

/* Checks half of the types 10 % slower, half 30 %: sd .1 * sqrt(12 / 11). Student's t for 11 degrees of freedom at .975 is 2.200985. */
static void test_total(void **state)
{
	struct profile_rows r = made_rows(TYPES, two, .02, 5);
	double ratio[TYPES], half = 2.200985 * .1 / sqrt(11);
	struct growth g;
	size_t group;

	(void)state;
	for (size_t t = 0; t < TYPES; t++)
		ratio[t] = t % 2 ? 1.1 : 1.3;
	g = growth_with(&r, ratio, &usual, &group);
	assert_sums(&g);
	assert_true(fabs(g.total_low - (.2 - half)) < 1e-6 && fabs(g.total_high - (.2 + half)) < 1e-6);
	growth_release(&g);
	profile_rows_release(&r);
}

/* Checks many samples of pure noise: the changes of groups stay far below the noise. Single resources fit no better than all together, and
 * errors on held-out types show that no group needs to change. */
static void test_noise(void **state)
{
	struct profile_rows r = made_rows(TYPES, two, .02, 5);
	const struct shares_options none = { 0, 3, 1 };
	double sum = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		double ratio[TYPES];
		struct growth g;
		struct rng rng;
		size_t group;

		rng_seed(&rng, seed);
		for (size_t t = 0; t < TYPES; t++)
			ratio[t] = exp(.05 * rng_normal(&rng));
		g = growth_with(&r, ratio, &none, &group);
		for (size_t k = 0; k <= g.groups; k++)
			sum += fabs(g.after[k] - g.before[k]) / 20;
		growth_release(&g);
	}
	print_message("changes that are noise: %.4f\n", sum);
	assert_true(sum < NOISE_MAX);
	profile_rows_release(&r);
}

/* Checks added work on a resource that the baseline did not use: only that group grows, by all of the work. */
static void test_added(void **state)
{
	struct profile_rows r = made_rows(TYPES, two, .02, 5);
	double ratio[TYPES];
	struct growth g;
	size_t group;

	(void)state;
	ratios(&r, 0, .3, .01, ratio);
	g = growth_with(&r, ratio, &usual, &group);
	assert_sums(&g);
	assert_true(g.low[group] > 0 && g.low[group] <= g.total && g.total <= g.high[group] + .02);
	assert_true(fabs(g.after[group] - g.before[group] - g.total) < .05);
	assert_true(g.lead[group] > .9);
	for (size_t k = 0; k <= g.groups; k++)
		assert_true(k == group || (g.low[k] <= .001 && g.high[k] >= -.001));
	growth_release(&g);
	profile_rows_release(&r);
}

/* Checks the reverse of test_added() for a resource that took nearly all of the time: its removal is reported, not a cost of a twentieth in
 * every group with something new. */
static void test_removed(void **state)
{
	struct profile_rows r = made_rows(TYPES, two, .02, 5);
	double ratio[TYPES];
	struct growth g;
	size_t group;

	(void)state;
	ratios(&r, 0, 20, .1, ratio);
	for (size_t i = 0; i < r.rates.rows; i++)
		r.cost[i] *= ratio[r.type[i]];
	for (size_t t = 0; t < TYPES; t++)
		ratio[t] = 1 / ratio[t];
	g = growth_with(&r, ratio, &usual, &group);
	assert_sums(&g);
	assert_true(g.lead[group] > .9);
	growth_release(&g);
	profile_rows_release(&r);
}

/* Checks that the number of threads changes no bit of the results, units of columns and cost do not matter, and intervals need
 * resamples. */
static void test_invariants(void **state)
{
	struct profile_rows r = made_rows(TYPES, two, .02, 6);
	const struct shares_options threads = { 60, 3, 3 }, none = { 0, 3, 1 };
	double ratio[TYPES];
	struct growth g, other;
	size_t group;

	(void)state;
	ratios(&r, .1, .2, .01, ratio);
	g = growth_with(&r, ratio, &usual, &group);
	other = growth_with(&r, ratio, &threads, &group);
	assert_memory_equal(g.after, other.after, (g.groups + 1) * sizeof(double));
	assert_memory_equal(g.lead, other.lead, (g.groups + 1) * sizeof(double));
	assert_memory_equal(g.low, other.low, (g.groups + 1) * sizeof(double));
	assert_memory_equal(g.high, other.high, (g.groups + 1) * sizeof(double));
	growth_release(&other);
	for (size_t i = 0; i < r.rates.rows; i++) {
		mat_set(&r.rates, i, 2, 1024 * mat_get(&r.rates, i, 2));
		r.cost[i] *= 60;
	}
	other = growth_with(&r, ratio, &usual, &group);
	for (size_t k = 0; k <= g.groups; k++)
		assert_true(fabs(g.after[k] - other.after[k]) < 1e-6 && fabs(g.low[k] - other.low[k]) < 1e-6 &&
			    fabs(g.lead[k] - other.lead[k]) < 1e-6);
	growth_release(&other);
	other = growth_with(&r, ratio, &none, &group);
	assert_true(isnan(other.low[0]) && isfinite(other.total_high) && isfinite(other.after[0]));
	growth_release(&other);
	growth_release(&g);
	profile_rows_release(&r);
}

static void assert_finite(const struct growth *g)
{
	for (size_t k = 0; k <= g->groups; k++)
		assert_true(isfinite(g->before[k]) && isfinite(g->after[k]) && isfinite(g->low[k]) && isfinite(g->high[k]));
	assert_true(isfinite(g->total_low) && isfinite(g->total_high) && isfinite(g->uniform));
}

/* Checks costs and ratios as far apart as is allowed. */
static void test_far_apart(void **state)
{
	struct profile_rows r = made_rows(TYPES, two, .02, 5);
	double ratio[TYPES];
	struct growth g;
	size_t group;

	(void)state;
	for (size_t t = 0; t < TYPES; t++) {
		ratio[t] = t % 2 ? 1e99 : 1e-99;
		for (size_t i = t * MADE_REPEATS; i < (t + 1) * MADE_REPEATS; i++) {
			mat_set(&r.rates, i, 9, t ? 1e99 : 1e-99);
			mat_set(&r.rates, i, 10, pow(10, 8 * (double)t - 90));
			r.cost[i] = t % 3 ? 1e99 : 1e-99;
		}
	}
	g = growth_with(&r, ratio, &usual, &group);
	assert_finite(&g);
	growth_release(&g);
	profile_rows_release(&r);
}

/* Checks a resource that takes almost no time on four types of six, and nearly all on the others: resamples with only the four infer an
 * amount of work that is not finite on the others. */
static void test_far_apart_resampled(void **state)
{
	struct profile_rows r = made_rows(6, two, .02, 5);
	const double ratio[6] = { 3.1e99, 1.6e99, 1.1e99, .9e99, 1, 1 };
	const struct shares_options many = { 300, 3, 1 };
	struct growth g;
	size_t group;

	(void)state;
	for (size_t i = 0; i < r.rates.rows; i++) {
		mat_set(&r.rates, i, 9, (double)(1 + r.type[i]) * (r.type[i] < 4 ? 1e38 : 1e-76));
		r.cost[i] = r.type[i] < 4 ? 1e38 : 1e-76;
	}
	g = growth_with(&r, ratio, &many, &group);
	assert_finite(&g);
	growth_release(&g);
	profile_rows_release(&r);
}

int suite_growth(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uniform),	  cmocka_unit_test(test_total),
		cmocka_unit_test(test_noise),	  cmocka_unit_test(test_added),
		cmocka_unit_test(test_removed),	  cmocka_unit_test(test_invariants),
		cmocka_unit_test(test_far_apart), cmocka_unit_test(test_far_apart_resampled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
