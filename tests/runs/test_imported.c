/* Tests imported rates and results: unusable rows, and a store that depends only on the imported data, not on their order. */
#include "tests/runs/importing.h"

#include "base/rng.h"
#include "fingerprint/catalog/catalog.h"
#include "runs/running/plan.h"
#include "tests/scratch.h"

#include <math.h>

#define RATES	"machine,time,repetition,stressor,rate\n"
#define RESULTS "application,version,machine,time,repetition,result\n"

static void test_rows(void **state)
{
	static const struct {
		const char *what, *row;
		enum imported_skip skip; /* IMPORTED_SKIPS: the row is used */
	} rows[] = {
		{ "good", "m,1500000000,1,cpu,2.5,b,h,s,a,t,1", IMPORTED_SKIPS },
		{ "milliseconds", "m,1500000000000,1,cpu,2.5,,,,,,", IMPORTED_SKIPS },
		{ "a date", "m,2017-07-14,1,cpu,2.5,,,,,,", IMPORTED_SKIPS },
		{ "no repetition", "m,1500000000,,cpu,2.5,,,,,,", IMPORTED_SKIPS },
		{ "zero", "m,1500000000,1,cpu,0,,,,,,", IMPORTED_SKIPS },
		{ "the largest", "m,1500000000,1000000,cpu,1e100,,,,,,", IMPORTED_SKIPS },
		{ "quoted", "\"m \"\"1\"\"\",\"1500000000\",\"1\",\"a,b\",\"1e2\",,,,,,", IMPORTED_SKIPS },
		{ "NaN", "m,1500000000,1,cpu,NaN,,,,,,", IMPORTED_NOT_A_NUMBER },
		{ "infinite", "m,1500000000,1,cpu,inf,,,,,,", IMPORTED_NOT_A_NUMBER },
		{ "overflow", "m,1500000000,1,cpu,1e999,,,,,,", IMPORTED_NOT_A_NUMBER },
		{ "hexadecimal", "m,1500000000,1,cpu,0x10,,,,,,", IMPORTED_BAD_NUMBER },
		{ "empty", "m,1500000000,1,cpu,,,,,,,", IMPORTED_NOT_A_NUMBER },
		{ "blank", "m,1500000000,1,cpu, 1,,,,,,", IMPORTED_BAD_NUMBER },
		{ "negative", "m,1500000000,1,cpu,-0.5,,,,,,", IMPORTED_NEGATIVE },
		{ "too large", "m,1500000000,1,cpu,1.1e100,,,,,,", IMPORTED_TOO_LARGE },
		{ "no time", "m,today,1,cpu,1,,,,,,", IMPORTED_BAD_TIME },
		{ "negative time", "m,-5,1,cpu,1,,,,,,", IMPORTED_BAD_TIME },
		{ "huge time", "m,1500000000000000000,1,cpu,1,,,,,,", IMPORTED_BAD_TIME },
		{ "repetition 0", "m,1500000000,0,cpu,1,,,,,,", IMPORTED_BAD_REPETITION },
		{ "half a repetition", "m,1500000000,1.5,cpu,1,,,,,,", IMPORTED_BAD_REPETITION },
		{ "too many", "m,1500000000,1000001,cpu,1,,,,,,", IMPORTED_BAD_REPETITION },
		{ "no machine", ",1500000000,1,cpu,1,,,,,,", IMPORTED_BAD_NAME },
		{ "no stressor", "m,1500000000,1,,1,,,,,,", IMPORTED_BAD_NAME },
		{ "a selector's sign", "m,1500000000,1,a@b,1,,,,,,", IMPORTED_BAD_NAME },
		{ "in the type", "m,1500000000,1,cpu,1,,,,,t@,", IMPORTED_BAD_NAME },
		{ "a line end", "m,1500000000,1,\"t\nu\",1,,,,,,", IMPORTED_BAD_NAME },
		{ "interrupted", "m,1500000000,1,cpu,1,b,h,s,a,,0", IMPORTED_INTERRUPTED },
		{ "too few fields", "m,1500000000", IMPORTED_BAD_ROW },
		{ "an open quote", "m,1500000000,1,cpu,\"1", IMPORTED_BAD_ROW },
		{ "not UTF-8", "m\xff,1500000000,1,cpu,1,,,,,,", IMPORTED_BAD_ROW },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *text = mem_format(
		    "machine,time,repetition,stressor,rate,battery,battery_hash,stress_ng,architecture,type,complete\n%s\n", rows[i].row);
		struct imported imported;
		struct assay_error err;

		check(imported_read_machines("f", text, strlen(text), &imported, &err), &err);
		if (imported.n != (rows[i].skip == IMPORTED_SKIPS))
			fail_msg("%s: %zu rows", rows[i].what, imported.n);
		for (int skip = 0; skip < IMPORTED_SKIPS; skip++) {
			if (imported.skipped[skip].count != (rows[i].skip == (enum imported_skip)skip))
				fail_msg("%s: %s %zu", rows[i].what, imported_skip_code((enum imported_skip)skip),
					 imported.skipped[skip].count);
			if (imported.skipped[skip].count && strncmp(imported.skipped[skip].first, "line 2", 6) != 0)
				fail_msg("%s: '%s'", rows[i].what, imported.skipped[skip].first);
		}
		imported_release(&imported);
		free(text);
	}
}

