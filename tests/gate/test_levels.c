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
	static const struct level_run waits = { "a", 10, 2, 3, 0, 0, 0, 0, 0 }, parallel = { "a", 10, 30, 10, 0, 0, 0, 0, 0 },
				      delayed = { "a", 10, 2, 2, 5, 5, 0, 0, 0 }, crowded = { "a", 10, 2, 3, 0, 4, 0, 0, 0 },
				      unknown = { "a", 10, 2, 3, 0, (double)NAN, 0, 0, 0 }, nothing = { "a", 0, 0, 0, 0, 0, 0, 0, 0 };
	struct levels levels;

	(void)state;
	levels_of(&waits, 1, &levels);
	assert_shares(&levels, .2, .3, .5);
	assert_true(levels.runs == 1 && levels.machines == 1 && levels.certain && isnan(levels.of[0].low) && isnan(levels.of[0].high));
	levels_of(&parallel, 1, &levels);
	assert_shares(&levels, .75, .25, 0);
	levels_of(&delayed, 1, &levels); /* others had the processor for half of the time, which is none of its own */
	assert_shares(&levels, .4, .4, .2);
	assert_near(levels.delay, .5);
	assert_true(levels.certain);
	levels_of(&crowded, 1, &levels); /* it may have been kept waiting for four tenths of its time */
	assert_shares(&levels, .2, .3, .5);
	assert_near(levels.doubt, .4);
	assert_false(levels.certain);
	levels_of(&unknown, 1, &levels);
	assert_true(isnan(levels.doubt) && !levels.certain);
	levels_of(&nothing, 1, &levels);
	assert_true(levels.runs == 0);
	levels_of(NULL, 0, &levels);
	assert_true(levels.runs == 0);
}

/* Every machine counts once, however often the version ran there, and in whatever order. */
static void test_machines(void **state)
{
	static const struct level_run runs[] = { { "b", 10, 10, 0, 0, 0, 0, 0, 0 },
						 { "a", 10, 0, 10, 0, 0, 0, 0, 0 },
						 { "b", 10, 10, 0, 0, 0, 0, 0, 0 },
						 { "b", 10, 5, 0, 0, 0, 0, 0, 0 },
						 { "c", 0, 0, 0, 0, 0, 0, 0, 0 } };
	struct level_run other[COUNT(runs)];
	struct levels levels, again;

	(void)state;
	levels_of(runs, COUNT(runs), &levels);
	assert_int_equal(levels.runs, 4);
	assert_int_equal(levels.machines, 2);
	assert_shares(&levels, 2.5 / 3 / 2, .5, .5 / 3 / 2);
	for (size_t i = 0; i < COUNT(runs); i++)
		other[i] = runs[COUNT(runs) - 1 - i];
	levels_of(other, COUNT(runs), &again);
	for (size_t level = 0; level < LEVELS; level++) {
		assert_near(again.of[level].share, levels.of[level].share);
		assert_true(levels.of[level].low <= levels.of[level].share && levels.of[level].share <= levels.of[level].high);
	}
}

/* What other threads have waited for is no waiting of the program's, as far as none of it was at work meanwhile. */
static void test_others_delay(void **state)
{
	struct helper_result serial = { .wall_ns = 1000000000,
					.user_us = 500000,
					.run_delay_ns = 100000000,
					.others_delay_ns = 150000000,
					.idle_ns = -1 },
			     parallel = serial, unknown = serial;

	(void)state;
	assert_near(level_run_of("a", &serial, 1).delay, .1 + .15 * .9); /* for a tenth of it the first one waited, too */
	assert_near(level_run_of("a", &serial, 1).crowded, .25);
	parallel.user_us = 850000;
	assert_near(level_run_of("a", &parallel, 1).delay, .1);
	assert_near(level_run_of("a", &parallel, 1).crowded, .15);
	parallel.user_us = 1900000;
	assert_near(level_run_of("a", &parallel, 1).delay, .1);
	unknown.others_delay_ns = -1;
	assert_near(level_run_of("a", &unknown, 1).delay, .1);
}

