/* Tests identities: swapped and cloned machines are refused, a rename keeps all data, and an interrupted rename is completed. */
#include "fingerprint/catalog/identity.h"
#include "fingerprint/commands/cmd_host_edit.c" /* the steps of a rename */
#include "tests/scratch.h"

#include <math.h>

/* Returns a catalog of two machines with fingerprints. */
static struct catalog two_machines(void)
{
	struct catalog catalog = { .directory = mem_string("lab/machines") };
	struct machine *m = catalog_ensure_machine(&catalog, "a");

	m->identity.machine_id = mem_string("id-a");
	m->identity.board_serial = mem_string("serial-a");
	m->identity.cpu_model = mem_string("cpu");
	m = catalog_ensure_machine(&catalog, "b");
	m->identity.board_uuid = mem_string("uuid-b");
	m->identity.cpu_model = mem_string("cpu");
	for (size_t i = 0; i < catalog.n; i++) {
		catalog.machines[i].fingerprints = mem_new(1, sizeof(*catalog.machines[i].fingerprints));
		catalog.machines[i].n_fingerprints = 1;
	}
	return catalog;
}

static void test_identity(void **state)
{
	static const struct {
		const char *what, *id, *facts;
		enum assay_status status;
		const char *part;
	} rows[] = {
		{ "as it was", "a", "machine_id id-a\nboard_serial serial-a\ncpu_model cpu\n", ASSAY_OK, NULL },
		{ "says nothing of itself", "a", "kernel 6\n", ASSAY_OK, NULL },
		{ "a new one of the same model", "c", "machine_id id-c\ncpu_model cpu\n", ASSAY_OK, NULL },
		{ "another installation", "a", "machine_id id-x\n", ASSAY_E_CONFLICT, "machine-id was 'id-a' and is 'id-x'" },
		{ "another board", "a", "machine_id id-a\nboard_serial serial-x\n", ASSAY_E_CONFLICT, "board serial number was" },
		{ "another CPU", "a", "cpu_model faster\n", ASSAY_E_CONFLICT, "CPU model was" },
		{ "a clone under a new name", "c", "machine_id id-a\n", ASSAY_E_CONFLICT, "assay host rename a c" },
		{ "the board of another", "a", "board_uuid uuid-b\n", ASSAY_E_CONFLICT, "'b' in the catalog" },
		{ "a and b changed places", "b", "machine_id id-a\nboard_serial serial-a\n", ASSAY_E_CONFLICT,
		  "same machine-id 'id-a' as 'a'" },
	};
	struct catalog catalog = two_machines();
	struct assay_error err;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct facts facts;

		check(facts_parse(rows[i].facts, strlen(rows[i].facts), &facts, &err), &err);
		check_fails(rows[i].what, identity_check(&catalog, rows[i].id, &facts, &err), rows[i].status, &err,
			    rows[i].part ? rows[i].part : "");
		facts_release(&facts);
	}
	/* Looking up machines merged and changed nothing. */
	assert_int_equal(catalog.n, 2);
	assert_null(catalog_find(&catalog, "b")->identity.machine_id);
	catalog_release(&catalog);
}

static void test_take(void **state)
{
	static const char text[] = "machine_id id-b\ncpu_model newer\nmemory_bytes 4096\n";
	struct catalog catalog = two_machines();
	struct machine_identity *identity = &catalog_ensure_machine(&catalog, "b")->identity;
	struct assay_error err;
	struct facts facts;

	(void)state;
	check(facts_parse(text, strlen(text), &facts, &err), &err);
	identity_update(identity, &facts);
	assert_string_equal(identity->machine_id, "id-b");
	assert_string_equal(identity->board_uuid, "uuid-b"); /* values that the facts lack are kept */
	assert_int_equal(identity->memory_bytes, 4096);
	facts_release(&facts);
	catalog_release(&catalog);
}

/* ---- renaming ---- */

#define FINGERPRINT(id, machine)                                                                                                           \
	"INSERT INTO fingerprint (id, machine, battery, battery_hash, stress_ng, taken_ms, architecture, origin) VALUES ('" id             \
	"', '" machine "', 'b', 'h', '1', 5, 'x', 'measured');"                                                                            \
	"INSERT INTO rate VALUES ('" id "', 1, 'cpu', 0, 10, 20);"
#define RUN(machine, at) "INSERT INTO run VALUES ('app', '1', '" machine "', " at ", 1, 0, 3.5, NULL, NULL, NULL, NULL, 0);"

static void execute(struct lab *lab, const char *sql)
{
	if (sqlite3_exec(lab->store.db, sql, NULL, NULL, NULL))
		fail_msg("%s", sqlite3_errmsg(lab->store.db));
}

static struct catalog load(struct lab *lab)
{
	struct catalog catalog;
	struct assay_error err;

	check(catalog_load(lab->machines, NULL, &catalog, &err), &err);
	return catalog;
}

