/* Counts from the time of runs under doses: drawn runs of known counts. */
#include "base/mem.h"
#include "base/rng.h"
#include "runs/shapes/counts.h"
#include "tests/scratch.h"

#include <math.h>

#define ROUNDS 3
#define BASE_S .5
#define NOISE  .02
#define WORKS  .6 /* of the time; it waits in the rest */
#define USUAL  1000.
#define LARGE  10000.

static const double truth[SHAPES] = { [SHAPE_DATA] = 300000, [SHAPE_METADATA] = 20000, [SHAPE_MAPPING] = 900 };

static void add_pair(struct counts *c, enum shape_means means, bool large, double ns)
{
	struct count_dose *dose = &c->doses[means][large];

	dose->pairs = mem_grow(dose->pairs, dose->n, &dose->capacity, sizeof(*dose->pairs));
	dose->pairs[dose->n++] = ns;
}

/* work: how much of it is done. */
static void add_run(struct counts *c, struct rng *rng, unsigned shape, bool large, double work)
{
	double dose_s = shape == SHAPES ? 0 : (large ? LARGE : USUAL) / 1e9, calls = shape == SHAPES ? 0 : truth[shape] * work;
	double own = BASE_S * work * (1 + NOISE * rng_normal(rng)), dearer = calls * dose_s * (1 + NOISE * rng_normal(rng));

	c->runs = mem_grow(c->runs, c->n, &c->capacity, sizeof(*c->runs));
	c->runs[c->n++] = (struct count_run){ .shape = shape,
					      .large = large,
					      .cpu_s = own + dearer,
					      .wall_s = BASE_S / WORKS * (1 - WORKS) + (shape_is_slowdown(shape) ? 1.2 : 1) * own,
					      .user_s = .6 * own,
					      .faults = 5000 * work,
					      .bytes = 1e8 * work,
					      .transfers = 300010 * work };
	if (shape != SHAPES)
		add_pair(c, shapes[shape].means, large,
			 shape_is_slowdown(shape) ? 200 * (1 + NOISE * rng_normal(rng)) : 1e9 * dose_s * (1 + NOISE * rng_normal(rng)));
}

static void draw(struct counts *c, struct rng *rng)
{
	*c = (struct counts){ .n = 0 };
	for (size_t round = 0; round < ROUNDS; round++) {
		add_run(c, rng, SHAPES, false, 1);
		for (unsigned shape = 0; shape < SHAPES; shape++)
			add_run(c, rng, shape, round > 0 && shape != SHAPE_DATA && !shape_is_slowdown(shape), 1);
		add_run(c, rng, SHAPES, false, 1);
	}
	counts_estimate(c);
}

static void test_intervals(void **state)
{
	struct rng rng;
	size_t held = 0, all = 0;

	(void)state;
	rng_seed(&rng, 16);
	for (int i = 0; i < 200; i++) {
		struct counts c;

		draw(&c, &rng);
		assert_true(c.less <= 0);
		for (unsigned shape = 0; shape < SHAPES; shape++) {
			const struct count *count = &c.of[shape];

			double true_n = shape_is_slowdown(shape) ? 1e6 * BASE_S : truth[shape];

			assert_true(count->low <= count->n && count->n <= count->high);
			held += count->low <= true_n && true_n <= count->high;
			all++;
		}
		assert_true(fabs(c.of[SHAPE_DATA].n / 3e5 - 1) < .15);
		assert_true(fabs(c.of[SHAPE_METADATA].n / 2e4 - 1) < .25);
		assert_true(fabs(c.of[SHAPE_PROCESSOR].n / 1e6 / c.base_wall_s - WORKS) < .2);
		counts_release(&c);
	}
	if ((double)held < .87 * (double)all || (double)held > .99 * (double)all)
		fail_msg("%zu of %zu intervals hold the count", held, all);
}