static void test_broken_structure(void **state)
{
	static const struct {
		const char *what, *text, *part;
	} rows[] = {
		{ "empty", "", "f" },
		{ "no header", "m1,1500000000,1,cpu,1\n", "f:1: " },
		{ "a column is missing", "machine,time,stressor\n", "rate" },
		{ "a column twice", "machine,time,stressor,rate,time\n", "time" },
		{ "a header that is not UTF-8", "machine,time,stressor,rate\xff\n", "f:1: " },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct assay_error err = { .text = "" };
		char *text = mem_string(rows[i].text);
		struct imported imported;

		check_fails(rows[i].what, imported_read_machines("f", text, strlen(text), &imported, &err), ASSAY_E_FORMAT, &err,
			    rows[i].part);
		assert_int_equal(imported.n, 0);
		imported_release(&imported);
		free(text);
	}
}

/* ---- the store ---- */

/* Returns the content of the store except for meaningless row numbers. The caller frees the text. */
static char *dump(struct store *store)
{
	static const char *const selects[] = {
		"SELECT f.id, machine, battery, battery_hash, stress_ng, taken_ms, architecture, origin FROM fingerprint f "
		"ORDER BY f.id",
		"SELECT fingerprint, pass, stressor, ordinal, quote(per_s), quote(real_per_s) FROM rate ORDER BY 1, 2, 3, 4",
		"SELECT application, version, machine, taken_ms, repetition, ordinal, quote(metric), fingerprint, pass, metric_name "
		"FROM run ORDER BY 1, 2, 3, 4, 5, 6",
		"SELECT application, higher_is_better FROM metric_direction ORDER BY 1",
	};
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < COUNT(selects); i++) {
		char *rows = scratch_select(store, selects[i]);

		buf_format(&out, "-- %zu\n%s", i, rows);
		free(rows);
	}
	return buf_take(&out);
}

static void expect_dump(struct store *store, const char *expected)
{
	char *got = dump(store);

	assert_string_equal(got, expected);
	free(got);
}

static struct imported_result take_rates(struct lab *lab, const char *csv)
{
	struct imported_result result;
	struct assay_error err;

	check(import_rates(lab, csv, &result, &err), &err);
	return result;
}

static struct imported_result take_results(struct lab *lab, const char *csv)
{
	struct imported_result result;
	struct assay_error err;

	check(import_results(lab, csv, IMPORTED_NAME, &result, &err), &err);
	return result;
}

/* Unusual names, several versions, duplicates, and early times. */
static const char *const rate_rows[] = {
	"m1,1500000000,1,cpu,100", "m1,1500000000,1,null,7",  "m1,1500000000,2,cpu,101.5", "m1,1500000000,2,null,0",
	"m1,1500000000,1,cpu,90",  "m1,1500000000,1,cpu,100", "m2,50000,1,cpu,0.1",	   "m2,50000,1,stressng,3",
};
static const char *const result_rows[] = {
	"stream/add-1,,m1,1500000000,1,5",
	"stream/add-1,,m1,1500000000,1,5",
	"stream/add-1,imported,m1,1500000000,1,4",
	"stream/add-1,2.0,m1,1500000000,2,6",
	"hpccg,,m1,1500000000000,1,6",
	"hpccg,,m2,50000,1,7.5",
	"hpccg,,m3,50000,1,7.5",
	"a/a,,m1,1500000000,1,1e-300",
	"stressng,1,m1,1500000000,1,3",
	"\"q,\"\"r\",\"v,1\",m1,1500000000,1,3",
	"last,,m1,1500000000,3,123456789.125",
};

/* Returns a CSV file of `n` rows in the given order. The caller frees the text. */
static char *csv_of(const char *head, const char *const *rows, const size_t *order, size_t n)
{
	struct buf csv = BUF_INIT;

	buf_text(&csv, head);
	for (size_t i = 0; i < n; i++)
		buf_format(&csv, "%s\n", rows[order ? order[i] : i]);
	return buf_take(&csv);
}