/* Opens ./lab with the machine `old`: one fingerprint, one result, and notes. */
static struct lab lab_with_old(void)
{
	struct lab lab = scratch_lab("lab");
	struct fingerprint_set set;
	struct catalog catalog;
	struct assay_error err;
	size_t written;

	execute(&lab, FINGERPRINT("00000000000000f1", "old") RUN("old", "7"));
	catalog = load(&lab);
	check(fingerprint_load(&lab.store, &set, &err), &err);
	catalog_put(&catalog, &set);
	catalog_ensure_machine(&catalog, "old")->notes = mem_string("under the window");
	catalog_ensure_machine(&catalog, "old")->identity.machine_id = mem_string("id-1");
	check(catalog_save(&catalog, &written, &err), &err);
	fingerprint_set_release(&set);
	catalog_release(&catalog);
	return lab;
}

/* Renames as the command does. With `files` false, stops after the store and before the catalog, as if killed. */
static enum assay_status rename_it(struct lab *lab, const char *to, bool files, struct rename_result *result, struct assay_error *err)
{
	struct catalog catalog = load(lab);
	enum assay_status st = rename_check(&lab->store, &catalog, "old", to, result, err);

	if (!st)
		st = rename_store(&lab->store, "old", to, result, err);
	if (!st && files)
		st = rename_files(&catalog, "old", to, err);
	catalog_release(&catalog);
	return st;
}

/* Returns the number of problems. If `part` is given, checks that one of them contains it. */
static size_t problems_of(struct lab *lab, const char *part)
{
	struct assay_error err;
	struct document d;
	const cJSON *problems, *problem;
	cJSON *json;
	bool found = !part;
	size_t n;

	document_init(&d);
	check(check_command.run(lab, NULL, &d, &err), &err);
	json = document_cjson(&d);
	problems = cJSON_GetObjectItem(json, "problems");
	cJSON_ArrayForEach(problem, problems) found = found || strstr(problem->valuestring, part);
	if (!found)
		fail_msg("no problem says '%s'", part);
	n = (size_t)cJSON_GetArraySize(problems);
	cJSON_Delete(json);
	document_release(&d);
	return n;
}

static void check_renamed(struct lab *lab, const char *to)
{
	struct catalog catalog = load(lab);
	const struct machine *m = catalog_find(&catalog, to);

	assert_null(catalog_find(&catalog, "old"));
	assert_non_null(m);
	assert_string_equal(m->notes, "under the window");
	assert_string_equal(m->identity.machine_id, "id-1");
	catalog_release(&catalog);
	assert_int_equal(problems_of(lab, NULL), 0);
	check_select(&lab->store,
		     "SELECT count(*) FROM fingerprint WHERE machine = 'old' UNION ALL SELECT count(*) FROM run WHERE machine = 'old'",
		     "0\n0\n");
	check_select(&lab->store, "SELECT id FROM fingerprint WHERE id = '00000000000000f1'", "00000000000000f1\n"); /* IDs do not change */
}

static void test_rename(void **state)
{
	struct lab lab = lab_with_old();
	struct rename_result result;
	struct assay_error err;

	(void)state;
	check_fails("same name", rename_it(&lab, "old", true, &result, &err), ASSAY_E_USAGE, &err, "already");
	check_fails("bad name", rename_it(&lab, " x", true, &result, &err), ASSAY_E_FORMAT, &err, "blank");
	check(rename_it(&lab, "new", true, &result, &err), &err);
	assert_false(result.completed);
	assert_int_equal(result.fingerprints, 1);
	assert_int_equal(result.runs, 1);
	check_renamed(&lab, "new");
	check_select(&lab.store, "SELECT new_name FROM renamed_machine WHERE old_name = 'old'", "new\n");
	check_fails("gone", rename_it(&lab, "newer", true, &result, &err), ASSAY_E_NOTFOUND, &err, "no machine 'old'");
	lab_close(&lab);
}

static void test_interrupted(void **state)
{
	struct lab lab = lab_with_old();
	struct rename_result result;
	struct assay_error err;

	(void)state;
	check(rename_it(&lab, "new", false, &result, &err), &err);
	assert_true(problems_of(&lab, "to complete an interrupted rename: assay host rename old new") > 0);
	check(rename_it(&lab, "new", true, &result, &err), &err);
	assert_true(result.completed);
	check_renamed(&lab, "new");
	lab_close(&lab);
}

/* Checks a rename that was killed after the new file was written and before the old one was removed. */
static void test_both_files(void **state)
{
	struct lab lab = lab_with_old();
	struct rename_result result;
	struct assay_error err;
	char *text = scratch_text("lab/machines/old.json");

	(void)state;
	check(rename_it(&lab, "new", true, &result, &err), &err);
	scratch_put("lab/machines/old.json", text);
	assert_true(problems_of(&lab, "interrupted rename") > 0);
	check(rename_it(&lab, "new", true, &result, &err), &err);
	assert_true(result.completed);
	check_renamed(&lab, "new");
	free(text);
	lab_close(&lab);
}

