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

/* ---- what the difference is made of ---- */

static struct part computing_a = { PART_CATEGORY, LEVEL_COMPUTE, "own code of kA", NULL, NULL, false, .69, .66, .72, true },
		   computing_b = { PART_CATEGORY, LEVEL_COMPUTE, "own code of kB", NULL, NULL, false, .36, .33, .39, true },
		   reading_a = { PART_CATEGORY, LEVEL_KERNEL, "file data", NULL, NULL, false, .29, .26, .32, true },
		   reading_b = { PART_CATEGORY, LEVEL_KERNEL, "file data", NULL, NULL, false, .61, .58, .64, true },
		   function_a = { PART_FUNCTION, LEVEL_COMPUTE, "work", "kA", "own code of kA", false, .69, .66, .72, true },
		   function_b = { PART_FUNCTION, LEVEL_COMPUTE, "work", "kB", "own code of kB", false, .36, .33, .39, true };

static struct here *side_of(const char *const *words, struct part *const parts[3])
{
	struct here *here = here_new(words, 1);

	here->n = RUNS;
	for (size_t i = 0; i < RUNS; i++)
		here->runs[i] = run_of(.33, .33, 0);
	here->wall_s = here->cpu_s = .33;
	here->parts.items = mem_new(3, sizeof(struct part));
	here->parts.n = 3;
	for (size_t i = 0; i < 3; i++)
		here->parts.items[i] = *parts[i];
	return here;
}

/* The same program under two names, which does less of one and more of another thing. */
static void other_work(void **state)
{
	static const char *const words[2][1] = { { "./kA" }, { "/opt/kB" } };
	struct here *sides[SIDES] = { side_of(words[0], (struct part *const[]){ &computing_a, &reading_a, &function_a }),
				      side_of(words[1], (struct part *const[]){ &computing_b, &reading_b, &function_b }) };
	struct changes changes;
	struct here_effects e;
	char *text;

	(void)state;
	changes_of(sides, &changes);
	assert_int_equal(changes.n, 3);
	assert_string_equal(changes.items[0].part->name, "own code of kA");
	assert_string_equal(changes.items[0].other->name, "own code of kB");
	assert_true(fabs(changes.items[0].difference + .1089) < 1e-9 && fabs(changes.items[1].difference - .1056) < 1e-9);
	assert_true(!changes.items[1].other && changes.items[2].part->depth == PART_FUNCTION && !changes.items[2].other);
	text = changes_instead_text(&changes, .33);
	assert_string_equal(text, ": own code of kA -0.109 s, file data +0.106 s");
	here_effects_of(sides[0]->runs, sides[1]->runs, RUNS, &e);
	assert_says(&e, text, "B is not seen to differ from A in time, but in its work: own code of kA -0.109 s, file data +0.106 s; ",
		    "it takes 1.000 times as long");
	free(text);
	text = changes_instead_text(&changes, 3.3); /* too little of it */
	assert_string_equal(text, "");
	free(text);
	text = changes_text(&changes, .1);
	assert_string_equal(text, ": own code of kA -0.109 s, file data +0.106 s");
	free(text);
	free(changes.items);
	here_free(sides[0]);
	here_free(sides[1]);
}

int suite_here_compare(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_same_twice), cmocka_unit_test(few_runs),
					    cmocka_unit_test(processor_time_leads), cmocka_unit_test(what_others_withheld),
					    cmocka_unit_test(other_work) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
