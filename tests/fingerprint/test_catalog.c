/* Tests the catalog and the store: the files that are written, and the problems that the check command finds. */
#include "fingerprint/commands/cmd_check.c" /* the static functions of the check */

#include "tests/scratch.h"

#include <math.h>

static void add(struct store *store, const char *machine, int64_t taken_ms, const double *rates, size_t passes)
{
	static const char *const stressors[] = { "cpu", "vm" };
	struct fingerprint_key key = { machine, "b", "hash", "unknown", "unknown", taken_ms };
	struct fingerprint_writer w;
	char id[FINGERPRINT_ID_BYTES];
	struct assay_error err;

	fingerprint_id(&key, id);
	check(fingerprint_writer_init(store, &w, &err), &err);
	check(fingerprint_write(&w, &key, "measured", &err), &err);
	for (size_t i = 0; i < passes * 2; i++)
		check(fingerprint_write_rate(&w, id, (int64_t)(i / 2 + 1), stressors[i % 2], 0, rates[i], (double)NAN, &err), &err);
	fingerprint_writer_release(&w);
}

static const double some[] = { 10, 5, 12, 0, 11, 7 }, zeros[] = { 1, 0, 2, 0, 3, 0 };

/* Stores three fingerprints of two machines, and returns the catalog that was saved. */
static struct catalog fill(struct lab *lab, struct fingerprint_set *set)
{
	struct catalog catalog;
	struct assay_error err;
	size_t written;

	*lab = scratch_lab("lab");
	add(&lab->store, "m1", 1000, some, 3);
	add(&lab->store, "m1", 2000, some, 1);
	add(&lab->store, "m/2", 1000, zeros, 3);
	check(fingerprint_load(&lab->store, set, &err), &err);
	check(catalog_load(lab->machines, NULL, &catalog, &err), &err);
	assert_int_equal(catalog.n, 0);
	catalog_put(&catalog, set);
	check(catalog_save(&catalog, &written, &err), &err);
	assert_int_equal(written, 2);
	return catalog;
}

static void release(struct lab *lab, struct fingerprint_set *set, struct catalog *catalog)
{
	catalog_release(catalog);
	fingerprint_set_release(set);
	lab_close(lab);
}

/* Checks that the check of the current files finds `n` problems, and that `part` is in the text of the first one. */
static void expect_problems(const struct fingerprint_set *set, size_t n, const char *part)
{
	struct catalog_problems problems = { 0 }, remarks = { 0 };
	struct catalog catalog;
	struct assay_error err;

	check(catalog_load("lab/machines", &problems, &catalog, &err), &err);
	catalog_check(&catalog, set, INT64_MAX, &problems, &remarks);
	assert_int_equal(remarks.n, 0);
	for (size_t i = 0; problems.n != n && i < problems.n; i++)
		print_message("%s\n", problems.texts[i]);
	assert_int_equal(problems.n, n);
	if (n && !strstr(problems.texts[0], part))
		fail_msg("'%s' is not in '%s'", part, problems.texts[0]);
	catalog_problems_release(&problems);
	catalog_release(&catalog);
}

/* Replaces the first `from` in a file of the catalog by `to`. */
static void edit(const char *path, const char *from, const char *to)
{
	char *old = scratch_text(path), *at = strstr(old, from), *text;

	assert_non_null(at);
	text = mem_format("%.*s%s%s", (int)(at - old), old, to, at + strlen(from));
	scratch_put(path, text);
	free(text);
	free(old);
}

static void test_summaries(void **state)
{
	struct fingerprint_set set;
	struct lab lab;
	struct catalog catalog = fill(&lab, &set);
	const struct machine *m1 = catalog_find(&catalog, "m1"), *m2 = catalog_find(&catalog, "m/2");

	(void)state;
	assert_non_null(m1);
	assert_non_null(m2);
	assert_null(catalog_find(&catalog, "m2"));
	assert_int_equal(m1->n_fingerprints, 2);
	assert_int_equal(m1->fingerprints[0].taken_ms, 1000);
	assert_int_equal(m1->fingerprints[0].passes, 3);
	assert_true(m1->fingerprints[0].rates[0].median == 11 && m1->fingerprints[0].rates[0].mad == 1);
	/* A rate of 0 was not measured. 6 is the median of 5 and 7. */
	assert_true(m1->fingerprints[0].rates[1].median == 6 && m1->fingerprints[0].rates[1].n == 2);
	assert_true(isnan(m2->fingerprints[0].rates[1].median) && m2->fingerprints[0].rates[1].n == 3);
	expect_problems(&set, 0, "");
	release(&lab, &set, &catalog);
}