/* How crowded the host was is no doubt of a single thread, which the kernel accounts exactly. */
static void test_single(void **state)
{
	struct helper_result result = { .wall_ns = 1000000000,
					.user_us = 500000,
					.run_delay_ns = 100000000,
					.others_delay_ns = 0,
					.idle_ns = -1,
					.crowded_ns = 400000000 };

	(void)state;
	assert_near(level_run_of("a", &result, 1).delay, .1);
	assert_near(level_run_of("a", &result, 1).crowded, .1);
	assert_near(level_run_of("a", &result, 2).crowded, .4);
	result.crowded_ns = -1; /* without /proc neither is known */
	assert_true(isnan(level_run_of("a", &result, 1).crowded));
	result.crowded_ns = 400000000;
	result.others_delay_ns = -1; /* it is not known whether it is one */
	assert_near(level_run_of("a", &result, 1).crowded, .4);
}

/* Where all processors were seen, it is known for how long none of several had one, whatever the accounts say; and threads that wait for
 * each other are kept waiting by nobody. */
static void test_idle(void **state)
{
	struct helper_result result = { .wall_ns = 1000000000,
					.user_us = 900000,
					.sys_us = 50000,
					.run_delay_ns = 200000000,
					.others_delay_ns = -1,
					.idle_ns = 200000000 };
	static const struct helper_result pipe = { .wall_ns = 1900000000,
						   .user_us = 730000,
						   .run_delay_ns = 15000000,
						   .others_delay_ns = 1230000000,
						   .idle_ns = 1170000000,
						   .shut_out_ns = 1175000000 };
	struct level_run runs[2] = { level_run_of("a", &result, 1) };
	struct levels levels;

	(void)state;
	assert_near(level_run_of("a", &pipe, 1).delay, 1.17); /* while none was at work, others were everywhere */
	assert_near(runs[0].delay, 0);			      /* it was ready, but a processor was idle, and had to wake up */
	levels_of(runs, 1, &levels);
	assert_shares(&levels, .9 / 1.15, .05 / 1.15, .2 / 1.15);
	result.shut_out_ns = 80000000; /* seen in a part of the time */
	runs[0] = level_run_of("a", &result, 1);
	assert_near(runs[0].delay, .08);
	assert_near(runs[0].crowded, .16);
	levels_of(runs, 1, &levels);
	assert_shares(&levels, .9 / 1.07, .05 / 1.07, .12 / 1.07);
	result.run_delay_ns = 20000000; /* children that ended soon have said nothing */
	assert_near(level_run_of("a", &result, 1).delay, .02);
	assert_near(level_run_of("a", &result, 1).crowded, .16);
	result.run_delay_ns = 200000000;
	result.shut_out_ns = 300000000;
	assert_near(level_run_of("a", &result, 1).delay, .2);
	assert_near(level_run_of("a", &result, 1).crowded, .2); /* for no longer was none at work */
	result.idle_ns = 0;					/* one was at work all the time */
	runs[0] = level_run_of("a", &result, 1);
	assert_near(runs[0].delay, 0);
	levels_of(runs, 1, &levels);
	assert_shares(&levels, .9 / .95, .05 / .95, 0);
	runs[0] = runs[1] =
	    (struct level_run){ "a", 1.1, .7, .1, .2, .2, 0, 0, .4 }; /* of what it waited for a processor, so much may be its own */
	levels_of(runs, 2, &levels);
	assert_shares(&levels, .7, .1, .2);
	assert_near(levels.of[LEVEL_WAITING].high, .2 + hypot(.05, .0005));
	assert_near(levels.of[LEVEL_COMPUTE].low, .7 - .7 * .05);
}

/* What threads have waited for each other is not others' doing: these had the processors for less. By machine, and only where it is known.
 */
static void test_foreign(void **state)
{
	struct level_run runs[] = {
		{ "a", 1, .5, 0, .2, .4, 0, .01, 0 }, { "b", 1, .5, 0, .2, .4, 0, .5, 0 },	    { "a", 1, .5, 0, .3, .3, 0, .07, 0 },
		{ "c", 1, .5, 0, .2, .4, 0, 0, 0 },   { "d", 1, .5, 0, .1, (double)NAN, 0, .2, 0 }, { "e", 1, .5, 0, .1, .3, 0, .19, 0 },
	};
	double slack = .01 * sqrt(2), a = (.08 + slack) / .5;

	(void)state;
	levels_bound(runs, COUNT(runs));
	assert_near(runs[0].delay, .2 * a);
	assert_near(runs[2].delay, .3 * a);
	assert_near(runs[0].crowded, runs[0].delay);
	assert_near(runs[1].delay, .2);
	assert_near(runs[1].crowded, .4);
	assert_near(runs[3].delay, .2);
	assert_near(runs[3].crowded, .4);
	assert_near(runs[4].crowded, .21);
	assert_near(runs[5].delay, .1);
	assert_near(runs[5].crowded, .2);
}

