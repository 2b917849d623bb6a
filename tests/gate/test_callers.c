/* Tests that the work of functions that only one version has is added to their callers: none is lost, none is counted twice. */
#include "gate/detect/callers.h"

#include "tests/gate/made_samples.h"
#include "tests/scratch.h"

#include <math.h>

static const char *const counters[] = { "emulated:accesses", "emulated:blocks", "emulated:copied_bytes", NULL };
enum function { MAIN, F, G, A, B };
static const char *const functions[] = { "main", "f", "g.isra.0", "a", "b", NULL };

/* Makes samples with totals over all calls. */
static struct samples made_all(const char *const *names, const struct made *rows, size_t n)
{
	struct samples s = made_samples(RECORD_EMULATED, counters, names, rows, n);

	s.sums = mem_new(2 * s.n_calls * s.n_counters, sizeof(double));
	for (size_t i = 0; i < s.n_calls; i++) {
		s.calls[i].sums = s.sums + 2 * i * s.n_counters;
		s.calls[i].errors = s.calls[i].sums + s.n_counters;
		s.calls[i].calls = 0;
	}
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < s.n_calls; i++)
			if (s.calls[i].function == rows[k].function && s.calls[i].thread == rows[k].thread) {
				s.calls[i].calls += s.items[k].weight;
				for (size_t c = 0; c < s.n_counters; c++)
					s.calls[i].sums[c] += s.items[k].weight * s.self_counts[k * s.n_counters + c];
			}
	return s;
}

static double sum_of(const struct callers *callers, int side, const char *function, size_t counter)
{
	const struct samples *s = &callers->sides[side].runs[0].files[0];
	double sum = 0;

	for (size_t i = 0; i < s->n_calls; i++)
		sum += strcmp(s->functions[s->calls[i].function].name, function) == 0 ? s->calls[i].sums[counter] : 0;
	return sum;
}

static void near(const char *what, double got, double expected)
{
	if (!(fabs(got - expected) <= 1e-6 * (1 + fabs(expected))))
		fail_msg("%s: %.12g, not %.12g", what, got, expected);
}

static const struct made old_rows[] = {
	{ .function = MAIN, .caller = RECORD_NO_CALLER, .values = { 100, 100, 0 } },
	{ .function = F, .caller = MAIN + 1, .values = { 500, 500, 0 } },
	{ .function = G, .caller = MAIN + 1, .values = { 300, 300, 0 } },
};

static void find(const struct made *rows, size_t n, struct side sides[2], struct callers *out)
{
	sides[0] = made_side("old");
	sides[1] = made_side("new");
	made_run(&sides[0], "1", made_all(functions, old_rows, COUNT(old_rows)));
	made_run(&sides[1], "1", made_all(functions, rows, n));
	sides[0].back_end = sides[1].back_end = RECORD_EMULATED;
	callers_find(&sides[0], &sides[1], out);
}

static void release(struct side sides[2], struct callers *callers)
{
	callers_release(callers);
	side_release(&sides[0]);
	side_release(&sides[1]);
}

/* Checks that f calls a, and a and g call b: b's work is divided between them in proportion to its work when each of them called it. */
static void test_chain(void **state)
{
	static const struct made rows[] = {
		{ .function = MAIN, .caller = RECORD_NO_CALLER, .values = { 100, 100, 0 } },
		{ .function = F, .caller = MAIN + 1, .values = { 200, 200, 0 } },
		{ .function = G, .caller = MAIN + 1, .values = { 300, 300, 0 } },
		{ .function = A, .caller = F + 1, .weight = 2, .values = { 150, 150, 8 } },
		{ .function = B, .caller = A + 1, .weight = 3, .values = { 10, 10, 0 } },
		{ .function = B, .caller = G + 1, .values = { 30, 30, 4 } },
	};
	double gained, a = 2 * (150 - 3), b_for_a = 30 - 3 * 3, b_for_g = 30 - 3; /* minus the cost of calling */
	struct side sides[2];
	struct callers callers;

	(void)state;
	find(rows, COUNT(rows), sides, &callers);
	assert_true(callers.is_known);
	assert_int_equal(callers.moved[0].n, 0);
	assert_int_equal(callers.moved[1].n, 2);
	assert_string_equal(callers.moved[1].items[0], "a");
	near("f", sum_of(&callers, 1, "f", 0), 200 + a + b_for_a);
	near("copied in f", sum_of(&callers, 1, "f", 2), 16);
	near("g", sum_of(&callers, 1, "g.isra.0", 0), 300 + b_for_g);
	near("a is gone", sum_of(&callers, 1, "a", 0), 0);
	near("main", sum_of(&callers, 1, "main", 0), 100);
	near("old", sum_of(&callers, 0, "f", 0), 500);
	assert_int_equal(callers.sides[1].runs[0].files[0].functions[A].n, 0);
	assert_int_equal(sides[1].runs[0].files[0].functions[A].n, 1); /* unchanged */
	near("as it was", sides[1].runs[0].files[0].calls[1].sums[0], 200);
	assert_string_equal(callers_find_part(&callers, "f", &gained)->part, "a"); /* including the work that b did for a */
	assert_string_equal(callers_find_part(&callers, "g", &gained)->part, "b");
	assert_null(callers_find_part(&callers, "main", &gained));
	release(sides, &callers);
}