static void test_import(void **state)
{
	char *rates = csv_of(RATES, rate_rows, NULL, COUNT(rate_rows)), *results = csv_of(RESULTS, result_rows, NULL, COUNT(result_rows));
	struct lab lab = scratch_lab("lab");
	struct imported_result result = take_rates(&lab, rates);
	char *once;

	(void)state;
	assert_int_equal(result.fingerprints_added, 2);
	assert_int_equal(result.rates_added, COUNT(rate_rows));
	assert_int_equal(result.n_zero_rates, 1);
	assert_int_equal(result.machines, 2);
	assert_int_equal(result.catalog_written, 2);
	result = take_results(&lab, results);
	assert_int_equal(result.runs_added, COUNT(result_rows));
	assert_int_equal(result.runs_without_fingerprint, 2); /* m3 has no fingerprint, and m1 has no pass 3 */
	check_select(&lab.store,
		     "SELECT pass, stressor, ordinal, per_s FROM rate r JOIN fingerprint f ON f.id = r.fingerprint "
		     "WHERE machine = 'm1' ORDER BY 1, 2, 3",
		     "1|cpu|0|90.0\n1|cpu|1|100.0\n1|cpu|2|100.0\n1|null|0|7.0\n2|cpu|0|101.5\n2|null|0|0.0\n");
	check_select(&lab.store,
		     "SELECT version, repetition, ordinal, metric, pass FROM run WHERE application = 'stream/add-1' ORDER BY 1, 2, 3",
		     "2.0|2|0|6.0|2\nimported|1|0|4.0|1\nimported|1|1|5.0|1\nimported|1|2|5.0|1\n");
	check_select(&lab.store, "SELECT count(*) FROM run WHERE (fingerprint IS NULL) <> (pass IS NULL)", "0\n");
	once = dump(&lab.store);
	result = take_rates(&lab, rates);
	assert_int_equal(result.fingerprints_added + result.rates_added, 0);
	assert_int_equal(result.fingerprints_known, 2);
	assert_int_equal(result.rates_known, COUNT(rate_rows));
	assert_int_equal(result.catalog_written, 0);
	result = take_results(&lab, results);
	assert_int_equal(result.runs_added, 0);
	assert_int_equal(result.runs_known, COUNT(result_rows));
	expect_dump(&lab.store, once);
	lab_close(&lab);
	free(once);
	free(rates);
	free(results);
}

/* Checks that the order of rows, and of fingerprints and runs, does not change the store. */
static void test_order(void **state)
{
	size_t a[COUNT(rate_rows)], b[COUNT(result_rows)];
	char *expected = NULL;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 1);
	for (size_t i = 0; i < COUNT(a); i++)
		a[i] = i;
	for (size_t i = 0; i < COUNT(b); i++)
		b[i] = i;
	for (int round = 0; round < 10; round++) {
		char *name = mem_format("lab%d", round), *rates = csv_of(RATES, rate_rows, a, COUNT(a)),
		     *results = csv_of(RESULTS, result_rows, b, COUNT(b));
		struct lab lab = scratch_lab(name);

		if (round % 2)
			assert_int_equal(take_results(&lab, results).runs_without_fingerprint, COUNT(result_rows));
		take_rates(&lab, rates);
		if (round % 2 == 0)
			take_results(&lab, results);
		if (expected)
			expect_dump(&lab.store, expected);
		else
			expected = dump(&lab.store);
		rng_shuffle(&rng, a, COUNT(a));
		rng_shuffle(&rng, b, COUNT(b));
		lab_close(&lab);
		free(name);
		free(rates);
		free(results);
	}
	free(expected);
}

static void test_duplicates_averaged(void **state)
{
	char *rates = csv_of(RATES, rate_rows, NULL, COUNT(rate_rows)), *results = csv_of(RESULTS, result_rows, NULL, COUNT(result_rows));
	struct fingerprint_set set;
	struct lab lab = scratch_lab("lab");
	struct run_set runs;
	struct assay_error err;

	(void)state;
	take_rates(&lab, rates);
	take_results(&lab, results);
	check(run_load(&lab.store, "stream/add-1", "imported", &runs, &err), &err);
	assert_int_equal(runs.n, 1);
	assert_int_equal(runs.items[0].recorded, 3);
	assert_true(runs.items[0].metric == (4 + 5 + 5) / 3.);
	assert_false(runs.higher_is_better);
	run_set_release(&runs);
	check(fingerprint_load(&lab.store, &set, &err), &err);
	assert_int_equal(set.n, 2);
	assert_int_equal(set.n_stressors, 3); /* cpu, null, stressng */
	assert_true(fingerprint_rate(&set, &set.items[0], 0, 0) == (90 + 100 + 100.) / 3);
	assert_true(fingerprint_rate(&set, &set.items[0], 1, 1) == 0);
	assert_true(isnan(fingerprint_rate(&set, &set.items[0], 1, 2)));
	fingerprint_set_release(&set);
	lab_close(&lab);
	free(rates);
	free(results);
}

