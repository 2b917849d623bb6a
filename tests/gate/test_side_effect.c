/* Tests side effects: the function with the largest change in the same threads causes another's misses, unless that one does more work. */
#include "gate/detect/side_effect.h"

#include "tests/gate/made_samples.h"
#include "tests/scratch.h"

enum { WALK, SCAN, REST, MAIN, FUNCTIONS };
static const char *const functions[] = { "walk", "scan.constprop.0", "rest", "main", NULL };
static const char *const counters[] = { "emulated:accesses", NULL };

#define AT(function_, thread_)                                                                                                             \
	{                                                                                                                                  \
		.function = function_, .thread = thread_                                                                                   \
	}
#define ROW(symbol_, ns, only, n)                                                                                                          \
	{                                                                                                                                  \
		.symbol = symbol_, .kind = { .misses_ns = ns, .has_only_misses = only }, .worse = true, .calls = n                         \
	}

/* Makes samples of walk, scan and rest in threads 1 and 2, and of main in thread 0. */
static struct side threads(void)
{
	static const struct made rows[] = { AT(WALK, 1), AT(WALK, 2), AT(SCAN, 1), AT(SCAN, 2), AT(REST, 1), AT(REST, 2), AT(MAIN, 0) };
	struct side side = made_side("a");

	made_run(&side, "1", made_samples(RECORD_EMULATED, counters, functions, rows, COUNT(rows)));
	return side;
}

static void test_rows(void **state)
{
	static const struct {
		const char *what;
		struct side_effect_row rows[3];
		size_t cause[3];
	} cases[] = {
		{ "a neighbour's data were evicted",
		  { ROW("walk", 1000, true, 10), ROW("scan", 50, true, 10), ROW("rest", 0, false, 10) },
		  { SIZE_MAX, 0, SIZE_MAX } },
		{ "in any order",
		  { ROW("scan", 50, true, 10), ROW("rest", 5, true, 10), ROW("walk", 1000, true, 10) },
		  { 2, 2, SIZE_MAX } },
		{ "too much for that: a fault of its own",
		  { ROW("walk", 1000, true, 10), ROW("scan", 500, true, 10), ROW("rest", 30, true, 10) },
		  { SIZE_MAX, SIZE_MAX, 0 } },
		{ "as much in all, by more calls",
		  { ROW("walk", 1000, true, 10), ROW("scan", 50, true, 200), ROW("rest", 0, false, 1) },
		  { SIZE_MAX, SIZE_MAX, SIZE_MAX } },
		{ "it does more itself, too",
		  { ROW("walk", 1000, true, 10), ROW("scan", 50, false, 10), ROW("rest", 0, false, 1) },
		  { SIZE_MAX, SIZE_MAX, SIZE_MAX } },
		{ "the cause does more itself",
		  { ROW("walk", 1000, false, 10), ROW("scan", 50, true, 10), ROW("rest", 0, false, 1) },
		  { SIZE_MAX, 0, SIZE_MAX } },
		{ "in other threads",
		  { ROW("main", 1000, true, 10), ROW("scan", 50, true, 10), ROW("walk", 1, true, 1) },
		  { SIZE_MAX, SIZE_MAX, 1 } },
		{ "of a side effect's cause",
		  { ROW("walk", 1000, true, 10), ROW("scan", 90, true, 10), ROW("rest", 5, true, 10) },
		  { SIZE_MAX, 0, 0 } },
	};
	struct side side = threads();

	(void)state;
	for (size_t c = 0; c < COUNT(cases); c++) {
		size_t cause[3];

		side_effects_find(&side, cases[c].rows, 3, cause);
		for (size_t i = 0; i < 3; i++)
			if (cause[i] != cases[c].cause[i])
				fail_msg("%s: %s is of %zu", cases[c].what, cases[c].rows[i].symbol, cause[i]);
	}
	side_effects_find(&side, NULL, 0, NULL);
	side_release(&side);
}

/* Checks that a thread in which only the cause runs does not suffice. */
static void test_threads(void **state)
{
	static const struct made rows[] = { AT(WALK, 1), AT(SCAN, 1), AT(SCAN, 2), AT(SCAN, 3) };
	struct side_effect_row found[] = { ROW("walk", 1000, true, 1), ROW("scan", 5, true, 1) };
	struct side side = made_side("a");
	size_t cause[2];

	(void)state;
	made_run(&side, "1", made_samples(RECORD_EMULATED, counters, functions, rows, COUNT(rows)));
	side_effects_find(&side, found, 2, cause);
	assert_int_equal(cause[1], SIZE_MAX);
	side_release(&side);
}