/* Checks functions a and b that call each other, where a also calls itself. */
static void test_circle(void **state)
{
	static const struct made rows[] = {
		{ .function = MAIN, .caller = RECORD_NO_CALLER, .values = { 100, 100, 0 } },
		{ .function = F, .caller = MAIN + 1, .values = { 200, 200, 0 } },
		{ .function = A, .caller = F + 1, .values = { 10, 10, 0 } },
		{ .function = A, .caller = A + 1, .weight = 50, .values = { 10, 10, 0 } },
		{ .function = A, .caller = B + 1, .weight = 90, .values = { 10, 10, 0 } },
		{ .function = B, .caller = A + 1, .weight = 100, .values = { 20, 20, 1 } },
	};
	struct side sides[2];
	struct callers callers;

	(void)state;
	find(rows, COUNT(rows), sides, &callers);
	assert_true(callers.is_known);
	assert_int_equal(callers.moved[0].n, 1); /* g moved */
	near("old main", sum_of(&callers, 0, "main", 0), 100 + 300 - 3);
	near("f", sum_of(&callers, 1, "f", 0), 200 + 141 * (10 - 3) + 100 * (20 - 3));
	near("blocks in f", sum_of(&callers, 1, "f", 1), 200 + 141 * (10 - 2) + 100 * (20 - 2));
	near("copied in f", sum_of(&callers, 1, "f", 2), 100);
	release(sides, &callers);
}

/* Checks a loop's body that moved to a function: of its growth, two blocks and three accesses per call are the cost of calling. */
static void test_divided(void **state)
{
	static const struct made rows[] = {
		{ .function = MAIN, .caller = RECORD_NO_CALLER, .values = { 100, 100, 0 } },
		{ .function = F, .caller = MAIN + 1, .values = { 300, 200, 0 } },
		{ .function = G, .caller = MAIN + 1, .values = { 300, 300, 0 } },
		{ .function = A, .caller = F + 1, .weight = 100, .values = { 2, 5, 0 } },
		{ .function = B, .caller = F + 1, .weight = 10, .values = { 1, 4, 7 } },
	};
	struct side sides[2];
	struct callers callers;

	(void)state;
	find(rows, COUNT(rows), sides, &callers);
	assert_true(callers.is_known);
	near("blocks", sum_of(&callers, 1, "f", 1), 200 + 100 * (5 - 2) + 10 * (4 - 2));
	near("accesses", sum_of(&callers, 1, "f", 0), 500);
	near("copied bytes", sum_of(&callers, 1, "f", 2), 70);
	near("calling takes more", callers_call_cost_change_ns(&callers, "f"), .5 * (110 * 2 + 10) + 110);
	near("where nothing is called", callers_call_cost_change_ns(&callers, "main"), 0);
	near("what is not there", callers_call_cost_change_ns(&callers, "a"), 0);
	callers_release(&callers);
	callers_find(&sides[1], &sides[0], &callers);
	near("calling takes less", callers_call_cost_change_ns(&callers, "f"), -.5 * (110 * 2 + 10) - 110);
	release(sides, &callers);
}

/* Checks code at -O0: a body has as many blocks and accesses in its caller as in its own function, so only the cost of calling is saved. */
static void test_joined(void **state)
{
	static const struct made rows[] = {
		{ .function = MAIN, .caller = RECORD_NO_CALLER, .values = { 100, 100, 0 } },
		{ .function = F, .caller = MAIN + 1, .values = { 400, 300, 0 } },
		{ .function = G, .caller = MAIN + 1, .values = { 300, 300, 0 } },
		{ .function = A, .caller = F + 1, .weight = 100, .values = { 1, 2, 0 } },
	};
	struct side sides[2];
	struct callers callers;

	(void)state;
	find(rows, COUNT(rows), sides, &callers);
	near("calls that are made", callers_call_cost_change_ns(&callers, "f"), 100);
	callers_release(&callers);
	callers_find(&sides[1], &sides[0], &callers);
	near("calls that are no longer made", callers_call_cost_change_ns(&callers, "f"), -100);
	release(sides, &callers);
}

/* Checks a function of one block that is called in a loop: the block after a call belongs to the caller, in both of the caller's calls. */
static void test_returned_to(void **state)
{
	static const struct made rows[] = {
		{ .function = MAIN, .caller = RECORD_NO_CALLER, .values = { 100, 100, 0 } },
		{ .function = F, .caller = MAIN + 1, .weight = 2, .values = { 510, 650, 0 } },
		{ .function = G, .caller = MAIN + 1, .values = { 300, 300, 0 } },
		{ .function = A, .caller = F + 1, .weight = 200, .values = { 0, 1, 0 } },
	};
	struct side sides[2];
	struct callers callers;

	(void)state;
	find(rows, COUNT(rows), sides, &callers);
	assert_true(callers.is_known);
	near("blocks", sum_of(&callers, 1, "f", 1), 2 * (650 + 100 - 200));
	near("accesses", sum_of(&callers, 1, "f", 0), 2 * 500);
	near("calling takes more a call", callers_call_cost_change_ns(&callers, "f"), .5 * (200 + 10) + 100);
	release(sides, &callers);
}

