#include "gate/profile/levels.h"

#include "base/mem.h"
#include "base/rng.h"

#include "tests/scratch.h"

#include <math.h>

static void assert_near(double is, double wanted)
{
	assert_true(fabs(is - wanted) < 1e-12);
}

static void assert_shares(const struct levels *levels, double compute, double kernel, double waiting)
{
	assert_near(levels->of[LEVEL_COMPUTE].share, compute);
	assert_near(levels->of[LEVEL_KERNEL].share, kernel);
	assert_near(levels->of[LEVEL_WAITING].share, waiting);
}

static void test_one_run(void **state)
{
	static const struct level_run waits = { "a", 10, 2, 3, 0, 0, 0, 0 }, parallel = { "a", 10, 30, 10, 0, 0, 0, 0 },
				      delayed = { "a", 10, 2, 2, 5, 5, 0, 0 }, crowded = { "a", 10, 2, 3, 0, 4, 0, 0 },
				      unknown = { "a", 10, 2, 3, 0, (double)NAN, 0, 0 }, nothing = { "a", 0, 0, 0, 0, 0, 0, 0 };
	struct levels levels;

	(void)state;
	levels_compute(&waits, 1, &levels);
	assert_shares(&levels, .2, .3, .5);
	assert_true(levels.runs == 1 && levels.machines == 1 && levels.certain && isnan(levels.of[0].low) && isnan(levels.of[0].high));
	levels_compute(&parallel, 1, &levels);
	assert_shares(&levels, .75, .25, 0);
	levels_compute(&delayed, 1, &levels); /* others used the CPU for half of the time, which does not count as the program's own */
	assert_shares(&levels, .4, .4, .2);
	assert_near(levels.run_delay_share, .5);
	assert_true(levels.certain);
	levels_compute(&crowded, 1, &levels); /* it may have waited for a CPU for four tenths of its time */
	assert_shares(&levels, .2, .3, .5);
	assert_near(levels.doubt, .4);
	assert_false(levels.certain);
	levels_compute(&unknown, 1, &levels);
	assert_true(isnan(levels.doubt) && !levels.certain);
	levels_compute(&nothing, 1, &levels);
	assert_true(levels.runs == 0);
	levels_compute(NULL, 0, &levels);
	assert_true(levels.runs == 0);
}

/* Checks that each machine counts once, whatever the number and the order of its runs. */
static void test_machines(void **state)
{
	static const struct level_run runs[] = { { "b", 10, 10, 0, 0, 0, 0, 0 },
						 { "a", 10, 0, 10, 0, 0, 0, 0 },
						 { "b", 10, 10, 0, 0, 0, 0, 0 },
						 { "b", 10, 5, 0, 0, 0, 0, 0 },
						 { "c", 0, 0, 0, 0, 0, 0, 0 } };
	struct level_run other[COUNT(runs)];
	struct levels levels, again;

	(void)state;
	levels_compute(runs, COUNT(runs), &levels);
	assert_int_equal(levels.runs, 4);
	assert_int_equal(levels.machines, 2);
	assert_shares(&levels, 2.5 / 3 / 2, .5, .5 / 3 / 2);
	for (size_t i = 0; i < COUNT(runs); i++)
		other[i] = runs[COUNT(runs) - 1 - i];
	levels_compute(other, COUNT(runs), &again);
	for (size_t level = 0; level < LEVELS; level++) {
		assert_near(again.of[level].share, levels.of[level].share);
		assert_true(levels.of[level].low <= levels.of[level].share && levels.of[level].share <= levels.of[level].high);
	}
}