/* Checks that an application has one direction. A file with two directions, or with the opposite one, is refused. */
static void test_direction(void **state)
{
	static const char head[] = "application,machine,time,repetition,result,direction\n";
	char *good = mem_format("%sa*b,m1,1500000000,1,7,higher\naxb,m1,1500000000,1,7,lower\nz,m1,1500000000,1,7,\n", head);
	char *bad = mem_format("%sz,m1,1500000000,2,7,up\nz,m1,1500000000,3,7,\na*b,m1,1500000000,2,8,\n", head);
	char *both = mem_format("%sy,m1,1500000000,1,7,lower\ny,m2,1500000000,1,7,higher\n", head);
	char *turned = mem_format("%sz,m1,1500000000,4,7,higher\n", head);
	struct lab lab = scratch_lab("lab");
	struct imported_result result;
	struct assay_error err;
	bool higher;

	(void)state;
	take_results(&lab, good);
	assert_int_equal(take_results(&lab, bad).runs_added, 2);
	check(run_imported_direction(&lab.store, "a*b", &higher, &err), &err);
	assert_true(higher);
	check(run_imported_direction(&lab.store, "axb", &higher, &err), &err);
	assert_false(higher);
	check_fails("both", import_results(&lab, both, "v", &result, &err), ASSAY_E_FORMAT, &err,
		    "higher is better for 'y' in line 3, and lower in line 2");
	check_fails("turned", import_results(&lab, turned, "v", &result, &err), ASSAY_E_CONFLICT, &err, "(higher is better) here, but");
	lab_close(&lab);
	free(good);
	free(bad);
	free(both);
	free(turned);
}

/* Checks that fingerprints of any battery are stored as in the file. */
static void test_batteries(void **state)
{
	struct lab lab = scratch_lab("lab");

	(void)state;
	take_rates(&lab, "machine,time,repetition,stressor,rate,battery,battery_hash,stress_ng,architecture\n"
			 "m1,1500000000,1,cpu,5,,,,\n"
			 "m1,1500000000,1,cpu,7,our own,abc,0.15.06,x86_64\nm1,1500000000,1,vm,8,our own,abc,0.15.06,x86_64\n"
			 "m1,1500000000,2,cpu,9,our own,abc,0.15.06,x86_64\nm1,1500000000,2,cpu,6,our own,abc,0.16.00,x86_64\n"
			 "m1,1500000000,1,cpu,4,named,,,\n");
	check_select(&lab.store,
		     "SELECT battery, battery_hash = 'abc', stress_ng, architecture, count(*) FROM fingerprint f JOIN rate r ON "
		     "r.fingerprint = f.id GROUP BY f.id ORDER BY 1, 3",
		     "imported|0|unknown|unknown|1\nnamed|0|unknown|unknown|1\nour own|1|0.15.06|x86_64|3\nour own|1|0.16.00|x86_64|1\n");
	lab_close(&lab);
}

static char *catalog_texts(const char *directory)
{
	struct buf out = BUF_INIT;
	struct catalog catalog;
	struct assay_error err;

	check(catalog_load(directory, NULL, &catalog, &err), &err);
	for (size_t i = 0; i < catalog.n; i++) {
		char *text = machine_to_json(&catalog.machines[i]);

		buf_text(&out, text);
		free(text);
	}
	catalog_release(&catalog);
	return buf_take(&out);
}

