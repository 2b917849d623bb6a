/* Checks which runs of a version count if the build under its name has changed: those of the build that its latest plan deployed. */

#include "runs/running/execution.h"
#include "runs/running/run.h"
#include "tests/scratch.h"

#include <inttypes.h>
#include <math.h>

#define HOUR  INT64_C(3600000)
#define BEGIN (INT64_C(1000000) * HOUR)

static char names[][8] = { "main", "branch", "x", "m1", "m2", "m3", "app", "one", "two" };
static char *versions[] = { names[0], names[1] }, *inputs[] = { names[2] }, *machines[] = { names[3], names[4], names[5] };

struct fixture {
	struct lab lab;
	struct manifest manifest;
	struct plan plan;
	int64_t now_ms;
};

static void manifest_is(struct fixture *f, const char *more)
{
	char *text = mem_format("inputs: { x: { arguments: [7] } }\nversions: { main: , branch: }\nrepetitions: 2\n%s", more);
	struct assay_error err;

	manifest_release(&f->manifest);
	check(manifest_parse("app.yaml", text, strlen(text), &f->manifest, &err), &err);
	free(text);
}

static void enter(struct fixture *f)
{
	*f = (struct fixture){ .lab = scratch_lab("lab"), .now_ms = BEGIN };
	manifest_is(f, "command: [run]");
}

static void leave(struct fixture *f)
{
	manifest_release(&f->manifest);
	lab_close(&f->lab);
}

/* Creates a plan for three machines, started at this machine's time. */
static void plan_now(struct fixture *f, char *main_hash, char *branch_hash, char *probe)
{
	char *artefacts[] = { main_hash, branch_hash };
	struct assay_error err;

	f->plan = (struct plan){ .application = names[6],
				 .versions = versions,
				 .artefacts = artefacts,
				 .n_versions = 2,
				 .inputs = inputs,
				 .n_inputs = 1,
				 .machines = machines,
				 .n_machines = 3,
				 .repetitions = 2,
				 .probe = probe };
	check(plan_new(&f->lab.store, &f->manifest, &f->plan, &err), &err);
	f->plan.artefacts = NULL;
}

/* Creates a plan that starts one hour after the previous one. */
static void plan(struct fixture *f, char *main_hash, char *branch_hash, char *probe)
{
	char *sql;

	plan_now(f, main_hash, branch_hash, probe);
	sql = mem_format("UPDATE plan SET started_ms = %" PRId64 " WHERE id = '%s'", f->now_ms += HOUR, f->plan.id);
	assert_int_equal(sqlite3_exec(f->lab.store.db, sql, NULL, NULL, NULL), SQLITE_OK);
	free(sql);
}

static void put(struct fixture *f, size_t version, const char *machine, enum execution_outcome outcome)
{
	const struct execution_context place = { &f->plan, machine, NULL, "app/x", HOUR, "", NULL };
	struct assay_error err;

	for (int64_t repetition = 1; repetition <= 2; repetition++) {
		struct execution e = { .cell = { 0, version, repetition },
				       .outcome = outcome,
				       .detail = outcome ? names[7] : NULL,
				       .metric = outcome ? (double)NAN : 1,
				       .taken_ms = f->now_ms += HOUR,
				       .signal = -1 };

		check(execution_put(&f->lab.store, &place, &e, &err), &err);
	}
}

static void put_all(struct fixture *f, size_t version)
{
	for (size_t i = 0; i < COUNT(machines); i++)
		put(f, version, machines[i], EXECUTION_OK);
}

/* Checks how many runs of `branch` count, are of other builds, failed, and are missing. */
static void expect(struct fixture *f, const char *what, size_t n, size_t n_others, size_t failed, size_t missing)
{
	struct assay_error err;
	struct run_set set;

	check(run_load(&f->lab.store, "app/x", "branch", &set, &err), &err);
	if (set.n != n || set.n_others != n_others || set.failed != failed || set.missing != missing)
		fail_msg("%s: %zu count, %zu do not, %zu failed, %zu are missing", what, set.n, set.n_others, set.failed, set.missing);
	run_set_add_others(&set);
	assert_int_equal(set.n, n + n_others);
	assert_int_equal(set.n_others, 0);
	for (size_t i = 1; i < set.n; i++)
		assert_true(strcmp(set.items[i - 1].machine, set.items[i].machine) <= 0);
	run_set_release(&set);
}