/* The interval covers the mean that runs are drawn around, of many runs and of three. */
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
				runs[i] = (struct level_run){ "a", 1, .6 + .05 * rng_normal(&rng), .2, 0, 0, 0, 0, 0 };
			levels_of(runs, sizes[size], &levels);
			covered += levels.of[LEVEL_COMPUTE].low <= .6 && .6 <= levels.of[LEVEL_COMPUTE].high;
			assert_near(levels.of[0].share + levels.of[1].share + levels.of[2].share, 1);
		}
		assert_in_range(covered, 875, 925);
	}
}

/* What may have been waiting for a processor is no waiting of its own, and the rest of the time the larger part. */
static void test_doubt(void **state)
{
	static const struct level_run run = { "a", 1.1, .3, .2, .1, .14, 0, 0, 0 }; /* a single thread is known to have waited a tenth */
	const struct level_run runs[] = { run, run };
	struct levels levels;

	(void)state;
	levels_of(runs, 2, &levels);
	assert_shares(&levels, .3, .2, .5);
	assert_near(levels.of[LEVEL_WAITING].low, .5 - hypot(hypot(.04, .0002), .0005));
	assert_near(levels.of[LEVEL_WAITING].high, .5005);
	assert_near(levels.of[LEVEL_COMPUTE].high, .3 + hypot(.3 * .04, .0002));
}

/* What short processes are said to compute may be the kernel's work: the interval says so, and the text does not divide it. */
static void test_ticks(void **state)
{
	static const struct level_run short_runs[] = { { "a", .002, .001, 0, 0, 0, .001, 0, 0 }, { "a", .002, .001, 0, 0, 0, .001, 0, 0 } },
				      waits = { "a", 10, .001, 0, 0, 0, .001, 0, 0 }, one_tick = { "a", .002, 0, .001, 0, 0, .001, 0, 0 };
	struct levels levels;
	char *text;

	(void)state;
	assert_near(level_blurred(.001, 1, .004), .001);
	assert_near(level_blurred(.004, 1, .004), 0);
	assert_near(level_blurred(1, 100, .004), .4);
	assert_near(level_blurred(.1, 100, .004), .1);
	levels_of(short_runs, COUNT(short_runs), &levels);
	assert_shares(&levels, .5, 0, .5);
	assert_near(levels.blurred, .5);
	assert_true(levels.certain && !levels.divided);
	assert_near(levels.of[LEVEL_COMPUTE].low, 0);
	assert_near(levels.of[LEVEL_KERNEL].high, hypot(.5, .1));	  /* waiting may have been after the end: of 2 ms .2 */
	assert_near(levels.of[LEVEL_WAITING].low, .5 - hypot(.1, .0005)); /* and the accounts do not agree to the last */
	text = levels_text(&levels, NULL);
	assert_string_equal(text, "50 % of its time computing or in the kernel and 50 % waiting");
	free(text);
	levels_of(&one_tick, 1, &levels); /* it met the kernel, which need not have been there before */
	assert_true(!levels.divided);
	levels_of(&waits, 1, &levels);
	assert_true(levels.divided);
}

static void test_text(void **state)
{
	static const struct level_run run = { "a", 10, 2, 3, 0, 0, 0, 0, 0 };
	struct levels levels;
	char *text;

	(void)state;
	levels_of(&run, 1, &levels);
	text = levels_text(&levels, NULL);
	assert_string_equal(text, "50 % of its time waiting, 30 % in the kernel and 20 % computing");
	free(text);
}

int suite_levels(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_run), cmocka_unit_test(test_machines), cmocka_unit_test(test_others_delay),
		cmocka_unit_test(test_single),	cmocka_unit_test(test_idle),	 cmocka_unit_test(test_doubt),
		cmocka_unit_test(test_foreign), cmocka_unit_test(test_interval), cmocka_unit_test(test_ticks),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
