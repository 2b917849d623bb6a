/* z-scores, gaps and order of the heat map. */
#include "gate/report/report.c"

#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

enum { MACHINES_MAX = 16, STRESSORS_MAX = 16 };

/* Fingerprints of one pass, rates in rows; borrowed names. */
struct made_sample {
	struct fingerprint_set set;
	struct fingerprint items[MACHINES_MAX];
	const struct fingerprint *chosen[MACHINES_MAX];
	char *names[STRESSORS_MAX];
	double rates[MACHINES_MAX * STRESSORS_MAX], real[MACHINES_MAX * STRESSORS_MAX];
	int64_t pass;
};

static char battery[] = "b", hash[] = "h", other_hash[] = "other", version[] = "1", machine_names[MACHINES_MAX][24],
	    stressor_names[STRESSORS_MAX][24];

static void sample_init(struct made_sample *s, size_t machines, size_t stressors, const double *rates)
{
	*s = (struct made_sample){ .pass = 1 };
	memcpy(s->rates, rates, machines * stressors * sizeof(double));
	for (size_t j = 0; j < stressors; j++) {
		snprintf(stressor_names[j], sizeof(stressor_names[j]), "s%02zu", j);
		s->names[j] = stressor_names[j];
	}
	for (size_t i = 0; i < machines; i++) {
		snprintf(machine_names[i], sizeof(machine_names[i]), "m%02zu", i);
		s->items[i] = (struct fingerprint){ .machine = machine_names[i],
						    .battery = battery,
						    .battery_hash = hash,
						    .stress_ng = version,
						    .architecture = version,
						    .origin = version,
						    .passes = &s->pass,
						    .n_passes = 1,
						    .rates = &s->rates[i * stressors],
						    .real_rates = &s->real[i * stressors] };
		s->chosen[i] = &s->items[i];
	}
	s->set = (struct fingerprint_set){ s->names, stressors, s->items, machines };
}

static size_t row_of(const struct heatmap *map, const struct fingerprint *f)
{
	size_t i = 0;

	while (i < map->z.rows && map->fingerprints[i] != f)
		i++;
	return i;
}

static size_t column_of(const struct heatmap *map, size_t stressor)
{
	size_t j = 0;

	while (j < map->z.cols && map->stressors[j] != stressor)
		j++;
	return j;
}

/* Logs 0, 1, 2 have mean 1 and standard deviation 1. */
static void test_scores(void **state)
{
	const double e = exp(1), rates[] = { 1, 5, 7, e, 5, (double)NAN, e * e, 5, 0 };
	struct made_sample s;
	struct heatmap map;

	(void)state;
	sample_init(&s, 3, 3, rates);
	heatmap_of(&s.set, s.chosen, 3, &map);
	assert_int_equal(map.z.rows, 3);
	assert_int_equal(map.z.cols, 3);
	for (size_t i = 0; i < 3; i++) {
		size_t row = row_of(&map, &s.items[i]);

		assert_true(fabs(mat_get(&map.z, row, column_of(&map, 0)) - ((double)i - 1)) < 1e-12);
		assert_true(mat_get(&map.z, row, column_of(&map, 1)) == 0); /* the same everywhere */
		assert_true(fabs(mat_get(&map.rate, row, column_of(&map, 0)) - rates[3 * i]) < 1e-12);
		/* Absent, and recorded 0, are gaps; one value alone is the mean. */
		assert_true(i == 0 ? mat_get(&map.z, row, column_of(&map, 2)) == 0 : isnan(mat_get(&map.z, row, column_of(&map, 2))) != 0);
	}
	heatmap_release(&map);
}

static void test_unmeasured(void **state)
{
	const double rates[] = { 1, 0, (double)NAN, 2, 0, (double)NAN };
	struct made_sample s;
	struct heatmap map;

	(void)state;
	sample_init(&s, 2, 3, rates);
	heatmap_of(&s.set, s.chosen, 2, &map);
	assert_int_equal(map.z.cols, 1);
	assert_int_equal(map.n_unmeasured, 1); /* tried and 0; the third belongs to another battery, as far as these fingerprints say */
	assert_int_equal(map.unmeasured[0], 1);
	heatmap_release(&map);
}

static void test_incomparable(void **state)
{
	const double rates[] = { 1, 2, 3, 4 };
	struct made_sample s;
	struct heatmap map;

	(void)state;
	sample_init(&s, 4, 1, rates);
	s.items[0].battery_hash = other_hash;
	heatmap_of(&s.set, s.chosen, 4, &map);
	assert_int_equal(map.z.rows, 3);
	assert_int_equal(map.incomparable, 1);
	assert_int_equal(row_of(&map, &s.items[0]), 3); /* not there */
	heatmap_release(&map);
}

static void test_nothing(void **state)
{
	struct made_sample s;
	struct heatmap map;
	double none = 0;

	(void)state;
	sample_init(&s, 0, 1, &none);
	heatmap_of(&s.set, s.chosen, 0, &map);
	assert_int_equal(map.z.rows, 0);
	assert_int_equal(map.z.cols, 0);
	heatmap_release(&map);
}

/* Three kinds of machines and three of stressors, dealt out in turn: each kind comes out together. */
static void test_order(void **state)
{
	enum { N = 12, KINDS = 3 };
	double rates[N * N];
	struct rng rng;
	struct made_sample s;
	struct heatmap map;
	size_t row_changes = 0, column_changes = 0;

	(void)state;
	rng_seed(&rng, 3);
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < N; j++)
			rates[i * N + j] = exp((double)((i % KINDS + 1) * (j % KINDS + 1) % 4) + .05 * rng_normal(&rng));
	sample_init(&s, N, N, rates);
	heatmap_of(&s.set, s.chosen, N, &map);
	for (size_t k = 1; k < N; k++) {
		row_changes += (size_t)(map.fingerprints[k] - s.items) % KINDS != (size_t)(map.fingerprints[k - 1] - s.items) % KINDS;
		column_changes += map.stressors[k] % KINDS != map.stressors[k - 1] % KINDS;
	}
	assert_int_equal(row_changes, KINDS - 1);
	assert_int_equal(column_changes, KINDS - 1);
	heatmap_release(&map);
}

int suite_heatmap(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scores),	cmocka_unit_test(test_unmeasured), cmocka_unit_test(test_incomparable),
		cmocka_unit_test(test_nothing), cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
