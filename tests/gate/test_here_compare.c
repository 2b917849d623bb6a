/* Two commands on one machine: what is decided of made runs, and what is said. */
#include "base/mem.h"
#include "base/rng.h"
#include "gate/here/here.c"
#include "tests/scratch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 40

static struct level_run run_of(double wall, double cpu, double delay)
{
	return (struct level_run){ .machine = "here", .wall = wall, .user = cpu, .delay = delay };
}

static void assert_says(const struct here_effects *e, const char *causes, const char *begin, const char *within)
{
	char *text = here_effects_text(e, RUNS, causes);

	if (strncmp(text, begin, strlen(begin)) != 0 || !strstr(text, within))
		fail_msg("'%s' should begin with '%s' and have '%s'", text, begin, within);
	free(text);
}

/* Short runs on a busy machine take one time or several times as long, for some in a row. */
static void busy_runs(struct rng *rng, struct level_run *a, struct level_run *b)
{
	bool busy = false;

	for (size_t i = 0; i < RUNS; i++) {
		busy = rng_double(rng) < .1 ? !busy : busy;
		a[i] = run_of(rng_double(rng) < (busy ? .7 : .3) ? 4 : 1 + .1 * rng_double(rng), .9, 0);
		b[i] = run_of(rng_double(rng) < (busy ? .7 : .3) ? 4 : 1 + .1 * rng_double(rng), .9, 0);
	}
}

static void the_same_twice(void **state)
{
	struct level_run a[RUNS], b[RUNS];
	struct here_effects e;
	struct rng rng;
	size_t called = 0;

	(void)state;
	rng_seed(&rng, 1);
	for (size_t i = 0; i < 1000; i++) {
		busy_runs(&rng, a, b);
		here_effects_of(a, b, RUNS, &e);
		called += e.wall.low > 1 || e.wall.high < 1;
		assert_true(e.processor.decision == HERE_ALIKE);
	}
	assert_true(called < 65); /* 50, and as much more as chance makes it */
}

static void few_runs(void **state)
{
	struct level_run a[7], b[7];
	struct here_effects e;

	(void)state;
	for (size_t i = 0; i < 7; i++) {
		a[i] = run_of(1 + .001 * (double)i, 1, 0);
		b[i] = run_of(1.2 + .002 * (double)i, 1.2, 0);
	}
	here_effects_of(a, b, 1, &e);
	assert_true(isnan(e.wall.low) && e.wall.decision == HERE_UNKNOWN && fabs(e.wall.ratio - 1.2) < 1e-9);
	assert_says(&e, "", "B is not seen to differ from A", "too few runs for an interval; 40 runs");
	for (size_t n = 3; n <= 7; n++) {
		here_effects_of(a, b, n, &e);
		assert_true(e.wall.decision == HERE_MORE && e.wall.low < e.wall.ratio && e.wall.ratio < e.wall.high);
	}
}

/* What is certain leads, be it processor time. */
static void processor_time_leads(void **state)
{
	struct level_run a[RUNS], b[RUNS];
	struct here_effects e;

	(void)state;
	for (size_t i = 0; i < RUNS; i++) {
		a[i] = run_of(i % 2 ? 1 : 4, .5, 0);
		b[i] = run_of(i % 3 ? 1 : 4, .5 * (i % 2 ? 1.11 : 1.13), 0);
	}
	here_effects_of(a, b, RUNS, &e);
	assert_true(e.wall.decision == HERE_UNKNOWN && e.processor.decision == HERE_MORE);
	assert_says(&e, ": sorting +0.1 s", "B takes 1.12 times as much processor time as A (1.1",
		    "): sorting +0.1 s; how long it takes is not known");
	for (size_t i = 0; i < RUNS; i++)
		b[i].wall = a[i].wall * (.998 + .001 * (double)(i % 5));
	here_effects_of(a, b, RUNS, &e);
	assert_true(e.wall.decision == HERE_ALIKE);
	assert_says(&e, "", "B takes 1.12 times as much processor time as A (1.1", "; it takes about as long: 1.000 times as long");
	for (size_t i = 0; i < RUNS; i++)
		b[i].user *= (a[i].user = .001); /* of a program that sleeps */
	here_effects_of(a, b, RUNS, &e);
	assert_says(&e, "", "B is not seen to differ from A: ", "1.000 times as long");
}

/* By the clock alone, since others had the processors: nothing is decided. A command of several threads is faster all the same. */
static void what_others_withheld(void **state)
{
	struct level_run a[RUNS], b[RUNS];
	struct here_effects e;

	(void)state;
	for (size_t i = 0; i < RUNS; i++) {
		a[i] = run_of(1, .98, 0);
		b[i] = run_of(1.4, .94, .42);
	}
	here_effects_of(a, b, RUNS, &e);
	assert_true(e.wall.low > 1 && e.wall.decision == HERE_UNKNOWN && e.withheld && e.processor.decision == HERE_LESS);
	assert_says(&e, "", "B takes 0.959 times as much processor time as A", "not known well enough: 1.40 times");
	for (size_t i = 0; i < RUNS; i++)
		b[i].user = .98;
	here_effects_of(a, b, RUNS, &e);
	assert_says(&e, "", "B is not seen to differ from A: it takes 1.40 times", "but not without what others kept it waiting for");
	for (size_t i = 0; i < RUNS; i++)
		b[i] = run_of(.6, 1.1, 0);
	here_effects_of(a, b, RUNS, &e);
	assert_true(e.wall.decision == HERE_LESS && !e.withheld && e.processor.decision == HERE_MORE);
	assert_says(&e, ": x", "B is faster: it takes 0.60 times as long", "in turn): x");
}

/* Where neither time is decided, what certainly differs is told from 3 % of the time on: others keep the runs from deciding. */
static void work_where_time_is_open(void **state)
{
	struct measured_part part = { .depth = PART_TIME, .of = LEVEL_COMPUTE, .name = "compute", .difference = .05, .certain = true };
	const struct measured measured = { .parts = &part, .n = 1, .seconds = { 1, 1.05 } };
	const struct here_effects open = { .computes = true };
	struct here *sides[SIDES] = { mem_new(1, sizeof(**sides)), mem_new(1, sizeof(**sides)) };
	char *text;

	(void)state;
	sides[A]->wall_s = 2; /* half of it without a processor */
	sides[B]->wall_s = 2.1;
	text = causes_text(sides, &open, &measured);
	assert_string_equal(text, ": +0.050 s computing");
	free(text);
	part.difference = .03;
	text = causes_text(sides, &open, &measured);
	assert_string_equal(text, "");
	mem_free(text, sides[A], sides[B]);
}

int suite_here_compare(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_same_twice), cmocka_unit_test(few_runs),
					    cmocka_unit_test(processor_time_leads), cmocka_unit_test(what_others_withheld),
					    cmocka_unit_test(work_where_time_is_open) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
