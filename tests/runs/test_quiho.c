/* The quiho data package: rows that cannot be used, and a store that depends on what was imported, not on how. */
#include "runs/commands/cmd_runs_export.c" /* the export */
#include "runs/running/quiho.h"

#include "base/csv.h"
#include "base/rng.h"
#include "fingerprint/catalog/catalog.h"
#include "runs/running/metric_direction.h"
#include "runs/running/run.h"
#include "tests/scratch.h"

#include <math.h>

#define HEAD	     "giturl,commit,user,timestamp,benchmark,machine,repetition,test,result\n"
#define HEAD_LATIN   "giturl,commit\xff,user\n"
#define HEAD_VERSION "giturl,commit,user,timestamp,benchmark,machine,repetition,test,result,version\n"

static void test_rows(void **state)
{
	static const struct {
		const char *what, *row; /* timestamp, benchmark, machine, repetition, test, result */
		enum quiho_skip skip;	/* QUIHO_SKIPS: used */
	} rows[] = {
		{ "good", "1500000000,stressng,m,1,cpu,2.5", QUIHO_SKIPS },
		{ "milliseconds", "1500000000000,stressng,m,1,cpu,2.5", QUIHO_SKIPS },
		{ "no test", "1500000000,stressng,m,1,,2.5", QUIHO_SKIPS },
		{ "zero", "1500000000,stressng,m,1,cpu,0", QUIHO_SKIPS },
		{ "the largest", "1500000000,a,m,1000000,t,1e100", QUIHO_SKIPS },
		{ "quoted", "\"1500000000\",\"a,b\",\"m \"\"1\"\"\",\"1\",\"t\",\"1e2\"", QUIHO_SKIPS },
		{ "NaN", "1500000000,a,m,1,t,NaN", QUIHO_NOT_A_NUMBER },
		{ "NA", "1500000000,a,m,1,t,NA", QUIHO_NOT_A_NUMBER },
		{ "infinite", "1500000000,a,m,1,t,inf", QUIHO_NOT_A_NUMBER },
		{ "overflow", "1500000000,a,m,1,t,1e999", QUIHO_NOT_A_NUMBER },
		{ "hexadecimal", "1500000000,a,m,1,t,0x10", QUIHO_BAD_NUMBER },
		{ "empty", "1500000000,a,m,1,t,", QUIHO_NOT_A_NUMBER },
		{ "blank", "1500000000,a,m,1,t, 1", QUIHO_BAD_NUMBER },
		{ "negative", "1500000000,a,m,1,t,-0.5", QUIHO_NEGATIVE },
		{ "too large", "1500000000,a,m,1,t,1.1e100", QUIHO_TOO_LARGE },
		{ "the largest double", "1500000000,stressng,m,1,cpu,1.7e308", QUIHO_TOO_LARGE },
		{ "no time", "today,a,m,1,t,1", QUIHO_BAD_TIME },
		{ "negative time", "-5,a,m,1,t,1", QUIHO_BAD_TIME },
		{ "huge time", "1500000000000000000,a,m,1,t,1", QUIHO_BAD_TIME },
		{ "part of a second", "1500000000.5,a,m,1,t,1", QUIHO_BAD_TIME },
		{ "repetition 0", "1500000000,a,m,0,t,1", QUIHO_BAD_REPETITION },
		{ "no repetition", "1500000000,a,m,,t,1", QUIHO_BAD_REPETITION },
		{ "half a repetition", "1500000000,a,m,1.5,t,1", QUIHO_BAD_REPETITION },
		{ "too many", "1500000000,a,m,1000001,t,1", QUIHO_BAD_REPETITION },
		{ "no machine", "1500000000,a,,1,t,1", QUIHO_BAD_NAME },
		{ "no benchmark", "1500000000,,m,1,t,1", QUIHO_BAD_NAME },
		{ "a selector's sign", "1500000000,a@b,m,1,t,1", QUIHO_BAD_NAME },
		{ "in the test", "1500000000,a,m,1,t@1,1", QUIHO_BAD_NAME },
		{ "a line end", "1500000000,a,m,1,\"t\nu\",1", QUIHO_BAD_NAME },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *text = mem_format(HEAD "u,c,me,%s\n", rows[i].row);
		struct quiho quiho;
		struct assay_error err;

		check(quiho_parse("f", text, strlen(text), &quiho, &err), &err);
		if (quiho.n != (rows[i].skip == QUIHO_SKIPS))
			fail_msg("%s: %zu rows", rows[i].what, quiho.n);
		for (int skip = 0; skip < QUIHO_SKIPS; skip++) {
			if (quiho.skipped[skip].count != (rows[i].skip == (enum quiho_skip)skip))
				fail_msg("%s: %s %zu", rows[i].what, quiho_skip_code((enum quiho_skip)skip), quiho.skipped[skip].count);
			if (quiho.skipped[skip].count)
				assert_int_equal(quiho.skipped[skip].first_line, 2);
		}
		quiho_release(&quiho);
		free(text);
	}
}

