/* Tests executions in the store: a failure has no number, no execution is stored twice, each result finds its fingerprint, and rows of a
 * dataset are medians of that fingerprint. Also tests software stacks as hosts report them. */
#include "runs/running/execution.h"

#include "runs/running/launch.h"
#include "runs/running/evidence.h"
#include "runs/running/stack.h"
#include "tests/scratch.h"

#include <math.h>

#define DAY  INT64_C(86400000)
#define TEXT "command: [run]\nversions: { a: , b: }\nwarm_ups: 1\nrepetitions: 3\ntime_limit: 100\n"

#define SIGNATURE "{\"sys_us\":8,\"samples\":\"1 lost -\\n\"}"

struct fixture {
	struct lab lab;
	struct manifest manifest;
	struct plan plan;
	struct execution_context place;
};

static char texts[][48] = { "a", "b", "", "m1", "m2", "one", "two", "app", "because", "o\0ut", SIGNATURE };
static char *versions[] = { texts[0], texts[1] }, *inputs[] = { texts[2] }, *machines[] = { texts[3], texts[4] };

static void enter(struct fixture *f)
{
	struct assay_error err;

	f->lab = scratch_lab("lab");
	check(manifest_parse("app.yaml", TEXT, strlen(TEXT), &f->manifest, &err), &err);
	f->plan = (struct plan){ .application = texts[7],
				 .versions = versions,
				 .artefacts = versions,
				 .n_versions = 2,
				 .inputs = inputs,
				 .n_inputs = 1,
				 .machines = machines,
				 .n_machines = 2,
				 .repetitions = 3,
				 .warm_ups = 1 };
	check(plan_new(&f->lab.store, &f->manifest, &f->plan, &err), &err);
	f->place = (struct execution_context){ &f->plan, "m1", NULL, "app", 30 * DAY, NULL, "x86_64" };
}

static void leave(struct fixture *f)
{
	manifest_release(&f->manifest);
	lab_close(&f->lab);
}

static struct execution execution_of(size_t version, int64_t repetition, enum execution_outcome outcome, int64_t taken_ms)
{
	return (struct execution){ .cell = { 0, version, repetition },
				   .outcome = outcome,
				   .detail = outcome ? texts[8] : NULL,
				   .metric = outcome ? (double)NAN : 1.5,
				   .taken_ms = taken_ms,
				   .usage = { 1500000000, 7, 8 },
				   .max_rss_bytes = 99,
				   .exit_status = 0,
				   .signal = -1,
				   .out = texts[9],
				   .out_bytes = 4,
				   .err = NULL,
				   .err_bytes = 0,
				   .run_usage = outcome ? NULL : texts[10] };
}

static void put(struct fixture *f, size_t version, int64_t repetition, enum execution_outcome outcome, int64_t taken_ms)
{
	struct execution e = execution_of(version, repetition, outcome, taken_ms);
	struct assay_error err;

	check(execution_put(&f->lab.store, &f->place, &e, &err), &err);
}

