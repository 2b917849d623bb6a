/* Tests observations from samples: which values are divided, merged or excluded, and that both sides are treated alike. */
#include "gate/detect/observe.h"

#include "tests/gate/made_samples.h"
#include "tests/scratch.h"

#include <math.h>

static const char *const counters[] = { "emulated:accesses",  "emulated:blocks",    "emulated:hitm_false_milli",
					"emulated:hitm_seen", "emulated:simulated", NULL };
static const char *const functions[] = { "f.constprop.0", "g", NULL };

static struct samples emulated(const struct made *rows, size_t n)
{
	return made_samples(RECORD_EMULATED, counters, functions, rows, n);
}

static void look(struct side *side, const struct observe_options *options, struct observed *out)
{
	struct assay_error err;

	check(side_check(side, &err), &err);
	check(observe(side, options, out, &err), &err);
}

static double value(const struct observed *o, size_t row, const char *column)
{
	for (size_t c = 0; c < o->observations.values.cols; c++)
		if (strcmp(o->columns[c], column) == 0)
			return mat_get(&o->observations.values, row, c);
	fail_msg("no column %s", column);
	return 0;
}

static void near(const char *what, double got, double expected)
{
	if (!(fabs(got - expected) <= 1e-9 * (1 + fabs(expected))))
		fail_msg("%s: %.12g, not %.12g", what, got, expected);
}

static struct observe_options plain(void)
{
	struct observe_options options = observe_defaults;

	options.share_min = 0;
	return options;
}

static void test_vectors(void **state)
{
	static const struct made rows[] = {
		{ .function = 0, .threads = 4, .values = { 300, 100, 50, 7, 300 } },
		{ .function = 1, .weight = 3, .threads = 2, .values = { 1000, 600, 0, 0, 1000 }, .nested = { 300, 100, 0, 0, 0 } },
	};
	struct observe_options options = plain();
	struct side side = made_side("a");
	struct observed o;

	(void)state;
	made_run(&side, "1", emulated(rows, COUNT(rows)));
	look(&side, &options, &o);
	assert_int_equal(o.observations.values.rows, 2);
	assert_int_equal(o.observations.values.cols, 3); /* without unrepeatable counters and those that only normalize others */
	assert_string_equal(o.functions[0], "f");
	near("work is per call", value(&o, 0, "emulated:accesses"), 300);
	near("events are per work", value(&o, 0, "emulated:hitm_false_milli"), 50 / 400.);
	near("without nested calls", value(&o, 1, "emulated:accesses"), 700);
	near("weight", o.weight[1], 3);
	near("share, by about what it costs", o.facts[0].share, (400 * .5 + 50 * .07) / (400 * .5 + 50 * .07 + 3 * 1200 * .5));
	near("min_relevant_delta", o.min_relevant_delta[2], .5);
	observed_release(&o);

	options.per_thread = true;
	look(&side, &options, &o);
	near("per thread alive", value(&o, 0, "emulated:accesses"), 75);
	near("events, too", value(&o, 0, "emulated:hitm_false_milli"), 50 / 400. / 4);
	observed_release(&o);
	side_release(&side);
}

/* Checks that a function that makes system calls is not judged small because it does little other work. */
static void test_system_calls(void **state)
{
	static const char *const asked[] = { "emulated:accesses", "emulated:blocks", "emulated:system_calls", NULL };
	static const struct made rows[] = {
		{ .function = 0, .weight = 150, .values = { 3, 1, 1 } },
		{ .function = 1, .values = { 1e6, 1e6, 0 } },
	};
	struct side side = made_side("a");
	struct observed o;

	(void)state;
	made_run(&side, "1", made_samples(RECORD_EMULATED, asked, functions, rows, COUNT(rows)));
	look(&side, &observe_defaults, &o);
	assert_int_equal(o.observations.functions, 2);
	near("share", o.facts[0].share, 150 * 302. / (150 * 302. + 1e6));
	observed_release(&o);
	side_release(&side);
}