static void test_long_names(void **state)
{
	struct quiho quiho;
	struct assay_error err;
	char name[151], *text;

	(void)state;
	memset(name, 'x', 150);
	name[150] = '\0';
	text = mem_format(HEAD "u,c,me,1500000000,%s,m,1,%sy,1\nu,c,me,1500000000,%s,m,1,%s,1\n", name, name, name, name);
	check(quiho_parse("f", text, strlen(text), &quiho, &err), &err);
	assert_int_equal(quiho.skipped[QUIHO_BAD_NAME].count, 1); /* 150 and 151 bytes make an application of 302 */
	assert_int_equal(quiho.n, 1);				  /* equal ones one of 150 */
	quiho_release(&quiho);
	free(text);
}

static void test_broken_structure(void **state)
{
	static const struct {
		const char *what, *text, *part;
	} rows[] = {
		{ "empty", "", "f" },
		{ "no header", "u,c,me,1500000000,a,m,1,t,1\n", "f:1: " },
		{ "a column is missing", "giturl,commit,user,timestamp,benchmark,machine,repetition,test\n", "result" },
		{ "a column twice", "giturl,commit,user,timestamp,benchmark,machine,repetition,test,result,test\n", "test" },
		{ "a header that is not UTF-8", HEAD_LATIN, "f:1: " },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct assay_error err = { .text = "" };
		char *text = mem_string(rows[i].text);
		struct quiho quiho;

		check_fails(rows[i].what, quiho_parse("f", text, strlen(text), &quiho, &err), ASSAY_E_FORMAT, &err, rows[i].part);
		assert_int_equal(quiho.n, 0);
		free(text);
	}
}

