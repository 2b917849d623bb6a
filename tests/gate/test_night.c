/* Tests decisions of nights in the store: each is stored completely or not at all, and a change of any value is detected. */
#include "gate/nightly/night.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

#include "tests/scratch.h"

static const struct judge_request request = { .rules = 3,
					      .application = (char[]){ "a/\"x\"" },
					      .baseline = (char[]){ "v1" },
					      .candidate = (char[]){ "v2" },
					      .plan = "0123456789abcdef",
					      .confirmation_plan = "fedcba9876543210",
					      .min_effect = .1 + .2,
					      .min_gain = .4,
					      .confirm = true,
					      .control = true,
					      .machines = 2,
					      .may_be_chance = true,
					      .follows_night_trend = true,
					      .no_comparison_reason = (char[]){ "why" },
					      .accepted = (char[]){ "accepted" } };

/* Values that need the full precision of a double. */
static struct judge_machine machines[] = { { (char[]){ "m1" }, -1. / 3 }, { (char[]){ "m2" }, (double)NAN } };
static struct disturbed_run runs[] = {
	{ (char[]){ "m1" }, (char[]){ "v2" }, 3, DISTURBED_IO, .1 + .2, .01, true },
	{ (char[]){ "m3" }, (char[]){ "v1" }, 4, DISTURBED_STOLEN, .5, 0, false },
};
static struct reason reasons[] = { { (char[]){ "slower" }, (char[]){ "it's\nslower" } }, { (char[]){ "b" }, (char[]){ "c" } } };

static const struct judgement j = { .decision = DECISION_REGRESSION,
				    .by_processor = true,
				    .ratio = 1.1 + 2.2,
				    .low = 1. / 3,
				    .high = (double)NAN,
				    .level = .975,
				    .p = 1e-9 / 3,
				    .input = { .confirmation = CONFIRMATION_NOT_SEEN, .has_control_moved = true },
				    .recorded = 6,
				    .cause = (char[]){ "cause" },
				    .reasons = { reasons, 2, 2 },
				    .machines = machines,
				    .n_machines = 2,
				    .functions = { { (char[]){ "f" }, (char[]){ "f.c" }, (char[]){ "calls" }, (char[]){ "emulated:blocks" },
						     7, 1. / 3, 2, .5 } },
				    .n_functions = 1,
				    .disturbed = { .items = runs, .n = 2 },
				    .calibration = { true, 1, 2, 3, 4, 5, 6, 7, 8, (char[]){ "stale" } },
				    .document = (char[]){ "{\"a\": 1}" } };

/* Starts a night with one comparison that is not decided yet. */
static struct lab begin(const char *directory, struct night *night, struct night_comparison *c)
{
	struct lab lab = scratch_lab(directory);
	struct night_comparisons all = { c, 1 };
	struct assay_error err;

	*night = (struct night){ .started_ms = 1, .suite = mem_string("") };
	*c = (struct night_comparison){ .manifest = (char[]){ "a" },
					.application = request.application,
					.input = (char[]){ "" },
					.candidate = request.candidate,
					.baseline = request.baseline,
					.baseline_kind = (char[]){ "version" },
					.hosts = (char[]){ "" },
					.detail = (char[]){ "" },
					.state = NIGHT_CONFIRMING };
	check(night_begin(&lab.store, night, &all, &err), &err);
	return lab;
}

static bool is_same(double a, double b)
{
	return (isnan(a) && isnan(b)) || !(a < b || a > b || isnan(a) || isnan(b));
}

