/* What the pages of a night ask of the store grows with its applications, not with their square. */
#include "gate/nightly/night_answer.h"

#include "base/mem.h"

#include <stdlib.h>

#include "tests/scratch.h"

#define FEW	   4
#define MANY	   (10 * FEW)
#define STEPS_MAX  13 /* times as many; 100 where each application looks at all */
#define PAGES_EACH 2  /* a report and a history */

/* As in tests/evidence/bench_gate.sh, small: three machines, two versions, three repetitions. */
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
    "INSERT INTO night VALUES ('0123456789abcdef', 1500000000000, 0, 1500090000000, 0, '', '[]');"
    "INSERT INTO night_comparison (night, number, manifest, application, input, candidate, baseline, against, hosts, min_effect, budget_s, "
    "state, plan, fresh_plan, decision, detail, seconds) SELECT '0123456789abcdef', i, name, name, '', '1', '0', 'version', '', .03, 0, "
    "'decided', id, '', id, '', 1 FROM app;"
    "INSERT INTO decision SELECT id, '0123456789abcdef', i, 1500090000000, name, '0', '1', 'pass', 1, .99, 1.01,"
    " json_object('rules', 1, 'application', name, 'baseline', '0', 'candidate', '1', 'plan', id, 'fresh_plan', '', 'min_effect', .03,"
    " 'confirm', json('false'), 'machines', 1, 'chance', json('false'), 'alike', json('false'), 'why', ''),"
    " '{\"decision\": \"pass\", \"reasons\": [], \"machines\": 3, \"runs\": {\"machines\": []}}' FROM app;"
    "DROP TABLE app; DROP TABLE times";

static int count_steps(unsigned kind, void *steps, void *stmt, void *ns)
{
	(void)kind;
	(void)ns;
	*(uint64_t *)steps += (uint64_t)sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_VM_STEP, 1);
	return 0;
}

/* Steps of SQLite's machine: the same wherever it runs. */
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
	check(night_pages(&lab, &night, pages, &n, &err), &err);
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

int suite_night_pages(void)
{
	const struct CMUnitTest tests[] = { SCRATCH_TEST(test_growth_of_pages) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