/* A row that is broken costs itself alone. */
static void test_broken_rows(void **state)
{
	static const char good[] = "u,c,me,1500000000,a,m,1,t,1\n";
	static const struct {
		const char *row, *first;
	} rows[] = {
		{ "u,c\n", "line 3: 2 fields where the header has 9" },
		{ "u,c,me,1500000000,a,m,1,t,1,5\n", "line 3: 10 fields" },
		{ "u,c,me,1500000000,a,m,1,\"t,1\n", "line 3: the quote" },
		{ "u,c,me,1500000000,a,m\xff,1,t,1\n", "line 3: not UTF-8" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *text = mem_format(HEAD "%s%s%s", good, rows[i].row, good);
		struct assay_error err;
		struct quiho quiho;

		check(quiho_parse("f", text, strlen(text), &quiho, &err), &err);
		assert_int_equal(quiho.n, 2);
		assert_int_equal(quiho.skipped[QUIHO_BAD_ROW].count, 1);
		if (strncmp(quiho.skipped[QUIHO_BAD_ROW].first, rows[i].first, strlen(rows[i].first)) != 0)
			fail_msg("row %zu: '%s'", i, quiho.skipped[QUIHO_BAD_ROW].first);
		quiho_release(&quiho);
		free(text);
	}
}

static void test_application(void **state)
{
	static const struct {
		const char *benchmark, *test, *expected;
	} rows[] = {
		{ "stream", "add-1", "stream/add-1" },
		{ "hpccg", "hpccg", "hpccg" },
		{ "a", "", "a" },
		{ "a", "a/b", "a/a/b" },
		{ "a/a", "a/a", "a/a" },
		{ "x/", "x/", "x/" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *name = quiho_application(rows[i].benchmark, rows[i].test);

		assert_string_equal(name, rows[i].expected);
		free(name);
	}
}

/* ---- import ---- */

/* All that is stored, but for numbers of rows that mean nothing. free() it. */
static char *dump(struct store *store)
{
	static const char *const selects[] = {
		"SELECT f.id, machine, battery, battery_hash, stress_ng, taken_ms, architecture, origin, url, revision, user "
		"FROM fingerprint f LEFT JOIN source s ON s.id = f.source ORDER BY f.id",
		"SELECT fingerprint, pass, stressor, ordinal, quote(per_s), quote(real_per_s) FROM rate ORDER BY 1, 2, 3, 4",
		"SELECT application, version, machine, taken_ms, repetition, ordinal, quote(metric), fingerprint, pass, url, revision, "
		"user "
		"FROM run r LEFT JOIN source s ON s.id = r.source ORDER BY 1, 2, 3, 4, 5, 6",
		"SELECT url, revision, user FROM source ORDER BY 1, 2, 3",
		"SELECT glob, higher_is_better FROM metric_rule ORDER BY id",
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

static enum assay_status try_import(struct lab *lab, const char *csv, struct quiho_import_options wanted,
				    struct quiho_import_result *result, struct assay_error *err)
{
	if (!wanted.directory)
		wanted.directory = "package";
	if (!wanted.version)
		wanted.version = QUIHO_VERSION;
	if (csv) {
		mkdir("package", 0755);
		scratch_put("package/results.csv", csv);
	}
	return quiho_import(lab, &wanted, result, err);
}

static struct quiho_import_result import(struct lab *lab, const char *csv)
{
	struct quiho_import_result result;
	struct assay_error err;

	check(try_import(lab, csv, (struct quiho_import_options){ 0 }, &result, &err), &err);
	return result;
}

/* Odd names, several versions, duplicates, early times, several sources. */
static const char *const fingerprint_rows[] = {
	"u,c,me,1500000000,stressng,m1,1,cpu,100,", "u,c,me,1500000000,stressng,m1,1,,7,",     "u,c,me,1500000000,stressng,m1,2,cpu,101.5,",
	"u,c,me,1500000000,stressng,m1,2,null,0,",  "u,c,me,1500000000,stressng,m1,1,cpu,90,", "u,d,me,1500000000,stressng,m1,1,cpu,100,",
	"u,c,me,50000,stressng,m2,1,cpu,0.1,",	    "u,c,me,50000,stressng,m2,1,stressng,3,",  "x,c,me,50000,stressng,m2,1,cpu,0.1,",
};
static const char *const run_rows[] = {
	"u,c,me,1500000000,stream,m1,1,add-1,5,",
	"u,c,me,1500000000,stream,m1,1,add-1,5,",
	"v,c,me,1500000000,stream,m1,1,add-1,5,",
	"u,c,me,1500000000,stream,m1,1,add-1,4,imported",
	"u,c,me,1500000000,stream,m1,2,add-1,6,2.0",
	"u,c,me,1500000000000,hpccg,m1,1,hpccg,6,",
	"u,c,me,50000,hpccg,m2,1,,7.5,",
	"u,c,me,50000,hpccg,m3,1,,7.5,",
	"u,c,me,1500000000,a/a,m1,1,a/a,1,",
	"u,c,me,1500000000,a,m1,1,a/b,1e-300,",
	"u,c,me,1500000000,x/,m1,1,,2,",
	"u,c,me,1500000000,stressng/x,m1,1,,3,1",
	"u,c,me,1500000000,/y,m1,1,,0,",
	"u,c,me,1500000000,\"q,\"\"r\",m1,1,t t,3,\"v,1\"",
	"\"u\nv\",,,1500000000,last,m1,3,test/,123456789.125,",
};

/* A file with rows[n] in that order. */
static char *csv_of(const char *const *rows, size_t n)
{
	struct buf csv = BUF_INIT;

	buf_text(&csv, HEAD_VERSION);
	for (size_t i = 0; i < n; i++)
		buf_format(&csv, "%s\n", rows[i]);
	return buf_take(&csv);
}

#define ALL (COUNT(fingerprint_rows) + COUNT(run_rows))

static void all_rows(const char **rows)
{
	memcpy(rows, fingerprint_rows, sizeof(fingerprint_rows));
	memcpy(rows + COUNT(fingerprint_rows), run_rows, sizeof(run_rows));
}

/* The dump of a new laboratory into which rows[n] were imported in this order. */
static char *dump_of(const char *name, const char *const *rows, size_t n)
{
	struct lab lab = scratch_lab(name);
	char *csv = csv_of(rows, n), *text;
	struct quiho_import_result result = import(&lab, csv);

	assert_int_equal(result.rows, n);
	for (int i = 0; i < QUIHO_SKIPS; i++)
		assert_int_equal(result.skipped[i], 0);
	text = dump(&lab.store);
	lab_close(&lab);
	free(csv);
	return text;
}

static void test_import(void **state)
{
	const char *rows[ALL];
	struct lab lab = scratch_lab("lab");
	struct quiho_import_result result;
	char *csv;

	(void)state;
	all_rows(rows);
	csv = csv_of(rows, ALL);
	result = import(&lab, csv);
	assert_int_equal(result.rows, ALL);
	assert_int_equal(result.fingerprints_added, 2);
	assert_int_equal(result.rates_added, COUNT(fingerprint_rows));
	assert_int_equal(result.recorded_zeros, 1);
	assert_int_equal(result.machines, 2);
	assert_int_equal(result.incomplete_passes, 3); /* only m2 has the stressor 'stressng', and it lacks 'null' */
	assert_int_equal(result.runs_added, COUNT(run_rows));
	assert_int_equal(result.runs_without_fingerprint, 2); /* m3 was not measured; m1 has no pass 3 */
	assert_int_equal(result.applications, 9);
	assert_int_equal(result.catalog_written, 2);
	check_select(&lab.store, "SELECT DISTINCT application FROM run ORDER BY 1",
		     "/y\na/a\na/a/b\nhpccg\nlast/test/\nq,\"r/t t\nstream/add-1\nstressng/x\nx/\n");
	check_select(&lab.store,
		     "SELECT pass, stressor, ordinal, per_s FROM rate r JOIN fingerprint f ON f.id = r.fingerprint "
		     "WHERE machine = 'm1' ORDER BY 1, 2, 3",
		     "1|cpu|0|90.0\n1|cpu|1|100.0\n1|cpu|2|100.0\n1|null|0|7.0\n2|cpu|0|101.5\n2|null|0|0.0\n");
	check_select(&lab.store,
		     "SELECT version, repetition, ordinal, metric, pass FROM run WHERE application = 'stream/add-1' ORDER BY 1, 2, 3",
		     "2.0|2|0|6.0|2\nimported|1|0|4.0|1\nimported|1|1|5.0|1\nimported|1|2|5.0|1\nimported|1|3|5.0|1\n");
	check_select(&lab.store, "SELECT count(*) FROM run WHERE (fingerprint IS NULL) <> (pass IS NULL)", "0\n");
	lab_close(&lab);
	free(csv);
}

static void test_twice(void **state)
{
	const char *rows[ALL];
	struct lab lab = scratch_lab("lab");
	struct quiho_import_result result;
	char *csv, *once;

	(void)state;
	all_rows(rows);
	csv = csv_of(rows, ALL);
	import(&lab, csv);
	once = dump(&lab.store);
	result = import(&lab, csv);
	expect_dump(&lab.store, once);
	assert_int_equal(result.fingerprints_added + result.rates_added + result.runs_added, 0);
	assert_int_equal(result.fingerprints_known, 2);
	assert_int_equal(result.rates_known, COUNT(fingerprint_rows));
	assert_int_equal(result.runs_known, COUNT(run_rows));
	assert_int_equal(result.catalog_written, 0);
	lab_close(&lab);
	free(once);
	free(csv);
}

static void test_order_of_rows(void **state)
{
	const char *rows[ALL], *shuffled[ALL];
	size_t order[ALL];
	struct rng rng;
	char *expected;

	(void)state;
	all_rows(rows);
	expected = dump_of("lab", rows, ALL);
	rng_seed(&rng, 1);
	for (size_t i = 0; i < ALL; i++)
		order[i] = i;
	for (int round = 0; round < 10; round++) {
		char *name = mem_format("lab%d", round), *got;

		rng_shuffle(&rng, order, ALL);
		for (size_t i = 0; i < ALL; i++)
			shuffled[i] = rows[order[i]];
		got = dump_of(name, shuffled, ALL);
		assert_string_equal(got, expected);
		free(got);
		free(name);
	}
	free(expected);
}

/* Fingerprints before runs, runs before fingerprints, or together: the same runs have the same fingerprints. */
static void test_order_of_imports(void **state)
{
	const char *rows[ALL];
	struct lab first = scratch_lab("first"), last = scratch_lab("last");
	char *fingerprints = csv_of(fingerprint_rows, COUNT(fingerprint_rows)), *runs = csv_of(run_rows, COUNT(run_rows)), *together;

	(void)state;
	all_rows(rows);
	together = dump_of("together", rows, ALL);
	import(&first, fingerprints);
	import(&first, runs);
	expect_dump(&first.store, together);
	assert_int_equal(import(&last, runs).runs_without_fingerprint, COUNT(run_rows));
	assert_int_equal(import(&last, fingerprints).runs_without_fingerprint, 2);
	expect_dump(&last.store, together);
	lab_close(&first);
	lab_close(&last);
	free(fingerprints);
	free(runs);
	free(together);
}

static void test_export(void **state)
{
	const char *rows[ALL];
	struct lab lab = scratch_lab("lab"), other = scratch_lab("other");
	struct buf exported = BUF_INIT, again = BUF_INIT;
	struct assay_error err;
	char *csv, *expected;

	(void)state;
	all_rows(rows);
	csv = csv_of(rows, ALL);
	import(&lab, csv);
	check(quiho_export(&lab.store, &exported, &(struct quiho_export_result){ 0 }, &err), &err);
	assert_int_equal(strncmp(exported.bytes, HEAD_VERSION, strlen(HEAD_VERSION)), 0);
	import(&other, exported.bytes);
	expected = dump(&lab.store);
	expect_dump(&other.store, expected);
	check(quiho_export(&other.store, &again, &(struct quiho_export_result){ 0 }, &err), &err);
	assert_string_equal(exported.bytes, again.bytes);
	lab_close(&lab);
	lab_close(&other);
	buf_release(&exported);
	buf_release(&again);
	free(expected);
	free(csv);
}

/* Without versions the file has the columns of the original. */
static void test_export_plain(void **state)
{
	struct lab lab = scratch_lab("lab");
	struct buf exported = BUF_INIT;
	struct assay_error err;

	(void)state;
	check(quiho_export(&lab.store, &exported, &(struct quiho_export_result){ 0 }, &err), &err);
	assert_string_equal(exported.bytes, HEAD);
	buf_clear(&exported);
	import(&lab, HEAD "u,c,me,1500000000,stressng,m1,1,,7\nu,c,me,1500000000,hpccg,m1,1,hpccg,0.1\n");
	check(quiho_export(&lab.store, &exported, &(struct quiho_export_result){ 0 }, &err), &err);
	assert_string_equal(exported.bytes, HEAD "u,c,me,1500000000000,stressng,m1,1,null,7\nu,c,me,1500000000000,hpccg,m1,1,hpccg,0.1\n");
	buf_release(&exported);
	lab_close(&lab);
}

/* The direction comes along, for exactly that name; a file that has two for one application is refused. */
static void test_export_direction(void **state)
{
	static const char head[] = "giturl,commit,user,timestamp,benchmark,machine,repetition,test,result,direction\n";
	struct lab lab = scratch_lab("lab"), other = scratch_lab("other");
	struct quiho_export_result result;
	struct buf exported = BUF_INIT;
	struct quiho_import_result read;
	struct assay_error err;
	char *csv = mem_format("%su,c,me,1500000000000,a*b,m1,1,a*b,7,higher\nu,c,me,1500000000000,axb,m1,1,axb,7,lower\n"
			       "u,c,me,1500000000000,fio,m1,1,x,7,lower\nu,c,me,1500000000000,plain,m1,1,plain,7,lower\n",
			       head);
	char *bad = mem_format("%su,c,me,1500000000000,z,m1,1,z,7,up\nu,c,me,1500000000000,y,m1,1,y,7,\n", head);
	char *both = mem_format("%su,c,me,1500000000000,z,m1,1,z,7,lower\nu,c,me,1500000000000,z,m2,1,z,7,higher\n", head);

	(void)state;
	import(&lab, csv);
	check_select(&lab.store, "SELECT glob, higher_is_better FROM metric_rule ORDER BY glob", "a\\*b|1\nfio/x|0\n");
	check(quiho_export(&lab.store, &exported, &result, &err), &err);
	assert_string_equal(exported.bytes, csv);
	assert_int_equal(result.fingerprints + result.failed + result.other_metric + result.other_builds, 0);
	import(&other, exported.bytes);
	check_select(&other.store, "SELECT glob, higher_is_better FROM metric_rule ORDER BY glob", "a\\*b|1\nfio/x|0\n");
	read = import(&other, bad);
	assert_int_equal(read.skipped[QUIHO_BAD_DIRECTION], 1);
	assert_int_equal(read.runs_added, 1);
	check_fails("both directions", try_import(&other, both, (struct quiho_import_options){ 0 }, &read, &err), ASSAY_E_FORMAT, &err,
		    "higher is better for 'z' in line 3, and lower in line 2");
	lab_close(&lab);
	lab_close(&other);
	buf_release(&exported);
	free(csv);
	free(bad);
	free(both);
}

/* Fingerprints of every battery come along, as what they are; results beside them are as ever. */
static void test_export_batteries(void **state)
{
	static const char csv[] =
	    "giturl,commit,user,timestamp,benchmark,machine,repetition,test,result,battery,battery_hash,stress_ng,architecture\n"
	    "u,c,me,1500000000000,stressng,m1,1,cpu,5,,,,\n"
	    "u,c,me,1500000000000,stressng,m1,1,cpu,7,our own,abc,0.15.06,x86_64\n"
	    "u,c,me,1500000000000,stressng,m1,1,vm,8,our own,abc,0.15.06,x86_64\n"
	    "u,c,me,1500000000000,stressng,m1,2,cpu,9,our own,abc,0.15.06,x86_64\n"
	    "u,c,me,1500000000000,stressng,m1,2,cpu,6,our own,abc,0.16.00,x86_64\n"
	    "u,c,me,1500000000000,hpccg,m1,1,hpccg,2,,,,\n";
	static const char bad[] =
	    "giturl,commit,user,timestamp,benchmark,machine,repetition,test,result,battery,battery_hash,stress_ng,"
	    "architecture\nu,c,me,1500000000000,stressng,m1,1,cpu,5,,abc,,\nu,c,me,1500000000000,stressng,m1,1,cpu,5,x,abc,,y\n"
	    "u,c,me,1500000000000,hpccg,m2,1,hpccg,2,,,,\n";
	struct lab lab = scratch_lab("lab"), other = scratch_lab("other");
	struct quiho_export_result result;
	struct buf exported = BUF_INIT;
	struct assay_error err;
	char *expected;

	(void)state;
	import(&lab, csv);
	check_select(
	    &lab.store,
	    "SELECT battery, stress_ng, count(*) FROM fingerprint f JOIN rate r ON r.fingerprint = f.id GROUP BY f.id ORDER BY 1, 2",
	    "our own|0.15.06|3\nour own|0.16.00|1\nquiho-2017|unknown|1\n");
	check(quiho_export(&lab.store, &exported, &result, &err), &err);
	assert_string_equal(exported.bytes, csv);
	assert_int_equal(result.fingerprints, 0);
	import(&other, exported.bytes);
	expected = dump(&lab.store);
	expect_dump(&other.store, expected);
	assert_int_equal(import(&other, bad).skipped[QUIHO_BAD_NAME], 2);
	check(store_do(&lab.store, &err, "UPDATE fingerprint SET complete = 0 WHERE battery <> ?", "t", QUIHO_BATTERY), &err);
	buf_clear(&exported);
	check(quiho_export(&lab.store, &exported, &result, &err), &err);
	assert_int_equal(result.fingerprints, 2);
	assert_null(strstr(exported.bytes, "our own"));
	lab_close(&lab);
	lab_close(&other);
	buf_release(&exported);
	free(expected);
}

static void test_duplicates_averaged(void **state)
{
	const char *rows[ALL];
	struct fingerprint_set set;
	struct lab lab = scratch_lab("lab");
	struct run_set runs;
	struct assay_error err;
	char *csv;

	(void)state;
	all_rows(rows);
	csv = csv_of(rows, ALL);
	import(&lab, csv);
	check(run_load(&lab.store, "stream/add-1", "imported", &runs, &err), &err);
	assert_int_equal(runs.n, 1);
	assert_int_equal(runs.items[0].recorded, 4);
	assert_true(runs.items[0].metric == (4 + 5 + 5 + 5) / 4.);
	assert_true(runs.higher_is_better);
	run_set_release(&runs);
	check(fingerprint_load(&lab.store, &set, &err), &err);
	assert_int_equal(set.n, 2);
	assert_int_equal(set.n_stressors, 3); /* cpu, null, stressng */
	assert_true(fingerprint_rate(&set, &set.items[0], 0, 0) == (90 + 100 + 100.) / 3);
	assert_true(fingerprint_rate(&set, &set.items[0], 1, 1) == 0);
	assert_true(isnan(fingerprint_rate(&set, &set.items[0], 1, 2)));
	fingerprint_set_release(&set);
	lab_close(&lab);
	free(csv);
}

static char *catalog_texts(const char *directory)
{
	struct buf out = BUF_INIT;
	struct catalog catalog;
	struct assay_error err;

	check(catalog_load(directory, NULL, &catalog, &err), &err);
	for (size_t i = 0; i < catalog.n; i++) {
		char *text = machine_text(&catalog.machines[i]);

		buf_text(&out, text);
		free(text);
	}
	catalog_release(&catalog);
	return buf_take(&out);
}

/* An import that must fail, in the store and in the catalog without a trace. */
static void refuse(struct lab *lab, const char *what, const char *csv, struct quiho_import_options wanted, enum assay_status status,
		   const char *part)
{
	char *before = dump(&lab->store), *catalog = catalog_texts(lab->machines), *after;
	struct assay_error err = { .text = "" };
	struct quiho_import_result result;

	check_fails(what, try_import(lab, csv, wanted, &result, &err), status, &err, part);
	expect_dump(&lab->store, before);
	after = catalog_texts(lab->machines);
	assert_string_equal(catalog, after);
	free(before);
	free(catalog);
	free(after);
}

#define NEW_MACHINE "u,c,me,1600000000,stressng,m0,1,cpu,1\n" /* comes before what is wrong, and must not stay */

static void test_refused(void **state)
{
	static const struct quiho_rule rule = { "x", true };
	const struct quiho_import_options plain = { .rules = &rule, .n_rules = 1 };
	struct quiho_import_options types = plain;
	struct lab lab = scratch_lab("lab");
	struct quiho_import_result result;
	struct assay_error err;

	(void)state;
	import(&lab, HEAD "u,c,me,1500000000,stressng,m1,1,cpu,100\nu,c,me,1500000000,a,m1,1,t,1\n");
	refuse(&lab, "another rate", HEAD NEW_MACHINE "u,c,me,1500000000,stressng,m1,1,cpu,100.00000000000001\n", plain, ASSAY_E_CONFLICT,
	       "package/results.csv:3: cpu is 100.00000000000001 here, but 100 is stored");
	refuse(&lab, "another result", HEAD NEW_MACHINE "u,c,me,1500000000,a,m1,1,t,2\n", plain, ASSAY_E_CONFLICT,
	       "package/results.csv:3: the result of 'a/t' is 2 here, but 1 is stored");
	refuse(&lab, "broken", HEAD "u,c\n", plain, ASSAY_E_NODATA, "the row cannot be read (first in line 2: 2 fields");
	refuse(&lab, "missing", NULL, (struct quiho_import_options){ .directory = "none" }, ASSAY_E_NOTFOUND, "none/results.csv");

	types.types_file = "types.csv";
	refuse(&lab, "no types", HEAD NEW_MACHINE, types, ASSAY_E_NOTFOUND, "types.csv");
	scratch_put("types.csv", "machine,timestamp\nm1,1500000000\n");
	refuse(&lab, "columns of types", HEAD NEW_MACHINE, types, ASSAY_E_FORMAT, "types.csv:1: no column 'type'");
	scratch_put("package/machines.csv", "machine\n");
	refuse(&lab, "columns of hardware", HEAD NEW_MACHINE, plain, ASSAY_E_FORMAT, "package/machines.csv");
	scratch_put("lab/machines/bad.json", "{");
	check_fails("broken catalog", try_import(&lab, HEAD NEW_MACHINE, plain, &result, &err), ASSAY_E_FORMAT, &err, "bad.json:1: ");
	check_select(&lab.store, "SELECT machine FROM fingerprint", "m1\n");
	lab_close(&lab);
}

/* The same name with --version is other data. */
static void test_version_option(void **state)
{
	struct lab lab = scratch_lab("lab");
	struct quiho_import_result result;
	struct assay_error err;

	(void)state;
	import(&lab, HEAD "u,c,me,1500000000,a,m1,1,t,1\n");
	check(try_import(&lab, HEAD_VERSION "u,c,me,1500000000,a,m1,1,t,2,\nu,c,me,1500000000,a,m1,1,t,3,own\n",
			 (struct quiho_import_options){ .version = "2.0" }, &result, &err),
	      &err);
	check_select(&lab.store, "SELECT version, metric FROM run ORDER BY 1", "2.0|2.0\nimported|1.0\nown|3.0\n");
	lab_close(&lab);
}

/* One row of types or of hardware that cannot be read costs only itself, as a whole. */
static void test_bad_types_and_hardware(void **state)
{
	struct lab lab = scratch_lab("lab");
	struct quiho_import_result result;
	struct catalog catalog;
	struct assay_error err;

	(void)state;
	assert_int_equal(mkdir("package", 0755), 0);
	scratch_put("types.csv", "machine,timestamp,type\nm1,x,t\nm1,1500000000\n,1500000000,t\nm1,1500000000,\nm1,1500000000,\"a\"b\n"
				 "m1,1500000000,caf\xe9\nm1,1500000000,t\nm2,1500000000,t\nm1,-1,u\n");
	scratch_put("package/machines.csv",
		    "machine,cpu,cores,num_cpus,threads_per_core,board_name,board_serial,board_uuid\n"
		    "m1,Other,8,many,1,,,\nm1,Other,8\nm1,Intel,8,None,NA,B,,\nm1,Other,4,-1,,,,\nm1,\"Other,4,1,1,,,\n");
	check(try_import(&lab, HEAD "u,c,me,1500000000,stressng,m1,1,cpu,100\nu,c,me,1500000000,a,m1,1,t,1\n",
			 (struct quiho_import_options){ .types_file = "types.csv" }, &result, &err),
	      &err);
	assert_int_equal(result.runs_added, 1);
	assert_int_equal(result.types.used, 1);
	assert_int_equal(result.types.unknown, 1);
	assert_int_equal(result.types.left_out, 7);
	assert_string_equal(result.types.first.text, "types.csv:2: timestamp 'x' is not seconds or milliseconds since 1970");
	assert_int_equal(result.hardware.used, 1);
	assert_int_equal(result.hardware.left_out, 4);
	assert_string_equal(result.hardware.first.text, "package/machines.csv:2: num_cpus is 'many', not a number from 0 to 65536");
	check(catalog_load(lab.machines, NULL, &catalog, &err), &err);
	assert_string_equal(catalog.machines[0].fingerprints[0].type, "t");
	assert_string_equal(catalog.machines[0].identity.cpu_vendor, "Intel");
	assert_int_equal(catalog.machines[0].identity.cores_per_socket, 8);
	assert_int_equal(catalog.machines[0].identity.sockets, 0);
	catalog_release(&catalog);
	lab_close(&lab);
}

static void test_types_and_hardware(void **state)
{
	struct lab lab = scratch_lab("lab");
	struct quiho_import_result result;
	struct catalog catalog;
	struct assay_error err;

	(void)state;
	assert_int_equal(mkdir("package", 0755), 0);
	scratch_put("types.csv", "machine,timestamp,type\nm1,1500000000,t\nm2,1500000000,t\n");
	scratch_put("package/machines.csv", "machine,cpu,cores,num_cpus,threads_per_core,board_name,board_serial,board_uuid\n"
					    "m1,Intel,8,2,1,NA,None,u-1\nm9,Intel,-,-,-,,,\n");
	check(try_import(&lab, HEAD "u,c,me,1500000000,stressng,m1,1,cpu,100\n", (struct quiho_import_options){ .types_file = "types.csv" },
			 &result, &err),
	      &err);
	assert_int_equal(result.types.used, 1);
	assert_int_equal(result.types.unknown, 1);
	assert_int_equal(result.hardware.used, 1);
	assert_int_equal(result.hardware.unknown, 1);
	check(catalog_load(lab.machines, NULL, &catalog, &err), &err);
	assert_int_equal(catalog.n, 1);
	assert_string_equal(catalog.machines[0].fingerprints[0].type, "t");
	assert_string_equal(catalog.machines[0].identity.cpu_vendor, "Intel");
	assert_string_equal(catalog.machines[0].identity.board_uuid, "u-1");
	assert_null(catalog.machines[0].identity.board_name);
	assert_null(catalog.machines[0].identity.board_serial);
	assert_int_equal(catalog.machines[0].identity.cores_per_socket, 8);
	assert_int_equal(catalog.machines[0].identity.sockets, 2);
	catalog_release(&catalog);
	lab_close(&lab);
}

static bool higher(struct lab *lab, const char *application)
{
	struct metric_rules rules;
	struct assay_error err;
	bool found;

	check(metric_rules_load(&lab->store, &rules, &err), &err);
	found = metric_rules_higher_is_better(&rules, application);
	metric_rules_release(&rules);
	return found;
}

static void keep_rules(struct lab *lab, const struct quiho_rule *rules, size_t n)
{
	struct quiho_import_result result;
	struct assay_error err;

	check(try_import(lab, HEAD "u,c,me,1500000000,a,m1,1,t,1\n", (struct quiho_import_options){ .rules = rules, .n_rules = n }, &result,
			 &err),
	      &err);
}

/* The last rule that matches counts: of one command, and of all commands. */
static void test_rules(void **state)
{
	static const struct quiho_rule first[] = { { "a/*", false }, { "a/b", true }, { "stream/copy*", false } };
	static const struct quiho_rule second[] = { { "a/?", false } }, third[] = { { "a/b", true } };
	struct lab lab = scratch_lab("lab");

	(void)state;
	assert_true(higher(&lab, "stream/add-1") && higher(&lab, "fio/x/y"));
	assert_false(higher(&lab, "stream") || higher(&lab, "hpccg") || higher(&lab, "mystream/x"));
	keep_rules(&lab, first, COUNT(first));
	assert_true(higher(&lab, "a/b"));
	assert_false(higher(&lab, "a/c") || higher(&lab, "a/b/c") || higher(&lab, "stream/copy-1"));
	assert_true(higher(&lab, "stream/add-1"));
	keep_rules(&lab, second, COUNT(second));
	assert_false(higher(&lab, "a/b"));
	keep_rules(&lab, third, COUNT(third)); /* said again: now the last one */
	assert_true(higher(&lab, "a/b"));
	check_select(&lab.store, "SELECT glob, higher_is_better FROM metric_rule ORDER BY id", "a/*|0\nstream/copy*|0\na/?|0\na/b|1\n");
	lab_close(&lab);
}

/* A package of which nothing can be used is refused, with the reasons; one usable row is enough. */
static void test_nothing_usable(void **state)
{
	static const char bad[] = "u,c,me,1500000000,stressng,m1,1,cpu,NA\nu,c,me,x,a,m1,1,t,1\n";
	struct lab lab = scratch_lab("lab");
	struct quiho_import_result result;
	char *csv = mem_format(HEAD "%s", bad);

	(void)state;
	refuse(&lab, "no rows", HEAD, (struct quiho_import_options){ 0 }, ASSAY_E_NODATA, "package/results.csv: there are no rows");
	refuse(&lab, "bad rows", csv, (struct quiho_import_options){ 0 }, ASSAY_E_NODATA,
	       "the result is not a finite number (first in line 2)");
	free(csv);
	csv = mem_format(HEAD "%su,c,me,1500000000,a,m1,1,t,1\n", bad);
	result = import(&lab, csv);
	assert_int_equal(result.rows, 3);
	assert_int_equal(result.skipped[QUIHO_NOT_A_NUMBER], 1);
	assert_int_equal(result.skipped[QUIHO_BAD_TIME], 1);
	assert_int_equal(result.skipped_line[QUIHO_BAD_TIME], 3);
	assert_int_equal(result.runs_added, 1);
	check_select(&lab.store, "SELECT (SELECT count(*) FROM run), (SELECT count(*) FROM source), (SELECT count(*) FROM fingerprint)",
		     "1|1|0\n");
	free(csv);
	lab_close(&lab);
}

int suite_quiho(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_broken_structure),
		cmocka_unit_test(test_broken_rows),
		cmocka_unit_test(test_application),
		SCRATCH_TEST(test_import),
		SCRATCH_TEST(test_twice),
		SCRATCH_TEST(test_order_of_rows),
		SCRATCH_TEST(test_order_of_imports),
		SCRATCH_TEST(test_export),
		SCRATCH_TEST(test_export_plain),
		SCRATCH_TEST(test_export_direction),
		SCRATCH_TEST(test_export_batteries),
		SCRATCH_TEST(test_duplicates_averaged),
		SCRATCH_TEST(test_refused),
		SCRATCH_TEST(test_version_option),
		SCRATCH_TEST(test_types_and_hardware),
		SCRATCH_TEST(test_bad_types_and_hardware),
		SCRATCH_TEST(test_rules),
		SCRATCH_TEST(test_nothing_usable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