static void test_put(void **state)
{
	struct fixture f;
	struct execution e;
	struct execution_rows rows;
	struct assay_error err;

	(void)state;
	enter(&f);
	put(&f, 0, 1, EXECUTION_OK, 1000);
	for (int i = EXECUTION_OK + 1; i < EXECUTION_OUTCOMES; i++) {
		f.place.machine = i % 2 ? "m1" : "m2";
		put(&f, 1, i / 2 + 1, (enum execution_outcome)i, 2000 + i);
	}
	check_select(&f.lab.store,
		     "SELECT application, version, machine, taken_ms, repetition, ordinal, metric, fingerprint, pass FROM run",
		     "app|a|m1|1000|1|0|1.5||\n");
	check_select(&f.lab.store, "SELECT count(*) FROM run JOIN plan ON plan.id = run.plan", "1\n");
	check_select(&f.lab.store, "SELECT outcome, metric IS NULL, detail FROM execution ORDER BY taken_ms",
		     "ok|0|\nfailed|1|because\nkilled|1|because\ntimeout|1|because\nno_metric|1|because\nnot_started|1|because\nno_samples|"
		     "1|because\n");
	check(execution_load_plan(&f.lab.store, &f.plan, &rows, &err), &err);
	assert_int_equal(rows.n, EXECUTION_OUTCOMES);
	assert_int_equal(rows.items[0].outcome, EXECUTION_OK);
	assert_true(rows.items[0].metric == 1.5 && rows.items[0].wall_ns == 1500000000 && rows.items[0].signal == -1);
	assert_null(rows.items[0].out);
	execution_rows_release(&rows);
	check(execution_load_failures(&f.lab.store, "app", "b", false, &rows, &err), &err);
	assert_int_equal(rows.n, EXECUTION_OUTCOMES - 1);
	assert_int_equal(rows.items[0].outcome, EXECUTION_FAILED);
	assert_int_equal(rows.items[0].out_bytes, 4);
	assert_memory_equal(rows.items[0].out, "o\0ut", 4);
	execution_rows_release(&rows);
	check(execution_load_failures(&f.lab.store, "app", "a", false, &rows, &err), &err);
	assert_int_equal(rows.n, 0);
	f.place.machine = "m1";
	e = execution_of(0, 1, EXECUTION_OK, 5000);
	check_fails("twice", execution_put(&f.lab.store, &f.place, &e, &err), ASSAY_E_CONFLICT, &err, "stored already");
	e = execution_of(1, 1, EXECUTION_OK, 5000);
	check_fails("a failure is not measured again", execution_put(&f.lab.store, &f.place, &e, &err), ASSAY_E_CONFLICT, &err,
		    "stored already");
	check_select(&f.lab.store, "SELECT count(*) FROM run", "1\n");
	leave(&f);
}

/* Checks that the resource usage of a run is found by its result. */
static void test_signature(void **state)
{
	struct execution_rows rows;
	struct run_set runs;
	struct fixture f;
	struct assay_error err;

	(void)state;
	enter(&f);
	put(&f, 0, 1, EXECUTION_OK, 1000);
	put(&f, 0, 3, EXECUTION_OK, 1000); /* two runs may have the same time */
	put(&f, 0, 2, EXECUTION_OK, 1500);
	put(&f, 1, 1, EXECUTION_OK, 1000);
	check(run_load(&f.lab.store, "app", "a", &runs, &err), &err);
	check(execution_load_results(&f.lab.store, "app", "a", NULL, &rows, &err), &err);
	assert_int_equal(runs.n, 3);
	for (size_t i = 0; i < runs.n; i++) {
		const struct execution_row *row = execution_find_run(&rows, &runs.items[i]);

		assert_non_null(row);
		assert_int_equal(row->repetition, runs.items[i].repetition);
		assert_string_equal(row->run_usage, SIGNATURE);
	}
	*runs.items[0].plan = 'x';
	assert_null(execution_find_run(&rows, &runs.items[0]));
	execution_rows_release(&rows);
	check(execution_load_results(&f.lab.store, "app", "a", runs.items[1].plan, &rows, &err), &err);
	assert_int_equal(rows.n, 3);
	execution_rows_release(&rows);
	check(execution_load_results(&f.lab.store, "app", "a", "another", &rows, &err), &err);
	assert_int_equal(rows.n, 0);
	execution_rows_release(&rows);
	run_set_release(&runs);
	leave(&f);
}

/* Checks that each execution records the architecture, with or without a result; null if the host reported none. */
static void test_architecture(void **state)
{
	struct fixture f;
	struct run_set runs;
	struct assay_error err;

	(void)state;
	enter(&f);
	put(&f, 0, 1, EXECUTION_OK, 1000);
	f.place.machine = "m2";
	f.place.architecture = "aarch64";
	put(&f, 0, 1, EXECUTION_FAILED, 1100);
	f.place.architecture = NULL;
	put(&f, 0, 2, EXECUTION_OK, 1200);
	check_select(&f.lab.store, "SELECT machine, architecture IS NULL, architecture FROM execution ORDER BY taken_ms",
		     "m1|0|x86_64\nm2|0|aarch64\nm2|1|\n");
	check(run_load(&f.lab.store, "app", "a", &runs, &err), &err);
	assert_int_equal(runs.n, 2);
	assert_string_equal(runs.items[0].architecture, "x86_64");
	assert_string_equal(runs.items[1].architecture, "");
	assert_int_equal(runs.n_executed_machines, 2);
	assert_string_equal(runs.executed_on[0].architecture, "x86_64");
	assert_string_equal(runs.executed_on[1].architecture, "aarch64");
	run_set_release(&runs);
	leave(&f);
}

