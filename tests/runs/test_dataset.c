/* Tests the matrix that stored runs and fingerprints give. The reference is matrix.csv in the directory that the variable ASSAY_QUIHO
 * names. It was made with pandas from the same results.csv. */
#include "runs/running/evidence.h"

#include "base/csv.h"
#include "base/text.h"
#include "tests/runs/importing.h"
#include "tests/scratch.h"

#include <math.h>

#define FEATURES 43
#define RATES	 "machine,time,repetition,stressor,rate\n"
#define RESULTS	 "application,machine,time,repetition,result\n"

static void import(struct lab *lab, const char *rates, const char *results)
{
	struct imported_result result;
	struct assay_error err;

	if (rates)
		check(import_rates(lab, rates, &result, &err), &err);
	check(import_results(lab, results, IMPORTED_NAME, &result, &err), &err);
}

static int write_tables(void)
{
	char *script = mem_format("%s/tests/recorded.py", getenv("ASSAY_SOURCE"));

	execlp("python3", "python3", script, getenv("ASSAY_QUIHO"), "tables", (char *)NULL);
	return 1;
}

static void import_data_set(struct lab *lab)
{
	char *rates, *results;

	assert_int_equal(scratch_child(write_tables), 0);
	rates = scratch_text("tables/machines.csv");
	results = scratch_text("tables/results.csv");
	import(lab, rates, results);
	free(rates);
	free(results);
}

/* ---- the matrix of real data ---- */

struct matrix_row {
	char *machine;
	int64_t repetition, taken_ms;
	char **fields; /* values of all columns */
};

struct matrix {
	char **names; /* [n_names] */
	size_t n_names;
	struct matrix_row *rows; /* [n], sorted by machine, repetition, time */
	size_t n, capacity;
};

static char **copy_fields(const struct csv *csv)
{
	char **fields = mem_new(csv->n_fields, sizeof(char *));

	for (size_t j = 0; j < csv->n_fields; j++)
		fields[j] = mem_string(csv->fields[j]);
	return fields;
}

/* Parses MACHINE-REPETITION-TIMESTAMP in the first field. Names of machines may contain '-', too. */
static struct matrix_row matrix_row(char **fields)
{
	struct matrix_row row = { mem_string(fields[0]), 0, 0, fields };
	char *dash = strrchr(row.machine, '-');

	assert_non_null(dash);
	assert_true(text_parse_time_ms(dash + 1, &row.taken_ms));
	*dash = '\0';
	dash = strrchr(row.machine, '-');
	assert_non_null(dash);
	assert_true(text_parse_int64(dash + 1, &row.repetition));
	*dash = '\0';
	return row;
}

static int compare_rows(const void *a, const void *b)
{
	const struct matrix_row *x = a, *y = b;
	int order = strcmp(x->machine, y->machine);

	if (order)
		return order;
	if (x->repetition != y->repetition)
		return x->repetition < y->repetition ? -1 : 1;
	return (x->taken_ms > y->taken_ms) - (x->taken_ms < y->taken_ms);
}

static struct matrix matrix_read(const char *path)
{
	char *text = scratch_text(path);
	struct matrix m = { 0 };
	struct assay_error err;
	struct csv csv;
	bool more;

	csv_init(&csv, path, text, strlen(text));
	check(csv_read_header(&csv, NULL, 0, NULL, &err), &err);
	m.names = copy_fields(&csv);
	m.n_names = csv.n_fields;
	for (;;) {
		check(csv_read_row(&csv, &more, &err), &err);
		if (!more)
			break;
		m.rows = mem_grow(m.rows, m.n, &m.capacity, sizeof(*m.rows));
		m.rows[m.n++] = matrix_row(copy_fields(&csv));
	}
	qsort(m.rows, m.n, sizeof(*m.rows), compare_rows);
	csv_release(&csv);
	free(text);
	return m;
}

