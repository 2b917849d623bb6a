/* Checks that the cost of a night's pages grows linearly with the number of applications, not quadratically. */
#include "gate/nightly/night_answer.h"

#include "base/file.h"
#include "base/mem.h"
#include "fingerprint/catalog/catalog.h"

#include <stdlib.h>

#include "tests/scratch.h"

#define FEW	   4
#define MANY	   (10 * FEW)
#define STEPS_MAX  13 /* limit of the growth in steps for MANY applications; 100 if each application read all others */
#define PAGES_EACH 2  /* a report and a history */

/* A small version of tests/evidence/bench_gate.sh: three machines, two versions, three repetitions. */
static const char sql[] =
    "PRAGMA foreign_keys = OFF;"
    "CREATE TEMP TABLE app AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
    " SELECT i, 'app' || i AS name, printf('%%016x', i) AS id FROM n;"
    "CREATE TEMP TABLE times AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 17)"
    " SELECT i %% 3 AS machine, i / 3 %% 2 AS version, i / 6 + 1 AS repetition FROM n;"
    "INSERT INTO plan (id, application, manifest, manifest_hash, repetitions, warm_ups, seed, started_ms, complete)"
    " SELECT id, name, '', '', 3, 0, 1, 1500000000000, 1 FROM app;"
    "INSERT INTO execution (plan, machine, version, input, repetition, application, taken_ms, outcome, metric, wall_ns, user_us, sys_us, "
    "out, err) SELECT id, 'node' || machine, version, '', repetition, name, 1500000000000 + repetition, 'ok', 1 + repetition / 100.0, "
    "1000000000, 1000000, 0, x'', x'' FROM app, times;"
    "INSERT INTO run (application, version, machine, taken_ms, repetition, ordinal, metric, plan)"
    " SELECT application, version, machine, taken_ms, repetition, 0, metric, plan FROM execution;"
    "INSERT INTO night VALUES ('0123456789abcdef', 1500000000000, 0, 1500090000000, 0, '');"
    "INSERT INTO night_comparison (night, number, manifest, application, input, candidate, baseline, against, hosts, min_effect, budget_s, "
    "state, plan, fresh_plan, decision, detail, seconds) SELECT '0123456789abcdef', i, name, name, '', '1', '0', 'version', '', .03, 0, "
    "'decided', id, '', id, '', 1 FROM app;"
    "INSERT INTO decision (id, night, number, made_ms, application, baseline, candidate, rules, plan, fresh_plan, min_effect, decision, "
    "ratio, low, high, document) SELECT id, '0123456789abcdef', i, 1500090000000, name, '0', '1', 1, id, '', .03, 'pass', 1, .99, 1.01, "
    "'{}'"
    " FROM app;"
    "DROP TABLE app; DROP TABLE times";

static int count_steps(unsigned kind, void *steps, void *stmt, void *ns)
{
	(void)kind;
	(void)ns;
	*(uint64_t *)steps += (uint64_t)sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_VM_STEP, 1);
	return 0;
}

/* Returns the steps of SQLite's virtual machine, which are the same on every machine. */
static uint64_t steps_of(int applications, const char *pages)
{
	char *directory = mem_format("%s-lab", pages);
	char *text = mem_format(sql, applications), *message = NULL;
	struct night night = { .id = "" };
	struct lab lab = scratch_lab(directory);
	struct assay_error err;
	uint64_t steps = 0;
	size_t n = 0;

	if (sqlite3_exec(lab.store.db, text, NULL, NULL, &message))
		fail_msg("%s", message);
	check(night_find(&lab.store, NULL, &night, &err), &err);
	sqlite3_trace_v2(lab.store.db, SQLITE_TRACE_PROFILE, count_steps, &steps);
	check(night_write_pages(&lab, &night, pages, &n, &err), &err);
	assert_int_equal(n, PAGES_EACH * applications + 3);
	night_release(&night);
	lab_close(&lab);
	free(directory);
	free(text);
	return steps;
}

static void test_growth_of_pages(void **state)
{
	uint64_t few, many;

	(void)state;
	few = steps_of(FEW, "few");
	many = steps_of(MANY, "many");
	print_message("steps: %d applications %llu, %d %llu\n", FEW, (unsigned long long)few, MANY, (unsigned long long)many);
	assert_true(few > 100 * FEW);
	assert_true(many < STEPS_MAX * few);
}