/* A command that runs for a given time does the less, the dearer its calls. */
static void test_time_limited(void **state)
{
	struct rng rng;
	struct counts c = { .n = 0 };

	(void)state;
	rng_seed(&rng, 17);
	for (size_t round = 0; round < 2; round++) {
		add_run(&c, &rng, SHAPES, false, 1);
		for (unsigned shape = 0; shape < SHAPES; shape++)
			add_run(&c, &rng, shape, round > 0 && !shape_is_slowdown(shape),
				BASE_S / (BASE_S + truth[shape] * (round ? LARGE : USUAL) / 1e9));
		add_run(&c, &rng, SHAPES, false, 1);
	}
	counts_estimate(&c);
	assert_true(c.less > .1);
	assert_true(isnan(c.of[SHAPE_DATA].n) && isnan(c.of[SHAPE_TIME].low));
	counts_release(&c);
}

/* With fewer processors a command may do less of everything; but it forgets nothing because its pages are forgotten. */
static void test_less_on_request(void **state)
{
	static const struct {
		unsigned shape;
		bool less;
	} rows[] = { { SHAPE_CORES, false }, { SHAPE_WALKS, true } };

	(void)state;
	for (size_t r = 0; r < COUNT(rows); r++) {
		struct counts c;
		struct rng rng;

		rng_seed(&rng, 20);
		draw(&c, &rng);
		for (size_t i = 0; i < c.n; i++)
			c.runs[i].faults *= c.runs[i].shape == rows[r].shape ? .5 : 1;
		counts_estimate(&c);
		assert_int_equal(c.less > 0, rows[r].less);
		counts_release(&c);
	}
}

/* What was slowed down by nothing says nothing. */
static void test_no_dose(void **state)
{
	struct counts c;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 21);
	draw(&c, &rng);
	assert_true(!isnan(c.of[SHAPE_QUOTA].n));
	for (size_t i = 0; i < c.doses[SHAPE_GROUP_CPU][0].n; i++)
		c.doses[SHAPE_GROUP_CPU][0].pairs[i] = i % 2 ? -20 : 30;
	counts_estimate(&c);
	assert_true(isnan(c.of[SHAPE_QUOTA].n) && isnan(c.of[SHAPE_QUOTA].low));
	assert_true(!isnan(c.of[SHAPE_PROCESSOR].n));
	counts_release(&c);
}

/* How often pipes are read varies by itself. */
static void test_pipes(void **state)
{
	struct counts c = { .n = 0 };
	struct rng rng;

	(void)state;
	rng_seed(&rng, 19);
	draw(&c, &rng);
	for (size_t i = 0; i < c.n; i++)
		c.runs[i].transfers = 2000 + (double)rng_below(&rng, 600);
	counts_estimate(&c);
	assert_true(c.less <= 0);
	counts_release(&c);
}

/* One that does nothing but calls: neither its memory nor what it reads tells. */
static void test_contradiction(void **state)
{
	struct counts c = { .n = 0 };
	struct rng rng;

	(void)state;
	rng_seed(&rng, 18);
	draw(&c, &rng);
	assert_false(c.contradiction);
	for (size_t i = 0; i < c.n; i++) {
		c.runs[i].cpu_s = BASE_S * (1 + .001 * rng_normal(&rng));
		c.runs[i].user_s = .05;
		c.runs[i].faults = c.runs[i].transfers = c.runs[i].bytes = 100;
	}
	counts_estimate(&c);
	assert_true(c.contradiction);
	assert_true(isnan(c.of[SHAPE_METADATA].n));
	counts_release(&c);
}

static void test_refused(void **state)
{
	struct counts c = { .n = 0 };

	(void)state;
	for (unsigned shape = 0; shape < SHAPES; shape++)
		c.of[shape].refused = mem_string("no filters here");
	counts_estimate(&c);
	assert_true(isnan(c.of[SHAPE_DATA].n));
	counts_release(&c);
}

int suite_counts(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_intervals),     cmocka_unit_test(test_time_limited), cmocka_unit_test(test_pipes),
		cmocka_unit_test(test_contradiction), cmocka_unit_test(test_refused),	   cmocka_unit_test(test_less_on_request),
		cmocka_unit_test(test_no_dose),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