/* Checks that the database refuses a number for a failure, and a result without a number. */
static void test_never_a_number(void **state)
{
	struct fixture f;

	(void)state;
	enter(&f);
	put(&f, 0, 1, EXECUTION_OK, 1000);
	put(&f, 0, 2, EXECUTION_TIMEOUT, 1000);
	assert_int_not_equal(sqlite3_exec(f.lab.store.db, "UPDATE execution SET metric = 1 WHERE outcome = 'timeout'", NULL, NULL, NULL),
			     SQLITE_OK);
	assert_int_not_equal(sqlite3_exec(f.lab.store.db, "UPDATE execution SET metric = NULL WHERE outcome = 'ok'", NULL, NULL, NULL),
			     SQLITE_OK);
	leave(&f);
}

static void expect_done(struct fixture *f, const char *machine, size_t warm, size_t done)
{
	struct plan_cell *cells;
	size_t n, found_warm = 0, found = 0;
	struct assay_error err;
	bool *flags;

	plan_order(&f->plan, 0, &cells, &n);
	flags = mem_new(n, sizeof(*flags));
	check(execution_find_done(&f->lab.store, &f->plan, machine, cells, n, flags, &err), &err);
	for (size_t i = 0; i < n; i++) {
		found_warm += flags[i] && cells[i].repetition < 1;
		found += flags[i] && cells[i].repetition >= 1;
	}
	assert_int_equal(found_warm, warm);
	assert_int_equal(found, done);
	free(flags);
	free(cells);
}

/* Checks that after an interruption a version is warmed up again, unless all of its runs are done. */
static void test_done(void **state)
{
	struct fixture f;

	(void)state;
	enter(&f);
	expect_done(&f, "m1", 0, 0);
	put(&f, 0, 1, EXECUTION_OK, 1000);
	put(&f, 1, 2, EXECUTION_FAILED, 1000);
	expect_done(&f, "m1", 0, 2);
	expect_done(&f, "m2", 0, 0);
	put(&f, 0, 2, EXECUTION_OK, 2000);
	put(&f, 0, 3, EXECUTION_TIMEOUT, 3000);
	expect_done(&f, "m1", 1, 4);
	put(&f, 1, 1, EXECUTION_OK, 3000);
	put(&f, 1, 3, EXECUTION_OK, 3000);
	expect_done(&f, "m1", 2, 6);
	leave(&f);
}

/* ---- fingerprints ---- */

static void fingerprint(struct fixture *f, const char *id, const char *machine, int64_t taken_ms, int complete, const char *profile)
{
	char *sql = mem_format(
	    "INSERT INTO fingerprint (id, machine, battery, battery_hash, stress_ng, taken_ms, architecture, origin, complete, "
	    "profile) VALUES ('%s', '%s', 'b', 'h', '1', %lld, 'x', 'measured', %d, %s%s%s);"
	    "INSERT INTO rate VALUES ('%s', 1, 's', 0, 10, NULL), ('%s', 2, 's', 0, 30, NULL), ('%s', 3, 's', 0, 20, NULL)",
	    id, machine, (long long)taken_ms, complete, profile ? "'" : "", profile ? profile : "NULL", profile ? "'" : "", id, id, id);

	assert_int_equal(sqlite3_exec(f->lab.store.db, sql, NULL, NULL, NULL), SQLITE_OK);
	free(sql);
}