static void matrix_release(struct matrix *m)
{
	for (size_t j = 0; j < m->n_names; j++)
		free(m->names[j]);
	for (size_t i = 0; i < m->n; i++) {
		for (size_t j = 0; j < m->n_names; j++)
			free(m->rows[i].fields[j]);
		free(m->rows[i].fields);
		free(m->rows[i].machine);
	}
	free(m->names);
	free(m->rows);
}

/* Returns the only application of the store whose name, or part after '/', is `name`. The caller frees the text. */
static char *application_of(struct store *store, const char *name)
{
	char *sql =
	    mem_format("SELECT DISTINCT application FROM run WHERE application = '%s' OR substr(application, instr(application, '/') + 1) "
		       "= '%s'",
		       name, name);
	char *found = scratch_select(store, sql), *end = strchr(found, '\n');

	if (!end || end[1])
		fail_msg("applications called '%s': %s", name, found);
	*end = '\0';
	free(sql);
	return found;
}

static void check_value(const char *application, const struct matrix *m, size_t row, size_t column, double got)
{
	double expected;

	assert_true(text_parse_double(m->rows[row].fields[column], &expected));
	if (got != expected)
		fail_msg("%s: row %s, %s is %.17g, not %.17g", application, m->rows[row].fields[0], m->names[column], got, expected);
}

/* Returns the number of compared rows. */
static size_t compare_application(struct lab *lab, const struct evidence *evidence, const struct matrix *m, size_t column)
{
	char *application = application_of(&lab->store, m->names[column]);
	struct assay_error err;
	struct run_set runs;
	struct dataset d;
	size_t row = 0;

	check(evidence_load_runs(lab, application, &runs, &err), &err);
	dataset_build(evidence, &runs, false, &d);
	assert_int_equal(d.X.cols, FEATURES);
	for (size_t j = 0; j < FEATURES; j++)
		assert_string_equal(d.features[j], m->names[1 + j]);
	for (size_t i = 0; i < m->n; i++) {
		if (!*m->rows[i].fields[column] || strcmp(m->rows[i].fields[column], "0") == 0) /* in the reference, 0 means no result */
			continue;
		assert_true(row < d.X.rows);
		check_value(application, m, i, column, d.y[row]);
		for (size_t j = 0; j < FEATURES; j++)
			check_value(application, m, i, 1 + j, mat_get(&d.X, row, j));
		row++;
	}
	assert_int_equal(row, d.X.rows);
	assert_int_equal(d.X.rows + d.n_excluded[EXCLUDED_NO_FINGERPRINT] + d.n_excluded[EXCLUDED_INCOMPLETE], runs.n);
	dataset_release(&d);
	run_set_release(&runs);
	free(application);
	return row;
}

static void test_real_matrix(void **state)
{
	const char *directory = getenv("ASSAY_QUIHO");
	char *path = mem_format("%s/matrix.csv", directory ? directory : "");
	struct evidence evidence;
	struct assay_error err;
	struct matrix m;
	struct lab lab;
	size_t rows = 0;

	(void)state;
	if (access(path, R_OK)) {
		print_message("ASSAY_QUIHO does not name a directory with matrix.csv\n");
		free(path);
		skip();
	}
	m = matrix_read(path);
	assert_true(m.n_names > 1 + FEATURES);
	lab = scratch_lab("lab");
	import_data_set(&lab);
	check(evidence_load(&lab, &evidence, &err), &err);
	for (size_t j = 1 + FEATURES; j < m.n_names; j++)
		rows += compare_application(&lab, &evidence, &m, j);
	print_message("%zu applications, %zu rows\n", m.n_names - 1 - FEATURES, rows);
	assert_true(rows > 5000);
	evidence_release(&evidence);
	lab_close(&lab);
	matrix_release(&m);
	free(path);
}

/* ---- small matrices ---- */

static struct dataset dataset_for(struct lab *lab, const char *selector, struct evidence *evidence, struct run_set *runs)
{
	struct assay_error err;
	struct dataset d;

	check(evidence_load(lab, evidence, &err), &err);
	check(evidence_load_runs(lab, selector, runs, &err), &err);
	dataset_build(evidence, runs, false, &d);
	return d;
}