/* ---- the page of machines ---- */

/* Six fingerprints of each machine before the night, the last three of node0 slower, and one after the night, which the night ignored. The
 * decision is by CPU time. A run on node0, which is not in the decision otherwise, was disturbed. */
static const char machines_sql[] =
    "INSERT INTO plan_item (plan, kind, ordinal, name) VALUES ('0000000000000001', 'machine', 0, 'node0'), ('0000000000000001', 'machine', "
    "1, 'node1'), ('0000000000000001', 'machine', 2, 'node2');"
    "UPDATE decision SET by_processor = 1; INSERT INTO decision_machine SELECT id, 0, 'node1', .02 FROM decision;"
    "INSERT INTO decision_disturbed SELECT id, 0, 'node0', '1', 1, 'run_delay', .5, 0, 0 FROM decision WHERE number = 1;"
    "INSERT INTO plan_item (plan, kind, ordinal, name) VALUES ('000000000000000a', 'machine', 0, 'node1');"
    "UPDATE decision SET decision = 'regression' WHERE number = 10;"
    "CREATE TEMP TABLE taken AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 18)"
    " SELECT printf('%016x', i) AS id, i % 3 AS node, i / 3 AS week FROM n;"
    "INSERT INTO fingerprint (id, machine, battery, battery_hash, stress_ng, taken_ms, architecture, origin, complete)"
    " SELECT id, 'node' || node, 'quick', 'hash', '0.15.06', CASE WHEN week < 6 THEN 1499000000000 ELSE 1600000000000 END + week, 'x86_64',"
    " 'measured', 1 FROM taken;"
    "INSERT INTO rate (fingerprint, pass, stressor, ordinal, per_s) WITH RECURSIVE s(j) AS (SELECT 0 UNION ALL SELECT j + 1 FROM s WHERE j "
    "< 7)"
    " SELECT id, pass, 's' || j, 0, 1000 * (1 + .005 * ((week * 7 + j * 5 + node * 3 + week * j) % 5) + .005 * pass)"
    " * CASE WHEN node = 0 AND week BETWEEN 3 AND 5 THEN .8 ELSE 1 END FROM taken, s, (SELECT 1 AS pass UNION ALL SELECT 2);"
    "DROP TABLE taken";

static void test_machines(void **state)
{
	static const char *const parts[] = { "<bdi>app10, app1</bdi>", "\u2260</span> quick: all stressors \u00d7 0.79",
					     "</span> 1 of 6 runs (1 kept waiting); 0 excluded<", ">+2.0 % wall<" };
	char *text = mem_format(sql, 10), *file, *message = NULL;
	struct night night = { .id = "" };
	struct fingerprint_set set = { 0 };
	struct catalog catalog = { 0 };
	struct buf page = BUF_INIT;
	struct assay_error err;
	struct lab lab;
	size_t n = 0;

	(void)state;
	lab = scratch_lab("machines-lab");
	if (sqlite3_exec(lab.store.db, text, NULL, NULL, &message) || sqlite3_exec(lab.store.db, machines_sql, NULL, NULL, &message))
		fail_msg("%s", message);
	check(fingerprint_load(&lab.store, &set, &err), &err);
	check(catalog_load(lab.machines, NULL, &catalog, &err), &err);
	catalog_put(&catalog, &set);
	machine_accept(catalog_ensure_machine(&catalog, "node0"), "000000000000000f", 1600000000000,
		       "later"); /* the fingerprint of week 5 */
	check(catalog_save(&catalog, &n, &err), &err);
	check(night_find(&lab.store, NULL, &night, &err), &err);
	check(night_write_pages(&lab, &night, "machines-pages", &n, &err), &err);
	file = mem_format("machines-pages/night-%s.html", night.id);
	check(file_read(file, 1 << 24, &page, &err), &err);
	for (size_t i = 0; i < COUNT(parts); i++) {
		if (!strstr(page.bytes, parts[i]))
			fail_msg("the page does not have '%s'", parts[i]);
	}
	buf_release(&page);
	mem_free(file, text);
	night_release(&night);
	catalog_release(&catalog);
	fingerprint_set_release(&set);
	lab_close(&lab);
}

int suite_night_pages(void)
{
	const struct CMUnitTest tests[] = { SCRATCH_TEST(test_growth_of_pages), SCRATCH_TEST(test_machines) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