static void test_pooling(void **state)
{
	struct observe_options options = plain();
	struct made rows[12] = { 0 };
	struct side side = made_side("a");
	struct observed o;

	(void)state;
	for (uint32_t i = 0; i < 12; i++)
		rows[i] = (struct made){ .thread = i < 8 ? 0 : i - 7, .weight = 1 + i % 2, .values = { 30, 10, (double)i, 0, 30 } };
	rows[1].values[2] = (double)NAN;
	made_run(&side, "1", emulated(rows, COUNT(rows)));
	look(&side, &options, &o);
	/* A call has 40, a row needs 100: 3 + 3 calls in the first thread, plus the remaining 2; the 4 threads of a call are merged. */
	assert_int_equal(o.observations.values.rows, 3);
	near("calls", o.weight[0] + o.weight[1] + o.weight[2], 18);
	near("over what was counted", value(&o, 0, "emulated:hitm_false_milli"), (1 * 0 + 1 * 2) / (40. * 2));
	near("weighted", value(&o, 1, "emulated:hitm_false_milli"), (2 * 3 + 1 * 4 + 2 * 5 + 1 * 6 + 2 * 7) / (40. * 8));
	near("a mean over calls", value(&o, 2, "emulated:accesses"), 30);
	near("threads together", value(&o, 2, "emulated:hitm_false_milli"), (1 * 8 + 2 * 9 + 1 * 10 + 2 * 11) / (40. * 6));
	observed_release(&o);

	options.pool_work_min = 0;
	look(&side, &options, &o);
	assert_int_equal(o.observations.values.rows, 11); /* an incomplete row is merged with the next one */
	observed_release(&o);
	side_release(&side);
}

/* Checks that a function with a counter that was never counted is not judged. A function with little work gets a row nevertheless, so that
 * an increase can be seen. */
static void test_left_out(void **state)
{
	struct observe_options options = plain();
	struct made rows[] = {
		{ .function = 0, .values = { 300, 100, (double)NAN, 0, 0 } },
		{ .function = 0, .values = { 300, 100, (double)NAN, 0, 0 } },
		{ .function = 1, .values = { 2, 1, 0, 0, 2 } },
	};
	struct side side = made_side("a");
	struct observed o;

	(void)state;
	made_run(&side, "1", emulated(rows, COUNT(rows)));
	look(&side, &options, &o);
	assert_int_equal(o.observations.values.rows, 1);
	assert_int_equal(o.observations.functions, 1);
	assert_string_equal(o.functions[0], "g");
	assert_int_equal(o.n_aside, 1);
	assert_int_equal(o.excluded[0].kind, OBSERVE_NOT_COUNTED);
	observed_release(&o);
	side_release(&side);

	side = made_side("a");
	rows[0].values[2] = rows[1].values[2] = 0x1p63;
	made_run(&side, "1", emulated(rows, COUNT(rows)));
	look(&side, &options, &o);
	assert_int_equal(o.excluded[0].kind, OBSERVE_OVERFLOW);
	observed_release(&o);
	side_release(&side);
}

static void test_limit(void **state)
{
	struct observe_options options = plain();
	struct made rows[100] = { 0 };
	struct side side = made_side("a");
	struct observed o, again;
	double weight = 0, first = 0;

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		rows[i] = (struct made){ .function = i >= 60, .weight = 1 + i % 3, .values = { 300, 100, i, 0, 300 } };
	made_run(&side, "1", emulated(rows, COUNT(rows)));
	made_run(&side, "2", emulated(rows, COUNT(rows)));
	options.samples_max = 10;
	look(&side, &options, &o);
	assert_int_equal(o.observations.values.rows, 40);
	for (size_t i = 0; i < 40; i++)
		weight += o.run[i] == 0 && o.function[i] == 0 ? o.weight[i] : 0;
	near("all calls are stood for", weight, 20 * (1 + 2 + 3));
	options.selected_functions = (const char *const[]){ "f" };
	options.n_selected_functions = 1;
	look(&side, &options, &again);
	assert_int_equal(again.observations.values.rows, 20);
	assert_int_equal(again.excluded[0].kind, OBSERVE_UNASKED);
	for (size_t i = 0; i < 10; i++)
		near("the same choice, whatever else is there", mat_get(&again.observations.values, i, 2),
		     mat_get(&o.observations.values, i, 2));
	observed_release(&again);
	first = mat_get(&o.observations.values, 0, 2);
	options.seed = 5;
	look(&side, &options, &again);
	weight = 0;
	for (size_t i = 0; i < 10; i++)
		weight += fabs(mat_get(&again.observations.values, i, 2) - mat_get(&o.observations.values, i, 2));
	assert_true(weight > 0 && first >= 0);
	observed_release(&again);
	observed_release(&o);
	side_release(&side);
}