/* Decisions keep the names that machines had. Readers get the present names, unless a new machine has the old name. */
static void test_renamed_machines(void **state)
{
	static const char *const renamed[] = { "INSERT INTO renamed_machine VALUES ('m1', 0, 'before')",
					       "m1",
					       "INSERT INTO renamed_machine VALUES ('m1', 9000000000000, 'new')",
					       "new",
					       "INSERT INTO renamed_machine VALUES ('m1', 9100000000000, 'later')",
					       "new" };
	struct night_decisions found;
	struct night_comparison c;
	struct assay_error err;
	struct night night;
	struct lab lab = begin("renamed", &night, &c);

	(void)state;
	check(night_decide(&lab.store, &night, &c, &request, &j, &err), &err);
	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i += 2) {
		check(store_execute(&lab.store, &err, renamed[i], ""), &err);
		check(night_decision_find(&lab.store, c.decision, &found, &err), &err);
		assert_string_equal(found.items[0].judged.machines[0].machine, renamed[i + 1]);
		assert_string_equal(found.items[0].judged.disturbed.items[0].machine, renamed[i + 1]);
		night_decisions_release(&found);
	}
	night_release(&night);
	lab_close(&lab);
}

static void test_back(void **state)
{
	struct night_decisions found;
	const struct night_decision *d;
	struct night_comparison c;
	struct assay_error err;
	char id[DIGEST_ID_BYTES];
	struct night night;
	struct lab lab = begin("lab", &night, &c);

	(void)state;
	check(night_decide(&lab.store, &night, &c, &request, &j, &err), &err);
	check(night_decision_find(&lab.store, c.decision, &found, &err), &err);
	d = &found.items[0];
	check(night_compute_digest(&lab.store, d->id, id, &err), &err);
	assert_string_equal(id, c.decision);
	assert_string_equal(d->night, night.id);
	assert_true(d->number == 1 && d->judged.decision == j.decision && is_same(d->judged.ratio, j.ratio) &&
		    is_same(d->judged.low, j.low) && isnan(d->judged.high));
	assert_string_equal(d->request.application, request.application);
	assert_string_equal(d->request.baseline, request.baseline);
	assert_string_equal(d->request.candidate, request.candidate);

	assert_true(d->request.rules == 3 && d->request.machines == 2 && d->request.confirm && d->request.control &&
		    d->request.may_be_chance && d->request.follows_night_trend);
	assert_true(is_same(d->request.min_effect, .1 + .2) && is_same(d->request.min_gain, .4));
	assert_string_equal(d->request.plan, request.plan);
	assert_string_equal(d->request.confirmation_plan, request.confirmation_plan);
	assert_string_equal(d->request.no_comparison_reason, request.no_comparison_reason);
	assert_string_equal(d->request.accepted, request.accepted);
	assert_ptr_equal(d->request.calibration, &d->judged.calibration);

	assert_true(d->judged.by_processor && is_same(d->judged.level, .975) && is_same(d->judged.p, j.p));
	assert_true(d->judged.input.confirmation == CONFIRMATION_NOT_SEEN && d->judged.input.has_control_moved && d->judged.recorded == 6);
	assert_string_equal(d->judged.cause, j.cause);
	assert_string_equal(d->judged.document, j.document);
	assert_int_equal(d->judged.reasons.n, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(d->judged.reasons.items[i].code, j.reasons.items[i].code);
		assert_string_equal(d->judged.reasons.items[i].text, j.reasons.items[i].text);
	}
	assert_int_equal(d->judged.n_machines, 2);
	assert_int_equal(judgement_count_machines(&d->judged), 1);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(d->judged.machines[i].machine, j.machines[i].machine);
		assert_true(is_same(d->judged.machines[i].log_ratio, j.machines[i].log_ratio));
	}
	assert_int_equal(d->judged.n_functions, 1);
	assert_string_equal(d->judged.functions[0].name, "f");
	assert_string_equal(d->judged.functions[0].file, "f.c");
	assert_string_equal(d->judged.functions[0].kind, "calls");
	assert_string_equal(d->judged.functions[0].counter, "emulated:blocks");
	assert_true(d->judged.functions[0].line == 7 && is_same(d->judged.functions[0].normal, 1. / 3) &&
		    is_same(d->judged.functions[0].now, 2) && is_same(d->judged.functions[0].part, .5));
	assert_true(d->judged.disturbed.n == 2 && d->judged.disturbed.n_excluded == 1);
	for (size_t i = 0; i < 2; i++) {
		const struct disturbed_run *a = &d->judged.disturbed.items[i], *b = &j.disturbed.items[i];

		assert_string_equal(a->machine, b->machine);
		assert_string_equal(a->version, b->version);
		assert_true(a->repetition == b->repetition && a->cause == b->cause && is_same(a->share, b->share) &&
			    is_same(a->usual, b->usual) && a->is_excluded == b->is_excluded);
	}
	assert_true(d->judged.calibration.is_application_specific && d->judged.calibration.taken_ms == 1 &&
		    d->judged.calibration.identical == 2 && d->judged.calibration.distinct == 3 && d->judged.calibration.slower == 4 &&
		    d->judged.calibration.faster == 5 && d->judged.calibration.percent == 6 && d->judged.calibration.injected == 7 &&
		    d->judged.calibration.found == 8);
	assert_string_equal(d->judged.calibration.stale, "stale");
	night_decisions_release(&found);
	night_release(&night);
	lab_close(&lab);
}