static void test_fingerprint(void **state)
{
	struct fixture f;
	struct evidence evidence;
	struct run_set runs;
	struct dataset dataset;
	struct assay_error err;

	(void)state;
	enter(&f);
	f.place.max_age_ms = 10 * DAY;
	fingerprint(&f, "old", "m1", 100 * DAY, 1, NULL);
	fingerprint(&f, "new", "m1", 105 * DAY, 1, NULL);
	fingerprint(&f, "half", "m1", 106 * DAY, 0, NULL);
	fingerprint(&f, "emu", "m1", 106 * DAY, 1, "vm");
	fingerprint(&f, "other", "m2", 107 * DAY, 1, NULL);
	put(&f, 0, 1, EXECUTION_OK, 99 * DAY);	    /* before the first fingerprint */
	put(&f, 0, 2, EXECUTION_OK, 104 * DAY);	    /* between two fingerprints */
	put(&f, 0, 3, EXECUTION_OK, 115 * DAY);	    /* the largest age that counts */
	put(&f, 0, 4, EXECUTION_OK, 108 * DAY);	    /* two fingerprints count: the later one is used */
	put(&f, 1, 1, EXECUTION_OK, 115 * DAY + 1); /* its fingerprint is too old */
	f.place.profile = "vm";
	put(&f, 1, 2, EXECUTION_OK, 107 * DAY);
	f.place.profile = "bw";
	put(&f, 1, 3, EXECUTION_OK, 107 * DAY);
	check_select(&f.lab.store, "SELECT version, repetition, fingerprint, pass FROM run ORDER BY 1, 2",
		     "a|1||\na|2|old|\na|3|new|\na|4|new|\nb|1||\nb|2|emu|\nb|3||\n");
	/* The runs belong to no single pass, so that they get the medians. */
	check(run_load(&f.lab.store, "app", "a", &runs, &err), &err);
	check(evidence_load(&f.lab, &evidence, &err), &err);
	assert_string_equal(runs.items[1].plan, f.plan.id);
	assert_int_equal(runs.items[1].usage.wall_ns, 1500000000);
	assert_int_equal(runs.items[1].usage.user_us, 7);
	assert_int_equal(runs.items[1].usage.sys_us, 8);
	dataset_build(&evidence, &runs, false, &dataset);
	assert_int_equal(dataset.X.rows, 3);
	assert_int_equal(dataset.n_excluded[EXCLUDED_NO_FINGERPRINT], 1);
	assert_true(dataset.X.at[0] == 20 && dataset.X.at[1] == 20);
	dataset_release(&dataset);
	evidence_release(&evidence);
	run_set_release(&runs);
	leave(&f);
}

static void test_listing(void **state)
{
	struct fixture f;
	struct run_listing *list;
	struct assay_error err;
	size_t n;

	(void)state;
	enter(&f);
	put(&f, 0, 1, EXECUTION_OK, 1000);
	put(&f, 0, 2, EXECUTION_KILLED, 1000);
	put(&f, 1, 1, EXECUTION_FAILED, 1000);
	check(run_list(&f.lab.store, &list, &n, &err), &err);
	assert_int_equal(n, 2);
	assert_int_equal(list[0].runs, 1);
	assert_int_equal(list[0].failed, 1);
	assert_int_equal(list[1].runs, 0);
	assert_int_equal(list[1].failed, 1);
	run_list_free(list, n);
	leave(&f);
}

/* ---- estimated durations ---- */

static void test_estimate(void **state)
{
	struct host hosts[] = { { .id = texts[3], .box = texts[5] }, { .id = texts[4], .box = texts[6] } };
	const struct host *both[] = { &hosts[0], &hosts[1] };
	struct estimate each[2], total;
	struct fixture f;
	struct assay_error err;

	(void)state;
	enter(&f);
	check(estimate_plan(&f.lab.store, &f.manifest, &f.plan, each, &err), &err);
	assert_int_equal(each[0].runs, 8);
	assert_int_equal(each[0].unknown, 8);
	assert_true(each[0].seconds == 0 && each[0].at_most_s == 800);
	put(&f, 0, 1, EXECUTION_OK, 1000);	/* 1.5 s */
	put(&f, 1, 1, EXECUTION_TIMEOUT, 1000); /* does not count for the duration of good runs */
	check(estimate_plan(&f.lab.store, &f.manifest, &f.plan, each, &err), &err);
	assert_int_equal(each[0].runs, 6);
	assert_int_equal(each[0].unknown, 0); /* estimated from the other version */
	assert_true(each[0].seconds == 9 && each[0].at_most_s == 0);
	assert_int_equal(each[1].runs, 8); /* estimated from the other machine */
	assert_true(each[1].seconds == 12 && each[1].at_most_s == 0);
	total = estimate_total(each, both, 2);
	assert_true(total.seconds == 12 && total.at_most_s == 0 && total.runs == 14);
	hosts[1].box = texts[5];
	total = estimate_total(each, both, 2);
	assert_true(total.seconds == 21 && total.at_most_s == 0);
	leave(&f);
}

/* ---- software stacks ---- */

#define H1 "1111111111111111111111111111111111111111111111111111111111111111"
#define H2 "2222222222222222222222222222222222222222222222222222222222222222"