static void release(struct dataset *d, struct run_set *runs, struct evidence *evidence)
{
	dataset_release(d);
	run_set_release(runs);
	evidence_release(evidence);
}

#define SESSION(machine, pass, cpu, vm) machine ",1500000000," pass ",cpu," cpu "\n" machine ",1500000000," pass ",vm," vm "\n"
#define RUN(machine, pass, result)	"a," machine ",1500000000," pass "," result "\n"

static void test_rows(void **state)
{
	static const double expected[] = { 10, 1, 11, 0, 20, 2 };
	struct lab lab = scratch_lab("lab");
	struct evidence evidence;
	struct run_set runs;
	struct dataset d;

	(void)state;
	import(&lab, RATES SESSION("m2", "1", "20", "2") SESSION("m1", "2", "11", "0") SESSION("m1", "1", "10", "1"),
	       RESULTS RUN("m2", "1", "7") RUN("m1", "1", "4") RUN("m1", "2", "5") RUN("m1", "2", "6"));
	d = dataset_for(&lab, "a", &evidence, &runs);
	assert_int_equal(d.X.rows, 3);
	assert_int_equal(d.X.cols, 2);
	assert_string_equal(d.features[0], "cpu");
	assert_string_equal(d.features[1], "vm");
	assert_memory_equal(d.X.at, expected, sizeof(expected)); /* sorted by machine, then repetition; a recorded rate of 0 stays 0 */
	assert_true(d.y[0] == 4 && d.y[1] == 5.5 && d.y[2] == 7);
	assert_string_equal(d.battery, IMPORTED_NAME);
	assert_int_equal(d.machines, 2);
	assert_int_equal(d.hardware_types, 2); /* a machine that is twice as fast is another type */
	assert_true(d.types[0] == d.types[1] && d.types[0] != d.types[2]);
	release(&d, &runs, &evidence);
	lab_close(&lab);
}

/* Checks that a pass without a stressor that other passes have is excluded, and so is a run without a fingerprint. */
static void test_left_out(void **state)
{
	struct lab lab = scratch_lab("lab");
	struct evidence evidence;
	struct run_set runs;
	struct dataset d;

	(void)state;
	import(&lab,
	       RATES SESSION("m1", "1", "10", "1") SESSION("m1", "2", "10", "1")
		   SESSION("m3", "1", "10", "1") "m2,1500000000,1,cpu,10\nm2,1500000000,2,cpu,10\n",
	       RESULTS RUN("m1", "1", "1") RUN("m1", "2", "2") RUN("m2", "1", "3") RUN("m2", "2", "4") RUN("m4", "1", "5")
		   RUN("m1", "3", "6"));
	d = dataset_for(&lab, "a@imported", &evidence, &runs);
	assert_int_equal(d.X.rows, 2);
	assert_true(d.y[0] == 1 && d.y[1] == 2);
	assert_int_equal(d.n_excluded[EXCLUDED_INCOMPLETE], 2);
	assert_int_equal(d.n_excluded[EXCLUDED_NO_FINGERPRINT], 2);
	assert_int_equal(d.n_excluded[EXCLUDED_OTHER_BATTERY], 0);
	release(&d, &runs, &evidence);
	lab_close(&lab);
}

/* Changes a condition in the fingerprint of a machine. */
static void change(struct lab *lab, const char *machine, const char *column, const char *value)
{
	char *sql = mem_format("UPDATE fingerprint SET %s = '%s' WHERE machine = '%s'", column, value, machine);

	free(scratch_select(&lab->store, sql));
	free(sql);
}