/* Checks that every change, addition or deletion in the tables changes the identifier. The time of the decision does not affect it. */
static void test_changes_show(void **state)
{
	static const char *const changes[] = {
		"DELETE FROM decision_reason WHERE number = 1",
		"DELETE FROM decision_machine WHERE number = 1",
		"DELETE FROM decision_disturbed WHERE number = 1",
		"DELETE FROM decision_calibration",
		"DELETE FROM decision_function",
		"UPDATE decision_function SET counter = ''",
		"UPDATE decision_machine SET log_ratio = log_ratio + 1e-16 WHERE number = 0",
		"UPDATE decision SET low = NULL",
		"UPDATE decision SET number = 2",
		"UPDATE decision_reason SET number = 2 - number",
		"INSERT INTO decision_machine SELECT decision, 2, 'm4', NULL FROM decision_machine WHERE number = 0",
	};
	struct night_comparison c;
	struct assay_error err;
	char id[DIGEST_ID_BYTES];
	struct night night;
	struct lab lab = begin("lab", &night, &c);
	sqlite3_stmt *columns = NULL;
	enum assay_status st = ASSAY_OK;
	size_t n = 0;

	(void)state;
	check(night_decide(&lab.store, &night, &c, &request, &j, &err), &err);
	check(store_query(
		  &lab.store, &columns, &err,
		  "SELECT m.name, p.name, p.type FROM sqlite_schema m JOIN pragma_table_info(m.name) p WHERE m.type = 'table' AND "
		  "(m.name = 'decision' OR m.name LIKE 'decision\\_%' ESCAPE '\\') AND p.name NOT IN ('id', 'decision', 'made_ms') OR "
		  "(m.name = 'decision' AND p.name = 'decision')",
		  ""),
	      &err);
	while (store_next(&lab.store, columns, &st, &err)) {
		bool text = strcmp(store_text(columns, 2), "TEXT") == 0;
		char *sql = mem_format("SAVEPOINT s; PRAGMA ignore_check_constraints = ON; UPDATE %s SET %s = %s%s", store_text(columns, 0),
				       store_text(columns, 1), store_text(columns, 1), text ? " || 'x'" : " + 10");

		if (sqlite3_exec(lab.store.db, sql, NULL, NULL, NULL))
			fail_msg("%s: %s", sql, sqlite3_errmsg(lab.store.db));
		check(night_compute_digest(&lab.store, c.decision, id, &err), &err);
		/* Numbers that order rows do not affect the identifier, and a null stays null. */
		if (strcmp(id, c.decision) == 0 && !strstr(sql, "SET number") && !strstr(sql, "SET high"))
			fail_msg("'%s' does not show", sql);
		n++;
		sqlite3_exec(lab.store.db, "ROLLBACK TO s; RELEASE s", NULL, NULL, NULL);
		free(sql);
	}
	sqlite3_finalize(columns);
	assert_true(n > 50);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		assert_int_equal(sqlite3_exec(lab.store.db, "SAVEPOINT s", NULL, NULL, NULL), 0);
		if (sqlite3_exec(lab.store.db, changes[i], NULL, NULL, NULL))
			fail_msg("%s: %s", changes[i], sqlite3_errmsg(lab.store.db));
		check(night_compute_digest(&lab.store, c.decision, id, &err), &err);
		if (strcmp(id, c.decision) == 0)
			fail_msg("'%s' does not show", changes[i]);
		sqlite3_exec(lab.store.db, "ROLLBACK TO s; RELEASE s", NULL, NULL, NULL);
	}
	sqlite3_exec(lab.store.db, "UPDATE decision SET made_ms = 1", NULL, NULL, NULL);
	check(night_compute_digest(&lab.store, c.decision, id, &err), &err);
	assert_string_equal(id, c.decision);
	night_release(&night);
	lab_close(&lab);
}