/* Checks functions that start a thread: their work is added to main. If the callers are unknown, nothing is moved. */
static void test_roots(void **state)
{
	struct made rows[] = {
		{ .function = MAIN, .caller = RECORD_NO_CALLER, .values = { 100, 100, 0 } },
		{ .function = F, .caller = MAIN + 1, .values = { 500, 500, 0 } },
		{ .function = G, .caller = MAIN + 1, .values = { 300, 300, 0 } },
		{ .function = A, .thread = 1, .caller = RECORD_NO_CALLER, .values = { 40, 40, 0 } },
	};
	struct side sides[2];
	struct callers callers;

	(void)state;
	find(rows, COUNT(rows), sides, &callers);
	assert_true(callers.is_known);
	near("main", sum_of(&callers, 1, "main", 0), 140 - 3);
	release(sides, &callers);

	rows[3].caller = 0;
	find(rows, COUNT(rows), sides, &callers);
	assert_false(callers.is_known);
	release(sides, &callers);

	find(rows, 3, sides, &callers); /* both sides have the same functions */
	assert_false(callers.is_known);
	release(sides, &callers);
}

/* Checks a function that copies memory only for g. Its other work is the same in total for both callers. */
static void test_differ(void **state)
{
	static const struct made rows[] = {
		{ .function = MAIN, .caller = RECORD_NO_CALLER, .values = { 100, 100, 0 } },
		{ .function = F, .caller = MAIN + 1, .values = { 500, 500, 0 } },
		{ .function = G, .caller = MAIN + 1, .values = { 300, 300, 0 } },
		{ .function = A, .caller = F + 1, .weight = 30, .values = { 50, 50, 0 } },
		{ .function = A, .caller = G + 1, .weight = 10, .values = { 150, 150, 8 } },
	};
	struct side sides[2];
	struct callers callers;

	(void)state;
	find(rows, COUNT(rows), sides, &callers);
	assert_true(callers.is_known);
	near("copied in f", sum_of(&callers, 1, "f", 2), 0);
	near("copied in g", sum_of(&callers, 1, "g.isra.0", 2), 80);
	near("accesses of g", sum_of(&callers, 1, "g.isra.0", 0), 300 + 1500 - 10 * 3); /* minus the cost of calling at most */
	near("blocks of f", sum_of(&callers, 1, "f", 1), 500 + 1500 - 30 * 2);
	release(sides, &callers);
}

/* Checks std::operator+, which is in both versions: its work is added to its caller, which has the fault. */
static void test_library(void **state)
{
	static const char *const names[] = { "_Z4joinv", "_ZStplIcEPKc", NULL };
	static const struct made rows[][2] = {
		{ { .caller = RECORD_NO_CALLER, .values = { 100, 100, 0 } },
		  { .function = 1, .caller = 1, .weight = 10, .values = { 50, 50, 8 } } },
		{ { .caller = RECORD_NO_CALLER, .values = { 100, 100, 0 } },
		  { .function = 1, .caller = 1, .weight = 20, .values = { 50, 50, 80 } } },
	};
	struct side sides[2] = { made_side("old"), made_side("new") };
	struct callers callers;

	(void)state;
	for (int s = 0; s < 2; s++) {
		made_run(&sides[s], "1", made_all(names, rows[s], 2));
		sides[s].back_end = RECORD_EMULATED;
	}
	callers_find(&sides[0], &sides[1], &callers);
	assert_true(callers.is_known);
	near("old join", sum_of(&callers, 0, "_Z4joinv", 0), 100 + 10 * 50);
	near("join", sum_of(&callers, 1, "_Z4joinv", 0), 100 + 20 * 50); /* nothing is subtracted for calls that both versions make */
	near("copied in join", sum_of(&callers, 1, "_Z4joinv", 2), 20 * 80);
	assert_null(callers_find_part(&callers, "_Z4joinv", &(double){ 0 }));
	release(sides, &callers);
	assert_true(record_is_library("_ZNKSt7__cxx1112basic_stringIcE4sizeEv"));
	assert_true(record_is_library("_ZN9__gnu_cxx13new_allocatorIcE8allocateEm"));
	assert_false(record_is_library("_ZN3Set3addEi"));
	assert_false(record_is_library("doStop"));								/* a C function */
	assert_false(record_is_library("_ZNSt17_Function_handlerIFvvEZ4mainEUlvE_E9_M_invokeERKSt9_Any_data")); /* a lambda of main */
}

int suite_callers(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain),	cmocka_unit_test(test_circle),	    cmocka_unit_test(test_divided),
		cmocka_unit_test(test_joined),	cmocka_unit_test(test_returned_to), cmocka_unit_test(test_roots),
		cmocka_unit_test(test_library), cmocka_unit_test(test_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