/* Checks that only the battery of most runs is used, with its stressors. Runs of other batteries are excluded and counted. */
static void test_mixed_batteries(void **state)
{
	static const char *const columns[] = { "battery_hash", "stress_ng", "architecture" };

	(void)state;
	for (size_t i = 0; i < COUNT(columns); i++) {
		char *name = mem_format("lab%zu", i);
		struct lab lab = scratch_lab(name);
		struct evidence evidence;
		struct run_set runs;
		struct dataset d;

		import(&lab,
		       RATES SESSION("a1", "1", "10", "1") "a1,1500000000,1,brk,5\n" SESSION("m1", "1", "10", "1")
			   SESSION("m2", "1", "10", "1"),
		       RESULTS RUN("a1", "1", "1") RUN("m1", "1", "2") RUN("m2", "1", "3"));
		change(&lab, "a1", columns[i], "other");
		d = dataset_for(&lab, "a", &evidence, &runs);
		assert_int_equal(d.X.rows, 2);
		assert_int_equal(d.X.cols, 2); /* without brk, which only the other battery has */
		assert_true(d.y[0] == 2 && d.y[1] == 3);
		assert_int_equal(d.n_excluded[EXCLUDED_OTHER_BATTERY], 1);
		assert_int_equal(d.n_excluded[EXCLUDED_INCOMPLETE], 0);
		release(&d, &runs, &evidence);
		lab_close(&lab);
		free(name);
	}
}

/* Checks that a run with a fingerprint but without a pass gets the medians over the passes. */
static void test_no_pass(void **state)
{
	struct lab lab = scratch_lab("lab");
	struct evidence evidence;
	struct run_set runs;
	struct dataset d;

	(void)state;
	import(&lab, RATES SESSION("m1", "1", "10", "1") SESSION("m1", "2", "12", "0") SESSION("m1", "3", "17", "3"),
	       RESULTS RUN("m1", "1", "1"));
	free(scratch_select(&lab.store, "UPDATE run SET pass = NULL"));
	d = dataset_for(&lab, "a", &evidence, &runs);
	assert_int_equal(d.X.rows, 1);
	assert_true(mat_get(&d.X, 0, 0) == 12);
	assert_true(mat_get(&d.X, 0, 1) == 2); /* the median of 1 and 3 */
	release(&d, &runs, &evidence);
	lab_close(&lab);
}

static void test_nothing(void **state)
{
	struct lab lab = scratch_lab("lab");
	struct evidence evidence;
	struct assay_error err;
	struct run_set runs;
	struct dataset d;

	(void)state;
	check_fails("empty", evidence_load_runs(&lab, "a", &runs, &err), ASSAY_E_NOTFOUND, &err,
		    "no application 'a': the laboratory has no runs yet");
	import(&lab, NULL, RESULTS RUN("m1", "1", "1") "bench/mark,m1,1500000000,1,1\n");
	d = dataset_for(&lab, "a", &evidence, &runs);
	assert_int_equal(d.X.rows, 0);
	assert_int_equal(d.X.cols, 0);
	assert_null(d.battery);
	assert_int_equal(d.n_excluded[EXCLUDED_NO_FINGERPRINT], 1);
	release(&d, &runs, &evidence);
	check_fails("nearest", evidence_load_runs(&lab, "bench/mrak", &runs, &err), ASSAY_E_NOTFOUND, &err, "did you mean 'bench/mark'?");
	check_fails("version", evidence_load_runs(&lab, "a@2", &runs, &err), ASSAY_E_NOTFOUND, &err,
		    "'a' has no version '2': it has imported");
	check_fails("no selector", evidence_load_runs(&lab, "@2", &runs, &err), ASSAY_E_USAGE, &err, "'@2' is not APP or APP@VERSION");
	import(&lab, NULL, "application,machine,time,repetition,result,version\na,m1,1500000000,1,1,2.0\n");
	check_fails("several", evidence_load_runs(&lab, "a", &runs, &err), ASSAY_E_USAGE, &err,
		    "'a' has several versions, name one as a@VERSION: 2.0, imported");
	lab_close(&lab);
}

int suite_dataset(void)
{
	const struct CMUnitTest tests[] = {
		SCRATCH_TEST(test_real_matrix),	    SCRATCH_TEST(test_rows),	SCRATCH_TEST(test_left_out),
		SCRATCH_TEST(test_mixed_batteries), SCRATCH_TEST(test_no_pass), SCRATCH_TEST(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