/* Checks that if nested calls are an estimate on one side, both sides include nested calls. */
static void test_inclusive(void **state)
{
	struct made rows[] = {
		{ .function = 0, .values = { 300, 100, 0, 0, 300 }, .nested = { 100, 100, 0, 0, 0 } },
		{ .function = 1, .values = { 300, 100, 0, 0, 300 }, .nested = { 290, 97, 0, 0, 0 } },
	};
	struct observe_options options = plain();
	struct side sides[2] = { made_side("a"), made_side("b") };
	struct observed o;

	(void)state;
	made_run(&sides[0], "1", emulated(rows, COUNT(rows)));
	rows[0].estimated = rows[1].estimated = true;
	made_run(&sides[1], "1", emulated(rows, COUNT(rows)));
	look(&sides[0], &options, &o);
	near("alone", value(&o, 0, "emulated:accesses"), 200);
	assert_int_equal(o.facts[0].remarks[OBSERVE_INCLUSIVE], 0);
	observed_release(&o);
	options.other = &sides[1];
	look(&sides[0], &options, &o);
	near("with nested calls", value(&o, 0, "emulated:accesses"), 300);
	assert_int_equal(o.facts[0].remarks[OBSERVE_INCLUSIVE], 1);
	observed_release(&o);
	options.share_min = .001; /* now a function with almost no work of its own is excluded */
	look(&sides[0], &options, &o);
	assert_int_equal(o.observations.functions, 1);
	assert_int_equal(o.excluded[0].kind, OBSERVE_NESTED);
	observed_release(&o);
	side_release(&sides[0]);
	side_release(&sides[1]);
}

static void test_small(void **state)
{
	struct made rows[] = {
		{ .function = 0, .values = { 99000, 900, 0, 0, 300 } },
		{ .function = 1, .values = { 90, 10, 0, 0, 90 } },
	};
	struct observe_options options = observe_defaults;
	struct side sides[2] = { made_side("a"), made_side("b") };
	struct observed o;

	(void)state;
	made_run(&sides[0], "1", emulated(rows, COUNT(rows)));
	rows[1].values[0] = 5000;
	made_run(&sides[1], "1", emulated(rows, COUNT(rows)));
	look(&sides[0], &options, &o);
	assert_int_equal(o.observations.functions, 1);
	assert_int_equal(o.excluded[0].kind, OBSERVE_LITTLE_WORK);
	observed_release(&o);
	options.other = &sides[1]; /* the other side does more */
	look(&sides[0], &options, &o);
	assert_int_equal(o.observations.functions, 2);
	observed_release(&o);
	side_release(&sides[0]);
	side_release(&sides[1]);
}

/* Checks a function with little work that waits for cache lines that others have changed. */
static void test_contended(void **state)
{
	struct made rows[] = {
		{ .function = 0, .values = { 99000, 900, 0, 0, 300 } },
		{ .function = 1, .values = { 90, 10, 20000, 0, 90 } },
	};
	struct observe_options options = observe_defaults;
	struct side side = made_side("a");
	struct observed o;

	(void)state;
	made_run(&side, "1", emulated(rows, COUNT(rows)));
	look(&side, &options, &o);
	assert_int_equal(o.observations.functions, 2);
	near("20 lines of 70 ns", o.facts[1].share, (50 + 1400) / (50 + 1400 + 99900 * .5));
	observed_release(&o);
	side_release(&side);
}

/* Checks counters from two executions: their invocations are joined. */
static void test_join(void **state)
{
	static const char *const first[] = { "PAPI_TOT_INS", "PAPI_BR_MSP", NULL }, *const second[] = { "PAPI_TOT_INS", "PAPI_L3_TCM",
													NULL };
	struct made rows[] = {
		{ .function = 0, .values = { 1000, 10 } },
		{ .function = 0, .values = { 2000, 40 } },
		{ .function = 1, .values = { 500, 5 } },
	};
	struct observe_options options = plain();
	struct side side = made_side("a");
	struct samples s;
	struct assay_error err;
	struct observed o;

	(void)state;
	made_run(&side, "1", made_samples(RECORD_PAPI, first, functions, rows, 3));
	rows[1].values[0] = 4000;
	s = made_samples(RECORD_PAPI, second, functions, rows, 2); /* g was not called */
	side_add_samples(&side, &s);
	look(&side, &options, &o);
	assert_int_equal(o.observations.values.rows, 2);
	near("by the work of its own execution", value(&o, 1, "PAPI_L3_TCM"), 40 / 4000.);
	near("and that of the other", value(&o, 1, "PAPI_BR_MSP"), 40 / 2000.);
	assert_int_equal(o.n_aside, 1);
	assert_int_equal(o.excluded[0].kind, OBSERVE_APART);
	observed_release(&o);

	s = made_samples(RECORD_PAPI, second, functions, rows, 2);
	side_add_samples(&side, &s);
	check_fails("two processes here, one there", observe(&side, &options, &o, &err), ASSAY_E_USAGE, &err,
		    "did not have equally many processes");
	side_release(&side);
}