/* Checks a second night that reaches only one machine. The runs of the other machines are of another build. */
static void test_nightly(void **state)
{
	struct fixture f;
	struct assay_error err;
	struct run_set set;
	char *text;

	(void)state;
	enter(&f);
	plan(&f, names[7], names[7], NULL);
	put_all(&f, 0);
	put_all(&f, 1);
	expect(&f, "the first night", 6, 0, 0, 0);
	plan(&f, names[7], names[8], NULL);
	expect(&f, "nothing was run yet", 0, 6, 0, 6);
	put(&f, 1, "m1", EXECUTION_OK);
	expect(&f, "the second night", 2, 6, 0, 4);
	check(run_load(&f.lab.store, "app/x", "branch", &set, &err), &err);
	text = run_others_text(&set);
	assert_non_null(strstr(text, "6 results of app/x@branch are from another build"));
	assert_non_null(strstr(text, "its latest build has no result on m2, m3"));
	free(text);
	run_set_release(&set);
	check(run_load(&f.lab.store, "app/x", "main", &set, &err), &err);
	assert_int_equal(set.n, 6); /* the build of `main` has not changed */
	assert_null(run_others_text(&set));
	run_set_release(&set);
	put(&f, 1, "m2", EXECUTION_FAILED);
	put(&f, 1, "m3", EXECUTION_OK);
	expect(&f, "complete, with failures", 4, 6, 2, 0);
	plan(&f, names[7], names[7], NULL);
	put(&f, 1, "m1", EXECUTION_OK);
	expect(&f, "back to the first build", 8, 4, 0, 4);
	leave(&f);
}

