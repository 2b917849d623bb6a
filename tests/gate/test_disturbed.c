/* Tests runs that the machine disturbed: they are reported with the injected cause, and excluded if they are exceptions, but not if the
 * candidate itself is the cause. */
#include "gate/conditions/disturbed.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define REPETITIONS 12
#define WALL_NS	    INT64_C(100000000)

/* Makes runs of two versions on one machine. Each run has a run-queue delay of 2 % of its time. */
static void make(struct run_set sides[2])
{
	for (int side = 0; side < 2; side++) {
		sides[side] =
		    (struct run_set){ .version = mem_string(side ? "new" : "old"), .items = mem_new(REPETITIONS, sizeof(struct run)) };
		for (int64_t r = 1; r <= REPETITIONS; r++)
			sides[side].items[sides[side].n++] = (struct run){ .machine = mem_string("m"),
									   .repetition = r,
									   .metric = 1,
									   .usage = { WALL_NS, 0, 0 },
									   .withheld_ns = { 2000000, 0, 0, -1, -1 } };
	}
}

static void disturb(struct run_set *set, int64_t repetition, enum run_withheld what, int64_t ns)
{
	set->items[repetition - 1].withheld_ns[what] = ns;
}

static void finish(struct run_set sides[2], struct disturbed *d)
{
	disturbed_release(d);
	run_set_release(&sides[0]);
	run_set_release(&sides[1]);
}

static void test_quiet(void **state)
{
	struct run_set sides[2];
	struct disturbed d;

	(void)state;
	make(sides);
	disturbed_exclude_runs(sides, .03, &d);
	assert_true(d.n == 0 && d.known == 2 * REPETITIONS && !d.too_many && sides[0].n == REPETITIONS);
	finish(sides, &d);
}

static void test_causes(void **state)
{
	struct run_set sides[2];
	struct disturbed d;

	(void)state;
	make(sides);
	disturb(&sides[0], 3, RUN_WAITED, 40000000);
	disturb(&sides[0], 3, RUN_IO_STALLED, 10000000);
	disturb(&sides[0], 7, RUN_THROTTLED, 30000000);
	disturb(&sides[0], 7, RUN_WAITED, 3000000); /* delays of other causes */
	disturb(&sides[1], 5, RUN_IO_STALLED, 20000000);
	disturb(&sides[1], 6, RUN_WAITED, 4900000); /* less than the threshold */
	for (int64_t r = 1; r <= REPETITIONS; r++)
		disturb(&sides[1], r, RUN_STOLEN, r == 8 ? 6000000 : 0);
	disturbed_exclude_runs(sides, .03, &d);
	assert_int_equal(d.n, 4);
	assert_int_equal(d.n_excluded, 3 + 1);
	assert_true(d.items[0].repetition == 3 && d.items[0].cause == DISTURBED_WAITED);
	assert_true(d.items[1].repetition == 7 && d.items[1].cause == DISTURBED_THROTTLED);
	assert_true(d.items[2].repetition == 5 && d.items[2].cause == DISTURBED_IO);
	assert_true(d.items[3].repetition == 8 && d.items[3].cause == DISTURBED_STOLEN);
	assert_true(sides[0].n == REPETITIONS - 2 && sides[0].n_others == 2 && sides[1].n == REPETITIONS - 2);
	assert_true(sides[0].items[2].repetition == 4);
	finish(sides, &d);
}

static void test_too_many(void **state)
{
	struct run_set sides[2];
	struct disturbed d;

	(void)state;
	make(sides);
	for (int side = 0; side < 2; side++)
		for (int64_t r = 4; r <= REPETITIONS; r++)
			disturb(&sides[side], r, RUN_WAITED, r == 4 ? 1000000 : 50000000);
	disturbed_exclude_runs(sides, .03, &d);
	assert_true(d.too_many && d.n_excluded == 0 && !d.caused_by_version && sides[0].n == REPETITIONS);
	finish(sides, &d);
}

static void test_own_making(void **state)
{
	struct run_set sides[2];
	struct disturbed d;

	(void)state;
	make(sides);
	/* All six disturbed runs are the candidate's: the probability by chance is 1 in 64. */
	for (int64_t r = 1; r <= 6; r++)
		disturb(&sides[1], r, RUN_WAITED, 50000000);
	disturbed_exclude_runs(sides, .03, &d);
	assert_true(d.n == 6 && d.caused_by_version && d.n_excluded == 0 && sides[1].n == REPETITIONS);
	finish(sides, &d);
}

int suite_disturbed(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quiet),
		cmocka_unit_test(test_causes),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_own_making),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