static void test_stack_parse(void **state)
{
	static const struct {
		const char *what, *text;
		enum assay_status status;
		const char *expected; /* or a part of the error message */
	} rows[] = {
		{ "sorted by path, once", H2 "  /b\n" H1 "  /c\n" H2 "  /a x\n" H2 "  /b\n", ASSAY_OK,
		  H2 "  /a x\n" H2 "  /b\n" H1 "  /c\n" },
		{ "binary mark", H1 " */a\n", ASSAY_OK, H1 "  /a\n" },
		{ "of the session", H1 "  /dev/s/files/x\n" H1 "  /dev/sh\n", ASSAY_OK, H1 "  /dev/sh\n" H1 "  {session}/files/x\n" },
		{ "no end", H1 "  /a", ASSAY_OK, H1 "  /a\n" },
		{ "nothing", "", ASSAY_E_NODATA, "the libraries are not known" },
		{ "words", "sha256sum: /x: no such file\n", ASSAY_E_FORMAT, "'sha256sum" },
		{ "a hash too short", "1111  /a\n", ASSAY_E_FORMAT, "1111" },
		{ "capitals", "A" H1 "  /a\n", ASSAY_E_FORMAT, "A1111" },
		{ "no path", H1 "  \n", ASSAY_E_FORMAT, "1111" },
		{ "an escaped name", "\\" H1 "  /a\\nb\n", ASSAY_E_FORMAT, "1111" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct assay_error err;
		char *out = NULL;
		enum assay_status st = stack_parse(rows[i].text, strlen(rows[i].text), "/dev/s", &out, &err);

		if (rows[i].status) {
			check_fails(rows[i].what, st, rows[i].status, &err, rows[i].expected);
			continue;
		}
		check(st, &err);
		assert_string_equal(out, rows[i].expected);
		free(out);
	}
}

static void test_stack_difference(void **state)
{
	static const struct {
		const char *a, *b, *expected;
	} rows[] = {
		{ H1 "  /x/a\n", H1 "  /x/a\n", "" },
		{ H1 "  /x/a\n" H1 "  /x/b\n", H1 "  /x/a\n" H2 "  /x/b\n", "b" },
		{ H1 "  /x/a\n", H1 "  /y/a\n" H1 "  /c\n", "a, c" },
		{ H1 "  /a\n" H1 "  /b\n" H1 "  /c\n" H1 "  /d\n" H1 "  /e\n", "", "a, b, c and 2 more" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *text = stack_describe_difference(rows[i].a, rows[i].b);

		assert_string_equal(text, rows[i].expected);
		free(text);
	}
}

static void test_stack_store(void **state)
{
	struct fixture f;
	struct stack_rows rows;
	struct assay_error err;

	(void)state;
	enter(&f);
	check(stack_put(&f.lab.store, &f.plan, "m2", "a", H1 "  /lib/libc.so\n", &err), &err);
	check(stack_put(&f.lab.store, &f.plan, "m1", "a", H1 "  /lib/libc.so\n", &err), &err);
	check(stack_put(&f.lab.store, &f.plan, "m1", "a", H1 "  /lib/libc.so\n", &err), &err); /* the resumed plan has the same stack */
	check_fails("changed", stack_put(&f.lab.store, &f.plan, "m1", "a", H2 "  /lib/libc.so\n", &err), ASSAY_E_CONFLICT, &err,
		    "(libc.so)");
	check(stack_load(&f.lab.store, &f.plan, &rows, &err), &err);
	assert_int_equal(rows.n, 2);
	assert_string_equal(rows.items[0].machine, "m1");
	assert_string_equal(rows.items[0].hash, rows.items[1].hash);
	stack_rows_release(&rows);
	check_select(&f.lab.store, "SELECT count(*) FROM stack", "1\n");
	leave(&f);
}

int suite_execution(void)
{
	const struct CMUnitTest tests[] = {
		SCRATCH_TEST(test_put),
		SCRATCH_TEST(test_signature),
		SCRATCH_TEST(test_architecture),
		SCRATCH_TEST(test_never_a_number),
		SCRATCH_TEST(test_done),
		SCRATCH_TEST(test_fingerprint),
		SCRATCH_TEST(test_listing),
		SCRATCH_TEST(test_estimate),
		cmocka_unit_test(test_stack_parse),
		cmocka_unit_test(test_stack_difference),
		SCRATCH_TEST(test_stack_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