/* Checks that the same files with other run settings are another build. Settings without influence on results are ignored. */
static void test_manifest(void **state)
{
	static const struct {
		const char *what, *more;
		bool same;
	} rows[] = {
		{ "a description", "command: [run]\ndescription: the same", true },
		{ "a time limit", "command: [run]\ntime_limit: 5", true },
		{ "a directory, perhaps on another disk", "command: [run]\nwork: /tmp", false },
		{ "another command", "command: [run, fast]", false },
		{ "a variable", "command: [run]\nenvironment: { FAST: 1 }", false },
		{ "another metric", "command: [run]\nmetric: cpu", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct fixture f;

		enter(&f);
		plan(&f, names[7], names[7], NULL);
		put_all(&f, 1);
		manifest_is(&f, rows[i].more);
		plan(&f, names[7], names[7], NULL);
		put(&f, 1, "m1", EXECUTION_OK);
		expect(&f, rows[i].what, rows[i].same ? 8 : 2, rows[i].same ? 0 : 6, 0, 4);
		leave(&f);
		assert_int_equal(nftw("lab", scratch_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
	}
}

/* Checks that the metric, shared settings and command are known per build, and the direction as of its runs. Names do not matter. */
static void test_terms(void **state)
{
	static const struct {
		const char *what, *more;
		bool metric, shared, command, higher;
	} rows[] = {
		{ "a description", "command: [run]\ndescription: the same", true, true, true, false },
		{ "a direction", "command: [run]\nmetric: { pattern: '(1)', direction: higher }", false, true, true, true },
		{ "another metric", "command: [run]\nmetric: cpu", false, true, true, false },
		{ "a directory", "command: [run]\nwork: /tmp", true, false, true, false },
		{ "a variable", "command: [run]\nenvironment: { FAST: 1 }", true, false, true, false },
		{ "another command", "command: [run, fast]", true, true, false, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct run_listing *list;
		struct run_set sets[2];
		struct assay_error err;
		struct fixture f;
		size_t n;

		enter(&f);
		plan(&f, names[7], names[7], NULL);
		put_all(&f, 0);
		manifest_is(&f, rows[i].more);
		plan(&f, names[7], names[7], NULL);
		put_all(&f, 1);
		/* Only for `branch` is the second plan the latest one. */
		assert_int_equal(sqlite3_exec(f.lab.store.db,
					      "DELETE FROM plan_item WHERE name = 'main' AND plan = (SELECT id FROM plan ORDER BY "
					      "started_ms DESC LIMIT 1)",
					      NULL, NULL, NULL),
				 SQLITE_OK);
		check(run_load(&f.lab.store, "app/x", "main", &sets[0], &err), &err);
		check(run_load(&f.lab.store, "app/x", "branch", &sets[1], &err), &err);
		if ((strcmp(sets[0].terms.metric, sets[1].terms.metric) == 0) != rows[i].metric ||
		    (strcmp(sets[0].terms.shared, sets[1].terms.shared) == 0) != rows[i].shared ||
		    (strcmp(sets[0].terms.command, sets[1].terms.command) == 0) != rows[i].command)
			fail_msg("%s: not what was expected", rows[i].what);
		check(run_list(&f.lab.store, &list, &n, &err), &err);
		assert_int_equal(n, 2);
		assert_false(sets[0].higher_is_better || list[1].higher_is_better);
		assert_int_equal(sets[1].higher_is_better, rows[i].higher);
		assert_int_equal(list[0].higher_is_better, rows[i].higher);
		check_select(&f.lab.store, "SELECT count(*) FROM metric_direction", "0\n");
		run_list_free(list, n);
		run_set_release(&sets[0]);
		run_set_release(&sets[1]);
		leave(&f);
		assert_int_equal(nftw("lab", scratch_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
	}
}

/* Checks that numbers in names are sorted by value, and that a message lists the first 20 versions. */
static void test_order(void **state)
{
	struct run_listing *list;
	struct assay_error err;
	struct fixture f;
	char *found;
	size_t n;

	(void)state;
	enter(&f);
	for (int i = 1; i <= 30; i++) {
		char *sql = mem_format("INSERT INTO run (application, version, machine, taken_ms, repetition, ordinal, metric) VALUES "
				       "('app', 'v%d', 'm', %d, 1, 0, 5)",
				       i, 1000 * i);

		assert_int_equal(sqlite3_exec(f.lab.store.db, sql, NULL, NULL, NULL), SQLITE_OK);
		free(sql);
	}
	check(run_list(&f.lab.store, &list, &n, &err), &err);
	assert_int_equal(n, 30);
	assert_string_equal(list[1].version, "v2");
	assert_string_equal(list[29].version, "v30");
	run_list_free(list, n);
	assert_int_equal(run_resolve_version(&f.lab.store, "app", NULL, &found, &err), ASSAY_E_USAGE);
	assert_non_null(strstr(err.text, ": v1, v2, "));
	assert_non_null(strstr(err.text, ", v20 and 10 more"));
	leave(&f);
}

/* Checks that a stored manifest that this program cannot parse identifies a build by its hash. */
static void test_unreadable_manifest(void **state)
{
	struct fixture f;

	(void)state;
	enter(&f);
	plan(&f, names[7], names[7], NULL);
	put_all(&f, 1);
	assert_int_equal(sqlite3_exec(f.lab.store.db, "UPDATE plan SET manifest = 'old: style', manifest_hash = 'h'", NULL, NULL, NULL),
			 SQLITE_OK);
	expect(&f, "alone", 6, 0, 0, 0);
	plan(&f, names[7], names[7], NULL);
	put(&f, 1, "m1", EXECUTION_OK);
	expect(&f, "beside one that can be read", 2, 6, 0, 4);
	leave(&f);
}

/* Checks that runs under a probe are no results and do not change which build counts. */
static void test_probe(void **state)
{
	struct fixture f;

	(void)state;
	enter(&f);
	plan(&f, names[7], names[7], NULL);
	put_all(&f, 1);
	plan(&f, names[7], names[8], names[2]);
	put(&f, 1, "m1", EXECUTION_OK);
	expect(&f, "a probe", 6, 0, 0, 0);
	leave(&f);
}

static void import(struct fixture *f, const char *machine, int64_t taken_ms)
{
	char *sql = mem_format("INSERT INTO run (application, version, machine, taken_ms, repetition, ordinal, metric) VALUES "
			       "('app/x', 'branch', '%s', %" PRId64 ", 1, 0, 5)",
			       machine, taken_ms);

	assert_int_equal(sqlite3_exec(f->lab.store.db, sql, NULL, NULL, NULL), SQLITE_OK);
	free(sql);
}

/* Checks that all imported results are one build and are never mixed with runs of assay. */
static void test_imported(void **state)
{
	struct fixture f;

	(void)state;
	enter(&f);
	import(&f, "m1", 1000);
	import(&f, "m1", 2000);
	import(&f, "m9", 90000000000);
	expect(&f, "imported alone", 3, 0, 0, 0);
	plan(&f, names[7], names[7], NULL);
	put_all(&f, 1);
	expect(&f, "runs behind them", 6, 3, 0, 0);
	import(&f, "m2", f.now_ms + HOUR);
	expect(&f, "imported ones behind those", 4, 6, 0, 0);
	leave(&f);
}

/* Checks that failures count with the results of their build, whatever was planned later, until a run on the same machine succeeds. */
static void test_failures(void **state)
{
	struct fixture f;

	(void)state;
	enter(&f);
	plan(&f, names[7], names[7], NULL);
	put(&f, 1, "m1", EXECUTION_OK);
	put(&f, 1, "m2", EXECUTION_FAILED);
	expect(&f, "as it was run", 2, 0, 2, 2);
	plan(&f, names[7], names[7], NULL);
	expect(&f, "the next night reaches nobody", 2, 0, 2, 6);
	put(&f, 1, "m1", EXECUTION_OK);
	expect(&f, "or another machine alone", 4, 0, 2, 4);
	put(&f, 1, "m2", EXECUTION_OK);
	expect(&f, "it fails no more", 6, 0, 0, 2);
	put(&f, 1, "m3", EXECUTION_FAILED);
	import(&f, "m3", f.now_ms + HOUR);
	expect(&f, "imported results have no failures", 1, 6, 0, 0);
	leave(&f);
}

/* Checks runs from a time when the clock was far ahead: runs that were made later still count as newer. */
static void test_clock(void **state)
{
	struct fixture f;

	(void)state;
	enter(&f);
	plan(&f, names[7], names[7], NULL);
	put_all(&f, 1);
	plan_now(&f, names[7], names[8], NULL);
	expect(&f, "nothing of the new build", 0, 6, 0, 6);
	f.now_ms = 1000;
	put(&f, 1, "m1", EXECUTION_OK);
	expect(&f, "some of it", 2, 6, 0, 4);
	f.now_ms = BEGIN;
	plan(&f, names[7], names[8], NULL);
	put(&f, 1, "m2", EXECUTION_FAILED);
	plan_now(&f, names[7], names[8], NULL);
	f.now_ms = 2000;
	put(&f, 1, "m2", EXECUTION_OK);
	expect(&f, "what failed while the clock was ahead is repaired", 4, 6, 0, 4);
	leave(&f);
}

int suite_run_build(void)
{
	const struct CMUnitTest tests[] = {
		SCRATCH_TEST(test_nightly), SCRATCH_TEST(test_manifest), SCRATCH_TEST(test_unreadable_manifest),
		SCRATCH_TEST(test_probe),   SCRATCH_TEST(test_imported), SCRATCH_TEST(test_failures),
		SCRATCH_TEST(test_clock),   SCRATCH_TEST(test_terms),	 SCRATCH_TEST(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