static void test_save_what_changed(void **state)
{
	struct fingerprint_set set;
	struct lab lab;
	struct catalog catalog = fill(&lab, &set);
	struct stat before, after;
	struct assay_error err;
	size_t written;

	(void)state;
	assert_int_equal(stat("lab/machines/m1.json", &before), 0);
	check(catalog_save(&catalog, &written, &err), &err);
	assert_int_equal(written, 0);
	free(catalog_ensure_machine(&catalog, "m/2")->notes);
	catalog_ensure_machine(&catalog, "m/2")->notes = mem_string("moved to rack 4");
	check(catalog_save(&catalog, &written, &err), &err);
	assert_int_equal(written, 1);
	assert_int_equal(stat("lab/machines/m1.json", &after), 0);
	assert_true(before.st_ino == after.st_ino); /* not even replaced by an equal file */
	assert_int_equal(unlink("lab/machines/m1.json"), 0);
	check(catalog_save(&catalog, &written, &err), &err);
	assert_int_equal(written, 1);
	expect_problems(&set, 0, "");
	release(&lab, &set, &catalog);
}

/* Checks that an update of a fingerprint's summary keeps notes and given types, and corrects a summary that a user edited. */
static void test_put_again(void **state)
{
	struct fingerprint_set set;
	struct lab lab;
	struct catalog catalog = fill(&lab, &set);
	struct assay_error err;
	size_t written;
	char *text;

	(void)state;
	edit("lab/machines/m1.json", "\"identity\"", "\"notes\": \"mine\", \"identity\"");
	edit("lab/machines/m1.json", "\"passes\"", "\"type\": \"t\", \"type_given_by\": \"hand\", \"passes\"");
	edit("lab/machines/m1.json", "\"median\": 11", "\"median\": 12");
	expect_problems(&set, 1, "'m1': the summary of fingerprint");
	catalog_release(&catalog);
	check(catalog_load(lab.machines, NULL, &catalog, &err), &err);
	catalog_put(&catalog, &set);
	check(catalog_save(&catalog, &written, &err), &err);
	assert_int_equal(written, 1);
	expect_problems(&set, 0, "");
	text = scratch_text("lab/machines/m1.json");
	assert_non_null(strstr(text, "\"notes\": \"mine\""));
	assert_non_null(strstr(text, "\"type_given_by\": \"hand\""));
	free(text);
	release(&lab, &set, &catalog);
}

static void test_check_summaries(void **state)
{
	static const struct {
		const char *from, *to;
	} edits[] = {
		{ "\"median\": 11", "\"median\": 11.000000000000002" },
		{ "\"mad\": 1", "\"mad\": 1.5" },
		{ "\"n\": 3", "\"n\": 4" },
		{ "\"passes\": 3", "\"passes\": 2" },
		{ "\"cpu\"", "\"cpv\"" },
		{ "\"battery\": \"b\"", "\"battery\": \"c\"" },
		{ "\"battery_hash\": \"hash\"", "\"battery_hash\": \"hush\"" },
		{ "\"stress_ng\": \"unknown\"", "\"stress_ng\": \"0.1\"" },
		{ "\"architecture\": \"unknown\"", "\"architecture\": \"arm\"" },
		{ "\"origin\": \"measured\"", "\"origin\": \"imported\"" },
	};
	struct fingerprint_set set;
	struct lab lab;
	struct catalog catalog = fill(&lab, &set);
	char *good = scratch_text("lab/machines/m1.json");

	(void)state;
	for (size_t i = 0; i < COUNT(edits); i++) {
		edit("lab/machines/m1.json", edits[i].from, edits[i].to);
		expect_problems(&set, 1, "does not match the raw record: it was changed by hand");
		scratch_put("lab/machines/m1.json", good);
	}
	edit("lab/machines/m1.json", "01Z\"", "01.001Z\"");
	edit("lab/machines/m1.json", "\"taken_ms\": 1000", "\"taken_ms\": 1001");
	expect_problems(&set, 1, "does not match the raw record: it was changed by hand");
	scratch_put("lab/machines/m1.json", good);
	expect_problems(&set, 0, "");
	free(good);
	release(&lab, &set, &catalog);
}

static void test_check_records(void **state)
{
	struct fingerprint_set set, none = { 0 };
	struct lab lab;
	struct catalog catalog = fill(&lab, &set);

	(void)state;
	expect_problems(&none, 1, "is not in the store (of 3 of 3 fingerprints): it cannot be used with runs"); /* a clone of the catalog */
	edit("lab/machines/m1.json", set.items[1].id, "0000000000000000");
	expect_problems(&set, 2, "'m1': the raw record of fingerprint 0000000000000000 is not in the store");
	edit("lab/machines/m1.json", "0000000000000000", set.items[1].id);
	expect_problems(&set, 0, "");
	edit("lab/machines/m1.json", "{", "{{");
	expect_problems(&set, 1, "restore it from git, or remove it: then the next 'assay host measure' or import"); /* a single remedy */
	edit("lab/machines/m1.json", "{{", "{");
	assert_int_equal(unlink("lab/machines/m%2F2.json"), 0);
	expect_problems(&set, 1, "is in the store but not in the catalog: the next 'assay host measure'");
	release(&lab, &set, &catalog);
}