/* Checks that other threads' run-queue delay is not the program's own waiting, as far as none of its threads ran at that time. */
static void test_others_delay(void **state)
{
	struct helper_result serial = { .wall_ns = 1000000000, .user_us = 500000, .run_delay_ns = 100000000, .others_delay_ns = 150000000 },
			     parallel = serial, unknown = serial;

	(void)state;
	assert_near(level_run_make("a", &serial, 1, 0).delay, .1 + .15 * .9); /* for a tenth of that time, the first thread waited, too */
	assert_near(level_run_make("a", &serial, 1, 0).max_delay, .25);
	parallel.user_us = 850000;
	assert_near(level_run_make("a", &parallel, 1, 0).delay, .1);
	assert_near(level_run_make("a", &parallel, 1, 0).max_delay, .15);
	parallel.user_us = 1900000;
	assert_near(level_run_make("a", &parallel, 1, 0).delay, .1);
	unknown.others_delay_ns = -1;
	assert_near(level_run_make("a", &unknown, 1, 0).delay, .1);
}

/* Checks that other programs on the host cause no doubt about a single thread, whose delays the kernel measures exactly. */
static void test_single(void **state)
{
	struct helper_result result = {
		.wall_ns = 1000000000, .user_us = 500000, .run_delay_ns = 100000000, .others_delay_ns = 0, .crowded_ns = 400000000
	};

	(void)state;
	assert_near(level_run_make("a", &result, 1, 0).delay, .1);
	assert_near(level_run_make("a", &result, 1, 0).max_delay, .1);
	assert_near(level_run_make("a", &result, 2, 0).max_delay, .4);
	result.busy_ns = 550000000; /* other programs ran for 0.05 s: the rest of the crowding is the program's own threads */
	assert_near(level_run_make("a", &result, 2, 0).max_delay, .1 + .05 + .01);
	result.busy_ns = 1900000000;
	assert_near(level_run_make("a", &result, 2, 0).max_delay, .4);
	result.crowded_ns = -1; /* without /proc, both are unknown */
	assert_true(isnan(level_run_make("a", &result, 1, 0).max_delay));
	result.crowded_ns = 400000000;
	result.others_delay_ns = -1; /* it is unknown whether there is only one thread */
	assert_near(level_run_make("a", &result, 1, 0).max_delay, .4);
}

/* Checks that waiting that may have been run-queue delay is uncertain. The other shares change only in proportion to their size. */
static void test_doubt_by_level(void **state)
{
	static const struct level_run busy = { "a", 10, 6.5, 1, 0, .7, 0, 0 };
	const struct level_run runs[] = { busy, busy };
	struct levels levels;

	(void)state;
	levels_compute(runs, 2, &levels);
	assert_near(levels.doubt, .07);
	assert_false(levels.certain || level_is_trusted(&levels, LEVEL_WAITING));
	assert_true(level_is_trusted(&levels, LEVEL_COMPUTE) && level_is_trusted(&levels, LEVEL_KERNEL)); /* .65 of .07 is .0455 */
}

/* Checks that several threads can hide waiting: one of two ran for at least half of the CPU time, so waiting is at most the rest. */
static void test_several(void **state)
{
	static const struct level_run one = { "a", 1, .6, .2, 0, 0, 0, 1 }, two = { "a", 1, .6, .2, 0, 0, 0, 2 };
	const struct level_run singles[] = { one, one }, pairs[] = { two, two };
	struct levels levels;

	(void)state;
	levels_compute(singles, 2, &levels);
	assert_shares(&levels, .6, .2, .2);
	assert_true(levels.single && level_is_trusted(&levels, LEVEL_WAITING));
	assert_near(levels.of[LEVEL_WAITING].high, .2);
	levels_compute(pairs, 2, &levels);
	assert_shares(&levels, .6, .2, .2);
	assert_near(levels.hidden, .6 / 1.4 - .2);
	assert_near(levels.of[LEVEL_WAITING].high, .6 / 1.4);
	assert_near(levels.of[LEVEL_COMPUTE].low, .6 / 1.4);
	assert_near(levels.of[LEVEL_COMPUTE].high, .6 + (.6 - .6 / 1.4)); /* the shares of their work are also uncertain */
	assert_false(levels.single || level_is_trusted(&levels, LEVEL_WAITING));
	assert_true(level_is_trusted(&levels, LEVEL_COMPUTE));
}