static int64_t count(struct store *store, const char *table)
{
	char *sql = mem_format("SELECT count(*) FROM %s", table);
	struct assay_error err;
	sqlite3_stmt *stmt = NULL;
	bool row = false;
	int64_t n;

	check(store_prepare(store, sql, &stmt, &err), &err);
	check(store_step(store, stmt, &row, &err), &err);
	n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	free(sql);
	return n;
}

/* Checks a night that is killed between two rows: none of the rows is stored, and the comparison is still undecided. */
static void test_whole_or_not(void **state)
{
	static const char *const tables[] = { "decision",	    "decision_reason",	    "decision_machine",
					      "decision_disturbed", "decision_calibration", "decision_function" };

	(void)state;
	for (size_t k = 0; k <= sizeof(tables) / sizeof(tables[0]); k++) {
		struct night_comparison c;
		struct night_comparisons all;
		struct assay_error err;
		struct night night;
		char directory[] = { 'l', (char)('0' + k), '\0' };
		struct lab lab = begin(directory, &night, &c);
		char *trigger =
		    k ? mem_format("CREATE TEMP TRIGGER t AFTER INSERT ON %s BEGIN SELECT raise(ABORT, 'killed'); END", tables[k - 1])
		      : mem_string("CREATE TEMP TRIGGER t BEFORE UPDATE ON night_comparison BEGIN SELECT raise(ABORT, 'killed'); END");

		assert_int_equal(sqlite3_exec(lab.store.db, trigger, NULL, NULL, NULL), 0);
		assert_int_not_equal(night_decide(&lab.store, &night, &c, &request, &j, &err), ASSAY_OK);
		for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
			assert_int_equal(count(&lab.store, tables[i]), 0);
		check(night_comparisons_load(&lab.store, night.id, &all, &err), &err);
		assert_int_equal(all.items[0].state, NIGHT_CONFIRMING);
		night_comparisons_release(&all);
		free(trigger);
		night_release(&night);
		lab_close(&lab);
	}
}

/* Checks that a night's notes are stored when it ends. */
static void test_notes(void **state)
{
	struct night_comparison c;
	struct assay_error err;
	struct night night, found;
	struct lab lab = begin("lab", &night, &c);

	(void)state;
	reasons_add(&night.notes, "deadline", "late");
	reasons_add(&night.notes, "disk", "full");
	check(night_finish(&lab.store, &night, &err), &err);
	check(night_find(&lab.store, NULL, &found, &err), &err);
	assert_int_equal(found.notes.n, 2);
	assert_string_equal(found.notes.items[0].code, "deadline");
	assert_string_equal(found.notes.items[1].text, "full");
	assert_string_equal(reasons_find(&found.notes, "disk"), "full");
	assert_string_equal(reasons_find(&found.notes, NULL), "late");
	assert_null(reasons_find(&found.notes, "none"));
	night_release(&found);
	night_release(&night);
	lab_close(&lab);
}

int suite_night(void)
{
	const struct CMUnitTest tests[] = { SCRATCH_TEST(test_back), SCRATCH_TEST(test_renamed_machines), SCRATCH_TEST(test_changes_show),
					    SCRATCH_TEST(test_whole_or_not), SCRATCH_TEST(test_notes) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