/* Checks times in the future. No command can correct them, so they are notes, not problems. */
static void test_check_future(void **state)
{
	struct catalog_problems problems = { 0 }, remarks = { 0 };
	struct fingerprint_set set;
	struct lab lab;
	struct catalog catalog = fill(&lab, &set);

	(void)state;
	catalog_check(&catalog, &set, 0, &problems, &remarks);
	assert_int_equal(problems.n, 0);
	assert_int_equal(remarks.n, 3);
	assert_non_null(strstr(remarks.texts[0], "has a time in the future"));
	catalog_problems_release(&problems);
	catalog_problems_release(&remarks);
	release(&lab, &set, &catalog);
}

static void test_check_identity(void **state)
{
	struct fingerprint_set set;
	struct lab lab;
	struct catalog catalog = fill(&lab, &set);

	(void)state;
	edit("lab/machines/m1.json", "\"identity\": {", "\"identity\": {\"board_serial\": \"S1\", \"machine_id\": \"A\"");
	edit("lab/machines/m%2F2.json", "\"identity\": {", "\"identity\": {\"board_serial\": \"S1\", \"machine_id\": \"B\"");
	expect_problems(&set, 1, "'m/2' and 'm1' have the same board serial number 'S1'");
	edit("lab/machines/m1.json", "\"A\"", "\"B\"");
	expect_problems(&set, 2, "'m/2' and 'm1' have the same machine-id 'B'");
	release(&lab, &set, &catalog);
}

static void test_bad_files(void **state)
{
	struct fingerprint_set set;
	struct lab lab;
	struct catalog catalog = fill(&lab, &set), loaded;
	struct assay_error err;
	char *text = scratch_text("lab/machines/m1.json");

	(void)state;
	scratch_put("lab/machines/other.json", text); /* a copy under another name */
	check_fails("name", catalog_load("lab/machines", NULL, &loaded, &err), ASSAY_E_FORMAT, &err,
		    "lab/machines/other.json: this is the machine 'm1', its file must be called m1.json");
	expect_problems(&set, 1, "its file must be called m1.json");
	scratch_put("lab/machines/other.json", "{");
	check_fails("broken", catalog_load("lab/machines", NULL, &loaded, &err), ASSAY_E_FORMAT, &err, "lab/machines/other.json:1: ");
	scratch_put("lab/machines/other.json", "{\"format\":\"assay machine\",\"version\":9}");
	check_fails("newer", catalog_load("lab/machines", NULL, &loaded, &err), ASSAY_E_VERSION, &err,
		    "lab/machines/other.json: version 9");
	expect_problems(&set, 1, "use a newer assay");
	assert_int_equal(unlink("lab/machines/other.json"), 0);
	scratch_put("lab/machines/.assay-x.json", "left over"); /* hidden files and files with other suffixes are ignored */
	scratch_put("lab/machines/notes.txt", "x");
	expect_problems(&set, 0, "");
	check(catalog_load("lab/none", NULL, &loaded, &err), &err);
	assert_int_equal(loaded.n, 0);
	catalog_release(&loaded);
	check_fails("a file", catalog_load("lab/lab.yaml", NULL, &loaded, &err), ASSAY_E_IO, &err, "cannot read the directory");
	free(text);
	release(&lab, &set, &catalog);
}

/* Checks that machines in any order are sorted into the catalog, and have files of their own. */
static void test_machines_in_order(void **state)
{
	static const char *const ids[] = { "m", "b", "z", "a", "\xc3\xa4", "b.", "B" };
	struct catalog catalog, loaded;
	struct assay_error err;
	size_t written;

	(void)state;
	assert_int_equal(mkdir("machines", 0755), 0);
	check(catalog_load("machines", NULL, &catalog, &err), &err);
	for (size_t i = 0; i < 2 * COUNT(ids); i++)
		assert_string_equal(catalog_ensure_machine(&catalog, ids[i % COUNT(ids)])->id, ids[i % COUNT(ids)]);
	check(catalog_save(&catalog, &written, &err), &err);
	assert_int_equal(written, COUNT(ids));
	check(catalog_load("machines", NULL, &loaded, &err), &err);
	assert_int_equal(loaded.n, COUNT(ids));
	for (size_t i = 0; i < loaded.n; i++) {
		assert_string_equal(loaded.machines[i].id, catalog.machines[i].id);
		assert_true(!i || strcmp(loaded.machines[i - 1].id, loaded.machines[i].id) < 0);
	}
	catalog_release(&catalog);
	catalog_release(&loaded);
}

int suite_catalog(void)
{
	const struct CMUnitTest tests[] = {
		SCRATCH_TEST(test_summaries),	    SCRATCH_TEST(test_save_what_changed), SCRATCH_TEST(test_put_again),
		SCRATCH_TEST(test_check_summaries), SCRATCH_TEST(test_check_records),	  SCRATCH_TEST(test_check_future),
		SCRATCH_TEST(test_check_identity),  SCRATCH_TEST(test_bad_files),	  SCRATCH_TEST(test_machines_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