/* Checks that the interval covers the mean of the distribution of runs, for many runs and for three. */
static void test_interval(void **state)
{
	static const size_t sizes[] = { 20, 3 };
	struct rng rng;

	(void)state;
	rng_seed(&rng, 3);
	for (size_t size = 0; size < COUNT(sizes); size++) {
		size_t covered = 0;

		for (size_t trial = 0; trial < 1000; trial++) {
			struct level_run runs[20];
			struct levels levels;

			for (size_t i = 0; i < sizes[size]; i++)
				runs[i] = (struct level_run){ "a", 1, .6 + .05 * rng_normal(&rng), .2, 0, 0, 0, 0 };
			levels_compute(runs, sizes[size], &levels);
			covered += levels.of[LEVEL_COMPUTE].low <= .6 && .6 <= levels.of[LEVEL_COMPUTE].high;
			assert_near(levels.of[0].share + levels.of[1].share + levels.of[2].share, 1);
		}
		assert_in_range(covered, 875, 925);
	}
}

/* Checks that if waiting may be run-queue delay, its lower bound falls, and the upper bounds of the other shares rise. */
static void test_doubt(void **state)
{
	static const struct level_run run = { "a", 1.1, .3, .2, .1, .14, 0, 0 }; /* a single thread, which certainly waited a tenth */
	const struct level_run runs[] = { run, run };
	struct levels levels;

	(void)state;
	levels_compute(runs, 2, &levels);
	assert_shares(&levels, .3, .2, .5);
	assert_near(levels.of[LEVEL_WAITING].low, .5 - .04);
	assert_near(levels.of[LEVEL_WAITING].high, .5);
	assert_near(levels.of[LEVEL_COMPUTE].high, .3 + .3 * .04);
}

/* Checks short processes: their computing may be the kernel's work. The interval shows this, and the text does not divide the time. */
static void test_ticks(void **state)
{
	static const struct level_run short_runs[] = { { "a", .002, .001, 0, 0, 0, .001, 0 }, { "a", .002, .001, 0, 0, 0, .001, 0 } },
				      waits = { "a", 10, .001, 0, 0, 0, .001, 0 }, one_tick = { "a", .002, 0, .001, 0, 0, .001, 0 };
	struct levels levels;
	char *text;

	(void)state;
	assert_near(level_uncertain_time(.001, 1, .004), .001);
	assert_near(level_uncertain_time(.004, 1, .004), 0);
	assert_near(level_uncertain_time(1, 100, .004), .4);
	assert_near(level_uncertain_time(.1, 100, .004), .1);
	levels_compute(short_runs, COUNT(short_runs), &levels);
	assert_shares(&levels, .5, 0, .5);
	assert_near(levels.uncertain_time, .5);
	assert_true(levels.certain && !levels.divided);
	assert_near(levels.of[LEVEL_COMPUTE].low, 0);
	assert_near(levels.of[LEVEL_KERNEL].high, .5);
	assert_near(levels.of[LEVEL_WAITING].low, .5);
	text = levels_text(&levels, NULL);
	assert_string_equal(text, "50 % of its time computing or in the kernel and 50 % waiting");
	free(text);
	levels_compute(&one_tick, 1, &levels); /* the tick hit the kernel, which does not prove that the time before it was the kernel's */
	assert_true(!levels.divided);
	levels_compute(&waits, 1, &levels);
	assert_true(levels.divided);
}

static void test_text(void **state)
{
	static const struct level_run run = { "a", 10, 2, 3, 0, 0, 0, 0 };
	struct levels levels;
	char *text;

	(void)state;
	levels_compute(&run, 1, &levels);
	text = levels_text(&levels, NULL);
	assert_string_equal(text, "50 % of its time waiting, 30 % in the kernel and 20 % computing");
	free(text);
}

int suite_levels(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_run), cmocka_unit_test(test_machines),       cmocka_unit_test(test_others_delay),
		cmocka_unit_test(test_single),	cmocka_unit_test(test_doubt_by_level), cmocka_unit_test(test_several),
		cmocka_unit_test(test_doubt),	cmocka_unit_test(test_interval),       cmocka_unit_test(test_ticks),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