static void test_time(void **state)
{
	static const char *const none[] = { NULL };
	struct made rows[30];
	struct observe_options options = plain();
	struct side side = made_side("a");
	struct observed o;

	(void)state;
	for (uint32_t i = 0; i < COUNT(rows); i++)
		rows[i] = (struct made){ .function = 0, .ns = 900 + 10 * (i % 2) };
	made_run(&side, "1", made_samples(RECORD_TIME, none, functions, rows, COUNT(rows)));
	look(&side, &options, &o);
	assert_int_equal(o.observations.values.cols, 1);
	assert_int_equal(o.observations.values.rows, 2); /* 12 calls take 10 us; the last 6 of 30 join the row before */
	near("the mean call", value(&o, 0, "time:ns"), 905);
	near("for weighing", o.ns[0], 905);
	observed_release(&o);
	side_release(&side);
}

static void test_refused(void **state)
{
	static const char *const other[] = { "emulated:accesses", "emulated:blocks", NULL };
	static const struct made rows[] = { { .values = { 300, 100, 0, 0, 300 } } };
	struct observe_options options = plain();
	struct side side = made_side("here");
	struct assay_error err;
	struct observed o;

	(void)state;
	check_fails("nothing", side_check(&side, &err), ASSAY_E_NODATA, &err, "there are no sample files");
	made_run(&side, "one", emulated(rows, 1));
	made_run(&side, "two", made_samples(RECORD_EMULATED, other, functions, rows, 1));
	check_fails("other counters", side_check(&side, &err), ASSAY_E_USAGE, &err,
		    "emulated:hitm_false_milli is in 'one' and not in 'two'");
	side_release(&side);
	side = made_side("here");
	made_run(&side, "one", emulated(rows, 1));
	made_run(&side, "two", made_samples(RECORD_SOFTWARE, other, functions, rows, 1));
	check_fails("other back end", side_check(&side, &err), ASSAY_E_USAGE, &err, "'one' is emulated, 'two' is software");
	side_release(&side);
	side = made_side("here");
	made_run(&side, "one", emulated(rows, 1));
	options.selected_functions = (const char *const[]){ "h" };
	options.n_selected_functions = 1;
	check_fails("not there", observe(&side, &options, &o, &err), ASSAY_E_NODATA, &err,
		    "none of the functions that changed or were selected");
	side_release(&side);
}

/* Checks that rows are scaled to the totals of all calls, except in a file without totals, such as a killed process's. */
static void test_totals(void **state)
{
	static const struct made rows[] = {
		{ .function = 0, .values = { 300, 100, (double)NAN, 0, 300 } },
		{ .function = 0, .values = { 100, 100, 4000, 0, 100 } },
		{ .function = 1, .values = { 600, 600, 12000, 0, 600 }, .nested = { 10, 10, 0, 0, 10 }, .estimated = true },
	};
	double of_f[] = { 4000, 2000, 90000, 0, 3000 }, of_g[] = { 500, 500, 1000, 0, 500 }, errors[COUNT(of_f)] = { 0 };
	struct observe_options options = plain();

	(void)state;
	for (int known = 0; known < 2; known++) {
		struct side side = made_side("a");
		struct samples s = emulated(rows, COUNT(rows));
		struct observed o;

		for (size_t i = 0; i < s.n_calls && known; i++) {
			s.calls[i].calls = 10;
			s.calls[i].sums = i ? of_g : of_f;
			s.calls[i].errors = errors;
		}
		made_run(&side, "1", s);
		look(&side, &options, &o);
		assert_int_equal(o.observations.values.rows, 2);
		near("accesses a call", value(&o, 0, "emulated:accesses"), known ? 400 : 200);
		near("blocks a call", value(&o, 0, "emulated:blocks"), known ? 200 : 100);
		near("work", o.ns[0], known ? 600 : 300);
		near("calls", o.weight[0], known ? 10 : 2);
		near("HITM", value(&o, 0, "emulated:hitm_false_milli"), known ? 15 : 20);
		near("what is an estimate in samples", value(&o, 1, "emulated:accesses"), known ? 50 : 600);
		assert_int_equal(o.facts[1].remarks[OBSERVE_INCLUSIVE], known ? 0 : 1);
		observed_release(&o);
		side_release(&side);
	}
}

int suite_observe(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),	 cmocka_unit_test(test_system_calls), cmocka_unit_test(test_pooling),
		cmocka_unit_test(test_left_out), cmocka_unit_test(test_limit),	      cmocka_unit_test(test_inclusive),
		cmocka_unit_test(test_small),	 cmocka_unit_test(test_contended),    cmocka_unit_test(test_join),
		cmocka_unit_test(test_time),	 cmocka_unit_test(test_refused),      cmocka_unit_test(test_totals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