static void test_types(void **state)
{
	static const char head[] = "machine,time,repetition,stressor,rate,type\n";
	char *first = mem_format("%sm1,1500000000,1,cpu,5,t1\nm2,1500000000,1,cpu,5,\n", head);
	char *second = mem_format("%sm1,1500000000,1,cpu,5,\nm2,1500000000,1,cpu,5,t2\n", head);
	char *both = mem_format("%sm3,1500000000,1,cpu,5,t1\nm3,1500000000,2,cpu,5,t2\n", head);
	struct lab lab = scratch_lab("lab");
	struct catalog catalog;
	struct imported_result result;
	struct assay_error err;

	(void)state;
	take_rates(&lab, first);
	assert_int_equal(take_rates(&lab, second).catalog_written, 1); /* a known type does not change */
	check_fails("two types", import_rates(&lab, both, &result, &err), ASSAY_E_FORMAT, &err,
		    "d/f.csv:3: the hardware type is 't2' here, but 't1' in line 2");
	check(catalog_load(lab.machines, NULL, &catalog, &err), &err);
	assert_int_equal(catalog.n, 2);
	assert_string_equal(catalog.machines[0].fingerprints[0].type, "t1");
	assert_string_equal(catalog.machines[0].fingerprints[0].type_given_by, "f.csv");
	assert_string_equal(catalog.machines[1].fingerprints[0].type, "t2");
	catalog_release(&catalog);
	lab_close(&lab);
	free(first);
	free(second);
	free(both);
}

/* Checks that an import fails and changes neither the store nor the catalog. */
static void refuse(struct lab *lab, const char *what, const char *rates, const char *results, enum assay_status status, const char *part)
{
	char *before = dump(&lab->store), *catalog = catalog_texts(lab->machines), *after;
	struct assay_error err = { .text = "" };
	struct imported_result result;

	check_fails(what, rates ? import_rates(lab, rates, &result, &err) : import_results(lab, results, IMPORTED_NAME, &result, &err),
		    status, &err, part);
	expect_dump(&lab->store, before);
	after = catalog_texts(lab->machines);
	assert_string_equal(catalog, after);
	free(before);
	free(catalog);
	free(after);
}

#define NEW_MACHINE "m0,1600000000,1,cpu,1\n" /* a row before the wrong one, which must not stay */

static void test_refused(void **state)
{
	struct lab lab = scratch_lab("lab");
	struct imported_result result;
	struct assay_error err;

	(void)state;
	take_rates(&lab, RATES "m1,1500000000,1,cpu,100\n");
	take_results(&lab, RESULTS "a,,m1,1500000000,1,1\n");
	refuse(&lab, "another rate", RATES NEW_MACHINE "m1,1500000000,1,cpu,100.00000000000001\n", NULL, ASSAY_E_CONFLICT,
	       "f.csv:3: cpu is 100.00000000000001 here, but 100 is stored");
	refuse(&lab, "another result", NULL, RESULTS "a,,m1,1500000000,1,2\n", ASSAY_E_CONFLICT,
	       "f.csv:2: the result of 'a' is 2 here, but 1 is stored");
	refuse(&lab, "broken", RATES "u,c\n", NULL, ASSAY_E_NODATA, "the row cannot be read (first in line 2: 2 fields");
	refuse(&lab, "no rows", RATES, NULL, ASSAY_E_NODATA, "f.csv: there are no rows");
	refuse(&lab, "bad rows", RATES "m1,1500000000,1,cpu,NA\nm1,x,1,cpu,1\n", NULL, ASSAY_E_NODATA,
	       "the result is not a finite number (first in line 2)");
	assert_int_equal(take_rates(&lab, RATES "m1,1500000000,1,cpu,NA\nm1,1500000000,1,cpu,100\n").rates_known, 1);
	scratch_put("lab/machines/bad.json", "{");
	check_fails("broken catalog", import_rates(&lab, RATES NEW_MACHINE, &result, &err), ASSAY_E_FORMAT, &err, "bad.json:1: ");
	check_select(&lab.store, "SELECT machine FROM fingerprint", "m1\n");
	lab_close(&lab);
}

/* Checks that the same name with another version is separate data. */
static void test_version(void **state)
{
	struct lab lab = scratch_lab("lab");
	struct imported_result result;
	struct assay_error err;

	(void)state;
	take_results(&lab, RESULTS "a,,m1,1500000000,1,1\n");
	check(import_results(&lab, RESULTS "a,,m1,1500000000,1,2\na,own,m1,1500000000,1,3\n", "2.0", &result, &err), &err);
	check_select(&lab.store, "SELECT version, metric FROM run ORDER BY 1", "2.0|2.0\nimported|1.0\nown|3.0\n");
	lab_close(&lab);
}

int suite_imported(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_broken_structure),
		SCRATCH_TEST(test_import),
		SCRATCH_TEST(test_order),
		SCRATCH_TEST(test_duplicates_averaged),
		SCRATCH_TEST(test_direction),
		SCRATCH_TEST(test_batteries),
		SCRATCH_TEST(test_types),
		SCRATCH_TEST(test_refused),
		SCRATCH_TEST(test_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
