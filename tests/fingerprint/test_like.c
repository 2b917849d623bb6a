#include "fingerprint/like/like.h"

#include "tests/scratch.h"

#include <math.h>

#define N 5 /* stressors */

/* Stressors 0 to 3 are moved by one knob each, 4 by none; the first knob moves 1 a little, too. */
static struct like_costs costs_of(double probed[LIKE_KNOBS][N], const double *target)
{
	struct like_costs costs = { .target = target, .n = N };

	for (size_t k = 0; k < LIKE_KNOBS; k++) {
		for (size_t i = 0; i < N; i++)
			probed[k][i] = 1.03; /* noise */
		if (k < 4)
			probed[k][k] = 2 + (double)k;
		costs.probed[k] = probed[k];
	}
	probed[0][1] = 1.5;
	return costs;
}

static void load_probes(struct emulate_profile *probes)
{
	struct assay_error err;

	for (size_t k = 0; k < LIKE_KNOBS; k++)
		check(emulate_profile_load(NULL, like_probe(k), &probes[k], &err), &err);
}

static void release_probes(struct emulate_profile *probes)
{
	for (size_t k = 0; k < LIKE_KNOBS; k++)
		emulate_profile_release(&probes[k]);
}

/* Costs that doses made give the doses back; what no knob moves, and what is cheaper there, is left as it is. */
static void test_fit(void **state)
{
	const double planted[LIKE_KNOBS] = { 1.5, .5, 0, 1 };
	double probed[LIKE_KNOBS][N], target[N] = { 0 }, doses[LIKE_KNOBS], found[N];
	struct emulate_profile probes[LIKE_KNOBS], profile;
	struct like_costs costs = costs_of(probed, target);

	(void)state;
	load_probes(probes);
	for (size_t i = 0; i < N; i++)
		target[i] = like_predicted(&costs, i, planted);
	target[2] = .5;
	target[4] = (double)NAN;
	like_fit(&costs, probes, doses);
	for (size_t i = 0; i < N; i++) {
		found[i] = like_predicted(&costs, i, doses);
		if (i != 2 && i != 4)
			assert_true(fabs(log(found[i] / target[i])) < .05);
	}
	for (size_t k = 4; k < LIKE_KNOBS; k++)
		assert_true(doses[k] == 0);
	assert_true(doses[2] == 0);
	assert_true(fabs(like_distance(target, found, N) - log(2) * log(2) / 4) < .01);
	profile = like_profile(probes, doses);
	assert_true(abs((int)profile.divisions[SHAPE_DATA] - 1200) < 100);
	assert_int_equal(profile.divisions[SHAPE_MAPPING], 0);
	assert_int_equal(profile.compare, 0);
	release_probes(probes);
}

/* Doses stay within what a profile may have, and a profile that is written reads back. */
static void test_limits(void **state)
{
	double probed[LIKE_KNOBS][N], target[N] = { 1e6, 1e6, 1e6, 1e6, 1 }, doses[LIKE_KNOBS];
	struct emulate_profile probes[LIKE_KNOBS], profile, again;
	struct like_costs costs = costs_of(probed, target);
	struct buf text = BUF_INIT;
	struct assay_error err;

	(void)state;
	load_probes(probes);
	like_fit(&costs, probes, doses);
	assert_true(doses[0] > 3 && doses[3] > 1);
	for (size_t k = 0; k < LIKE_KNOBS; k++)
		doses[k] = doses[k] > 0 ? doses[k] : .5;
	profile = like_profile(probes, doses);
	assert_int_equal(profile.divisions[SHAPE_DATA], SHAPE_LEVEL_MAX);
	assert_int_equal(profile.compare, 3); /* half of three calls more */
	assert_int_equal(profile.hog_mib, 48);
	emulate_profile_write(&profile, &text);
	check(emulate_profile_parse("f", "like", text.bytes, text.size, &again, &err), &err);
	assert_memory_equal(profile.divisions, again.divisions, sizeof(profile.divisions));
	assert_int_equal(again.hog_percent, 50);
	assert_int_equal(again.interrupts, profile.interrupts);
	assert_int_equal(again.page_walks, profile.page_walks);
	emulate_profile_release(&again);
	buf_release(&text);
	release_probes(probes);
}

int suite_like(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_fit), cmocka_unit_test(test_limits) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