/* Adds a second machine `new` with a fingerprint; `machine_id` is its identity, NULL: unknown. */
static void add_new(struct lab *lab, const char *machine_id)
{
	struct fingerprint_set set;
	struct catalog catalog = load(lab);
	struct assay_error err;
	size_t written;

	execute(lab, FINGERPRINT("00000000000000f2", "new"));
	check(fingerprint_load(&lab->store, &set, &err), &err);
	catalog_put(&catalog, &set);
	if (machine_id)
		catalog_ensure_machine(&catalog, "new")->identity.machine_id = mem_string(machine_id);
	check(catalog_save(&catalog, &written, &err), &err);
	fingerprint_set_release(&set);
	catalog_release(&catalog);
}

static void test_name_taken(void **state)
{
	struct lab lab = lab_with_old();
	struct rename_result result;
	struct assay_error err;

	(void)state;
	add_new(&lab, NULL);
	check_fails("taken", rename_it(&lab, "new", true, &result, &err), ASSAY_E_CONFLICT, &err, "the name 'new' is taken");
	assert_int_equal(problems_of(&lab, NULL), 0);
	check_select(&lab.store, "SELECT machine FROM fingerprint ORDER BY 1", "new\nold\n");
	lab_close(&lab);
}

/* Checks an interrupted rename after which the machine was measured under the new name: the data of both files are kept. */
static void test_interrupted_and_measured(void **state)
{
	struct lab lab = lab_with_old();
	struct rename_result result;
	struct assay_error err;
	struct catalog catalog;

	(void)state;
	check(rename_it(&lab, "new", false, &result, &err), &err);
	add_new(&lab, NULL);
	check(rename_it(&lab, "new", true, &result, &err), &err);
	assert_true(result.completed);
	check_renamed(&lab, "new");
	catalog = load(&lab);
	assert_int_equal(catalog_find(&catalog, "new")->n_fingerprints, 2);
	catalog_release(&catalog);
	lab_close(&lab);
}

static void test_command_quoted(void **state)
{
	char *command = identity_rename_command("here", "the big one's");

	(void)state;
	assert_string_equal(command, "assay host rename here 'the big one'\\''s'");
	free(command);
}

static void test_same_results(void **state)
{
	struct lab lab = lab_with_old();
	struct rename_result result;
	struct assay_error err;

	(void)state;
	execute(&lab, RUN("new", "7"));
	check_fails("both ran at once", rename_it(&lab, "new", true, &result, &err), ASSAY_E_CONFLICT, &err, "two machines");
	check_select(&lab.store, "SELECT machine FROM run ORDER BY 1", "new\nold\n");
	lab_close(&lab);
}

#define PLAN                                                                                                                               \
	"INSERT INTO plan (id, application, manifest, manifest_hash, repetitions, warm_ups, seed, started_ms, probe)"                      \
	" VALUES ('p', 'app', '', '', 1, 0, 0, 5, 'probe');"                                                                               \
	"INSERT INTO plan_item VALUES ('p', 'machine', 0, 'old', NULL, NULL);"                                                             \
	"INSERT INTO execution (plan, machine, version, input, repetition, application, taken_ms, outcome, out, err)"                      \
	" VALUES ('p', 'old', '1', '', 1, 'app', 5, 'failed', '', '');"                                                                    \
	"INSERT INTO sample_file VALUES ('p', 'old', '1', '', 1, 0, 'hash', 5, 'time', '', 0);"                                            \
	"INSERT INTO stack VALUES ('s', 'text'); INSERT INTO plan_stack VALUES ('p', 'old', '1', 's');"

/* Checks that planned and failed runs are renamed, too. Two machines of one plan cannot be merged. */
static void test_plans(void **state)
{
	struct lab lab = lab_with_old();
	struct rename_result result;
	struct assay_error err;

	(void)state;
	execute(&lab, PLAN "INSERT INTO plan_item VALUES ('p', 'machine', 1, 'new', NULL, NULL);" RUN("new", "8"));
	check_fails("both in one plan", rename_it(&lab, "new", true, &result, &err), ASSAY_E_CONFLICT, &err, "two machines");
	check(rename_it(&lab, "other", true, &result, &err), &err);
	check_select(&lab.store,
		     "SELECT machine FROM execution UNION ALL SELECT machine FROM plan_stack UNION ALL "
		     "SELECT machine FROM sample_file UNION ALL SELECT name FROM plan_item ORDER BY 1",
		     "new\nother\nother\nother\nother\n");
	lab_close(&lab);
}

int suite_identity(void)
{
	const struct CMUnitTest tests[] = {
		SCRATCH_TEST(test_plans),
		cmocka_unit_test(test_command_quoted),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_take),
		SCRATCH_TEST(test_rename),
		SCRATCH_TEST(test_interrupted),
		SCRATCH_TEST(test_both_files),
		SCRATCH_TEST(test_name_taken),
		SCRATCH_TEST(test_interrupted_and_measured),
		SCRATCH_TEST(test_same_results),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