/* Checks misses that moved between functions, new memory, and the branch before a call. */
static void test_brought(void **state)
{
#define OF(symbol_, worse_, ...)                                                                                                           \
	{                                                                                                                                  \
		.symbol = symbol_, .kind = { .calls = 1, __VA_ARGS__ }, .worse = worse_, .calls = 10                                       \
	}
#define TLB(ns) .misses_by_kind_ns = { [TROUBLE_TLB] = ns }
#define MISSES	.has_only_misses = true, .misses_ns = 90
	static const struct {
		const char *what;
		struct side_effect_row rows[3];
		size_t cause; /* index of the second row's cause */
	} cases[] = {
		{ "walk was first to touch these pages, which scan is now",
		  { OF("walk", false, TLB(-100)), OF("scan", true, MISSES, TLB(90)), OF("rest", false, TLB(0)) },
		  0 },
		{ "in another thread",
		  { OF("main", false, TLB(-100)), OF("scan", true, MISSES, TLB(90)), OF("rest", false, TLB(0)) },
		  SIZE_MAX },
		{ "only half of them",
		  { OF("walk", false, TLB(-50)), OF("scan", true, MISSES, TLB(90)), OF("rest", false, TLB(0)) },
		  SIZE_MAX },
		{ "a third one misses them, too",
		  { OF("walk", false, TLB(-100)), OF("scan", true, MISSES, TLB(90)), OF("rest", false, TLB(50)) },
		  SIZE_MAX },
		{ "as many, of another kind",
		  { OF("walk", false, .misses_by_kind_ns = { [TROUBLE_CACHE] = -100 }), OF("scan", true, MISSES, TLB(90)),
		    OF("rest", false, TLB(0)) },
		  SIZE_MAX },
		{ "memory is new each time",
		  { OF("walk", true, .trouble = TROUBLE_ALLOCATION, .allocated_bytes = 640), OF("scan", true, MISSES, .lines = 9),
		    OF("rest", false, TLB(0)) },
		  0 },
		{ "misses more than there is new memory",
		  { OF("walk", true, .trouble = TROUBLE_ALLOCATION, .allocated_bytes = 640), OF("scan", true, MISSES, .lines = 11),
		    OF("rest", false, TLB(0)) },
		  SIZE_MAX },
		{ "the branch of the caller",
		  { { .symbol = "walk", .kind = { .calls = 9 }, .worse = true, .calls = 10 },
		    OF("scan", true, .has_only_branches = true, .branches = 7),
		    OF("rest", false, TLB(0)) },
		  0 },
		{ "the path to it is another one",
		  { OF("walk", true, .branches = 5), OF("scan", true, .has_only_branches = true, .branches = 4),
		    OF("rest", false, TLB(0)) },
		  0 },
		{ "more of them than of those that the path itself has",
		  { OF("walk", true, .branches = 5), OF("scan", true, .has_only_branches = true, .branches = 6),
		    OF("rest", false, TLB(0)) },
		  SIZE_MAX },
		{ "both have nothing else",
		  { OF("walk", true, .has_only_branches = true, .branches = 5), OF("scan", true, .has_only_branches = true, .branches = 4),
		    OF("rest", false, TLB(0)) },
		  SIZE_MAX },
		{ "more branches than calls",
		  { { .symbol = "walk", .kind = { .calls = 9 }, .worse = true, .calls = 10 },
		    OF("scan", true, .has_only_branches = true, .branches = 9),
		    OF("rest", false, TLB(0)) },
		  SIZE_MAX },
	};
	struct side side = threads();

	(void)state;
	for (size_t c = 0; c < COUNT(cases); c++) {
		size_t cause[3];

		side_effects_find(&side, cases[c].rows, 3, cause);
		if (cause[1] != cases[c].cause)
			fail_msg("%s: of %zu", cases[c].what, cause[1]);
	}
	side_release(&side);
}

int suite_side_effect(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows), cmocka_unit_test(test_threads), cmocka_unit_test(test_brought) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
