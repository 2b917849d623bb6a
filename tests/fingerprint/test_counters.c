/* Tests counters of a fingerprint in the store: the plan never changes, each run is stored once, and an interruption loses nothing. */
#include "fingerprint/counters/stressor_counters.h"
#include "tests/fingerprint/begun.h"
#include "tests/scratch.h"

#include <math.h>

#define BATTERY "name: tiny\nstressors:\n  - { stressor: cpu }\n  - { stressor: str }\n"
#define PLAN                                                                                                                               \
	COUNTING_MAGIC "\nrun 1 hardware user PAPI_TOT_INS PAPI_TOT_CYC\nrun 2 hardware user PAPI_TOT_INS PAPI_L1_DCM\n"                   \
		       "run 3 software all perf::PAGE-FAULTS\nabsent PAPI_L3_TCM it has none\n"

static struct lab lab;
static struct battery battery;
static char session[FINGERPRINT_ID_BYTES];

static int enter(void **state)
{
	struct assay_error err;
	struct fingerprint_key key;

	if (scratch_enter(state))
		return 1;
	lab = scratch_lab("lab");
	check(battery_parse("tiny", BATTERY, strlen(BATTERY), &battery, &err), &err);
	key = (struct fingerprint_key){ "m", battery.name, battery.hash, "0.15.06", "x86_64", 1000 };
	begin_fingerprint(&lab.store, &key, session);
	return 0;
}

static int leave(void **state)
{
	battery_release(&battery);
	lab_close(&lab);
	return scratch_leave(state);
}

static struct counting_plan plan_of(const char *text)
{
	struct counting_plan plan;
	struct assay_error err;

	check(counting_plan_parse(text, strlen(text), &plan, &err), &err);
	return plan;
}

static void test_plan(void **state)
{
	struct counting_plan plan = plan_of(PLAN), again;
	struct assay_error err;
	bool found = true;

	(void)state;
	check(stressor_counters_read_plan(&lab.store, session, &again, &found, &err), &err);
	assert_false(found);
	counting_plan_release(&again);
	check(stressor_counters_put_plan(&lab.store, session, &plan, &err), &err);
	check_fails("a second plan", stressor_counters_put_plan(&lab.store, session, &plan, &err), ASSAY_E_IO, &err, "");
	check(stressor_counters_read_plan(&lab.store, session, &again, &found, &err), &err);
	assert_true(found);
	assert_int_equal(again.n, 3);
	assert_int_equal(again.runs[1].events.n, 2);
	assert_string_equal(again.runs[1].events.names[0], "PAPI_L1_DCM"); /* sorted by name */
	assert_string_equal(again.runs[0].family, "hardware");
	assert_string_equal(again.runs[2].family, "software");
	assert_string_equal(again.runs[2].domain, "all");
	assert_int_equal(again.n_absent, 1);
	assert_string_equal(again.absent[0].reason, "it has none");
	assert_null(again.none);
	counting_plan_release(&again);
	counting_plan_release(&plan);
}

static void test_no_counters_at_all(void **state)
{
	struct counting_plan plan = plan_of(COUNTING_MAGIC "\nnone no such thing\nabsent PAPI_TOT_INS no such thing\n"), again;
	struct assay_error err;
	bool found;

	(void)state;
	check(stressor_counters_put_plan(&lab.store, session, &plan, &err), &err);
	check(stressor_counters_read_plan(&lab.store, session, &again, &found, &err), &err);
	assert_true(found);
	assert_int_equal(again.n, 0);
	assert_string_equal(again.none, "no such thing");
	assert_int_equal(again.n_absent, 1);
	counting_plan_release(&again);
	counting_plan_release(&plan);
}

static void test_runs(void **state)
{
	struct counting_plan plan = plan_of(PLAN);
	const int64_t values[] = { 5000000000, 7 };
	const struct stressor_count good = { 1, "str", NULL, 100, 200000, values }, bad = { 2, "cpu", "it hung", 0, 0, NULL };
	struct counter_cell *cells;
	struct assay_error err;
	bool done[6] = { false };
	size_t n;

	(void)state;
	check(stressor_counters_put_plan(&lab.store, session, &plan, &err), &err);
	check(stressor_counters_put(&lab.store, session, &plan.runs[0].events, &good, &err), &err);
	check(stressor_counters_put(&lab.store, session, &plan.runs[1].events, &bad, &err), &err);
	check_fails("a run twice", stressor_counters_put(&lab.store, session, &plan.runs[0].events, &good, &err), ASSAY_E_IO, &err, "");
	check_select(&lab.store, "SELECT count(*) FROM counter", "2\n");

	check(stressor_counters_read_done(&lab.store, session, &battery, plan.n, done, &err), &err);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(done[i], i == 1 || i == 2); /* run 1 of str, run 2 of cpu */

	check(stressor_counters_read_cells(&lab.store, session, &cells, &n, &err), &err);
	assert_int_equal(n, 3);
	assert_string_equal(cells[0].event, "PAPI_TOT_CYC");
	assert_int_equal(cells[0].value, 7);
	assert_string_equal(cells[1].event, "PAPI_TOT_INS");
	assert_int_equal(cells[1].value, 5000000000);
	assert_true(cells[1].operations == 100 && cells[1].wall_ns == 200000);
	assert_string_equal(cells[2].stressor, "cpu");
	assert_string_equal(cells[2].reason, "it hung");
	assert_null(cells[2].event);
	assert_true(isnan(cells[2].operations));
	stressor_counters_cells_free(cells, n);
	counting_plan_release(&plan);
}

/* Checks a store that was edited by hand: its runs do not start at 1. */
static void test_runs_that_are_not_counted_from_1(void **state)
{
	struct counting_plan plan;
	struct assay_error err;
	bool found;
	char *sql = mem_format(
	    "INSERT INTO counter_event (fingerprint, run, event, family, domain) VALUES ('%s', 2, 'A', 'hardware', 'user')", session);

	(void)state;
	assert_int_equal(sqlite3_exec(lab.store.db, sql, NULL, NULL, NULL), SQLITE_OK);
	check_fails("run 2 first", stressor_counters_read_plan(&lab.store, session, &plan, &found, &err), ASSAY_E_CORRUPT, &err,
		    "counted from 1");
	counting_plan_release(&plan);
	free(sql);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int suite_counters(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_plan),
		TEST(test_no_counters_at_all),
		TEST(test_runs),
		TEST(test_runs_that_are_not_counted_from_1),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
