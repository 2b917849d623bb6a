/* assay runs export */
#include "base/command.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "fleet/lab/lab.h"
#include "runs/commands/runs_commands.h"
#include "runs/running/metric_direction.h"
#include "runs/running/quiho.h"
#include "runs/running/run.h"

#include <inttypes.h>

/* What of the store is not in an export, or not as it is. */
struct quiho_export_result {
	size_t fingerprints; /* that were interrupted: not in it */
	size_t failed;	     /* runs without a result: not in it */
	size_t other_metric; /* results under another metric than that of the latest results of their application: not in it */
	size_t other_builds; /* results of earlier builds of their versions: in it, and no reader can tell them from the others */
};

/* Which metric, and in which direction, an export has of each application: a file has no room for two. */
struct export_application {
	char *name;			  /* as the store knows it */
	const struct plan_metric *latest; /* of the latest plan of which there are results; NULL: all are imported, or nothing is known */
	bool higher_is_better;
};

struct export_metrics {
	struct plan_metrics plans;
	struct export_application *items; /* [n], by name */
	size_t n;
	bool directions; /* one of them is not what an import takes for granted */
};

static void export_metrics_release(struct export_metrics *metrics)
{
	for (size_t i = 0; i < metrics->n; i++)
		free(metrics->items[i].name);
	free(metrics->items);
	plan_metrics_release(&metrics->plans);
	*metrics = (struct export_metrics){ .items = NULL };
}

/* Rows come by application: the last item is the one at hand, if it is of this row. */
static void export_metrics_add_row(struct export_metrics *m, size_t *capacity, const char *application, const char *plan,
				   const struct metric_rules *rules)
{
	const struct plan_metric *metric = plan_metrics_find(&m->plans, plan);
	struct export_application *item = m->n ? &m->items[m->n - 1] : NULL;

	if (!item || strcmp(item->name, application) != 0) {
		item = mem_next(m->items, m->n, capacity);
		*item = (struct export_application){ mem_string(application), NULL, metric_rules_higher_is_better(rules, application) };
	}
	if (metric && (!item->latest || metric->started_ms > item->latest->started_ms)) {
		item->latest = metric;
		item->higher_is_better = metric->higher_is_better;
	}
}

static enum assay_status export_metrics_load(struct store *store, struct export_metrics *out, struct assay_error *err)
{
	struct export_metrics m = { .items = NULL };
	struct metric_rules rules = { 0 };
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	enum assay_status st = plan_metrics_load(store, &m.plans, err);

	if (!st)
		st = metric_rules_load(store, &rules, err);
	if (!st)
		st = store_prepare(store, "SELECT DISTINCT application, plan FROM run ORDER BY application, plan", &stmt, err);
	while (store_next(store, stmt, &st, err)) {
		export_metrics_add_row(&m, &capacity, store_text(stmt, 0), store_text(stmt, 1), &rules);
	}
	for (size_t i = 0; i < m.n; i++)
		m.directions = m.directions || m.items[i].higher_is_better != metric_rules_granted(m.items[i].name);
	sqlite3_finalize(stmt);
	metric_rules_release(&rules);
	*out = m;
	if (st)
		export_metrics_release(out);
	return st;
}

ORDER_BY(export_metrics_compare, struct export_application, BY_TEXT(name))

static const struct export_application *export_metrics_find(const struct export_metrics *metrics, const char *application)
{
	char *name = mem_string(application);
	const struct export_application key = { name, NULL, false }, *found;

	found = metrics->n ? bsearch(&key, metrics->items, metrics->n, sizeof(*metrics->items), export_metrics_compare) : NULL;
	ASSAY_BUG_IF(!found);
	free(name);
	return found;
}

static bool export_metrics_higher(const struct export_metrics *metrics, const char *application)
{
	return export_metrics_find(metrics, application)->higher_is_better;
}

/* Are results of this plan ("": imported) under the metric of the application, as far as is known? */
static bool export_metrics_same(const struct export_metrics *metrics, const char *application, const char *plan)
{
	const struct export_application *of = export_metrics_find(metrics, application);
	const struct plan_metric *metric = plan_metrics_find(&metrics->plans, plan);

	return !metric || !of->latest || strcmp(metric->hash, of->latest->hash) == 0;
}

/* ---- the table ---- */

/* One table in the columns of results.csv. Applications' names are split at their first '/', which quiho_application() undoes. */
static const char rows_sql[] =
    "SELECT s.url, s.revision, s.user, f.taken_ms, '" QUIHO_STRESSNG
    "' AS name, f.machine, r.pass, r.stressor, r.per_s, '' AS version, 0 AS kind, r.ordinal, NULL AS plan, f.battery, f.battery_hash, "
    "f.stress_ng, f.architecture, w.signature FROM rate r JOIN fingerprint f ON f.id = r.fingerprint LEFT JOIN source s ON s.id = f.source "
    "LEFT JOIN raw w ON w.fingerprint = f.id AND w.pass = r.pass AND w.stressor = r.stressor WHERE f.complete UNION ALL SELECT s.url, "
    "s.revision, s.user, u.taken_ms, u.application, u.machine, u.repetition, NULL, u.metric, u.version, 1, u.ordinal, u.plan, '', '', '', "
    "'', x.signature FROM run u LEFT JOIN source s ON s.id = u.source LEFT JOIN execution x ON x.plan = u.plan AND x.machine = u.machine "
    "AND x.version = u.version AND x.input = substr(u.application, instr(u.application || '/', '/') + 1) AND x.repetition = u.repetition "
    "AND x.application = u.application ORDER BY kind, 6, 4, 7, 5, 8, version, 12, 15, 16, 17";

enum {
	URL,
	REVISION,
	USER,
	TAKEN,
	NAME,
	MACHINE,
	REPETITION,
	STRESSOR,
	VALUE,
	VERSION,
	KIND,
	ORDINAL,
	PLAN,
	BATTERY,
	BATTERY_HASH,
	STRESS_NG,
	ARCHITECTURE,
	SIGNATURE
};

static enum assay_status quiho_export_count(struct store *store, const char *sql, size_t *out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_prepare(store, sql, &stmt, err);

	if (store_next(store, stmt, &st, err))
		*out = (size_t)sqlite3_column_int64(stmt, 0);
	return store_finish(stmt, st);
}

/* Columns that are there when they say something. */
struct export_columns {
	size_t versions, directions, batteries, signatures;
};

static enum assay_status export_columns_find(struct store *store, const struct export_metrics *metrics, struct export_columns *out,
					     struct assay_error *err)
{
	enum assay_status st =
	    quiho_export_count(store, "SELECT count(*) FROM run WHERE version <> '" QUIHO_VERSION "'", &out->versions, err);

	out->directions = metrics->directions;
	if (!st)
		st = quiho_export_count(store,
					"SELECT EXISTS (SELECT 1 FROM execution WHERE signature IS NOT NULL) OR EXISTS (SELECT 1 FROM raw "
					"WHERE signature IS NOT NULL)",
					&out->signatures, err);
	return st ? st
		  : quiho_export_count(store, "SELECT count(*) FROM fingerprint WHERE complete AND battery <> '" QUIHO_BATTERY "'",
				       &out->batteries, err);
}

static void quiho_export_add_number(struct buf *out, int64_t value)
{
	char text[TEXT_DOUBLE_BYTES];

	snprintf(text, sizeof(text), "%" PRId64, value);
	csv_add(out, text, false);
}

/* A number below 1e11 would be read as seconds (text_timestamp_ms). */
static int64_t quiho_export_timestamp(int64_t taken_ms)
{
	return taken_ms < INT64_C(100000000000) ? taken_ms / 1000 : taken_ms;
}

/* Whether quiho_application() puts the two parts together again, and neither is read as a stressor. */
static bool quiho_export_splits(const char *name, const char *slash)
{
	size_t n = (size_t)(slash - name);
	bool same = strlen(slash + 1) == n && strncmp(name, slash + 1, n) == 0;
	bool stressor = n == strlen(QUIHO_STRESSNG) && strncmp(name, QUIHO_STRESSNG, n) == 0;

	return n && slash[1] && !same && !stressor;
}

static void quiho_export_add_row(struct buf *out, sqlite3_stmt *stmt, const struct export_columns *columns,
				 const struct export_metrics *metrics)
{
	char *benchmark = mem_string(store_text(stmt, NAME));
	char *slash = strchr(benchmark, '/');
	const char *direction = "";
	const char *test = benchmark; /* an application without a slash is its own test */

	if (sqlite3_column_type(stmt, STRESSOR) != SQLITE_NULL)
		test = store_text(stmt, STRESSOR);
	else
		direction = export_metrics_higher(metrics, benchmark) ? "higher" : "lower";
	if (sqlite3_column_type(stmt, STRESSOR) == SQLITE_NULL && slash && quiho_export_splits(benchmark, slash)) {
		*slash = '\0';
		test = slash + 1;
	}
	csv_add(out, store_text(stmt, URL), true);
	csv_add(out, store_text(stmt, REVISION), false);
	csv_add(out, store_text(stmt, USER), false);
	quiho_export_add_number(out, quiho_export_timestamp(sqlite3_column_int64(stmt, TAKEN)));
	csv_add(out, benchmark, false);
	csv_add(out, store_text(stmt, MACHINE), false);
	quiho_export_add_number(out, sqlite3_column_int64(stmt, REPETITION));
	csv_add(out, test, false);
	csv_add(out, TEXT_DOUBLE(store_double(stmt, VALUE)), false);
	if (columns->versions)
		csv_add(out, store_text(stmt, VERSION), false);
	if (columns->directions)
		csv_add(out, direction, false);
	for (int i = BATTERY; columns->batteries && i <= ARCHITECTURE; i++)
		csv_add(out, strcmp(store_text(stmt, BATTERY), QUIHO_BATTERY) ? store_text(stmt, i) : "", false);
	if (columns->signatures)
		csv_add(out, store_text(stmt, SIGNATURE), false);
	buf_char(out, '\n');
	free(benchmark);
}

/* Results that are exported and are not of the latest build of their version. */
static enum assay_status quiho_export_count_builds(struct store *store, const struct export_metrics *metrics, size_t *out,
						   struct assay_error *err)
{
	struct run_listing *list = NULL;
	size_t n = 0;
	enum assay_status st = run_list(store, &list, &n, err);

	for (size_t i = 0; !st && i < n; i++) {
		struct run_set set;

		st = run_load(store, list[i].application, list[i].version, &set, err);
		for (size_t k = 0; !st && k < set.n_others; k++)
			*out += export_metrics_same(metrics, set.application, set.others[k].plan);
		run_set_release(&set);
	}
	run_list_free(list, n);
	return st;
}

static enum assay_status quiho_export_write_rows(struct store *store, const struct export_metrics *metrics, struct buf *out,
						 size_t *other_metric, struct assay_error *err)
{
	struct export_columns columns = { 0 };
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = export_columns_find(store, metrics, &columns, err);

	if (!st)
		st = store_prepare(store, rows_sql, &stmt, err);
	buf_format(out, "giturl,commit,user,timestamp,benchmark,machine,repetition,test,result%s%s%s%s\n",
		   columns.versions ? ",version" : "", columns.directions ? ",direction" : "",
		   columns.batteries ? ",battery,battery_hash,stress_ng,architecture" : "", columns.signatures ? ",signature" : "");
	while (store_next(store, stmt, &st, err)) {
		if (sqlite3_column_int(stmt, KIND) == 1 && !export_metrics_same(metrics, store_text(stmt, NAME), store_text(stmt, PLAN)))
			++*other_metric;
		else
			quiho_export_add_row(out, stmt, &columns, metrics);
	}
	return store_finish(stmt, st);
}

/* All rates, and the results of one metric for each application, as results.csv: canonical order of rows, shortest numbers that read back
 * the same; with a column `version` when any differs from QUIHO_VERSION, `direction` when any differs from what an import takes for
 * granted, and those that say what a fingerprint is of when any is of another battery than QUIHO_BATTERY. What came from such a package
 * gives the same store again. */
static enum assay_status quiho_export(struct store *store, struct buf *out, struct quiho_export_result *result, struct assay_error *err)
{
	struct export_metrics metrics;
	enum assay_status st = export_metrics_load(store, &metrics, err);

	*result = (struct quiho_export_result){ 0 };
	if (!st)
		st = quiho_export_write_rows(store, &metrics, out, &result->other_metric, err);
	if (!st)
		st = quiho_export_count(store, "SELECT count(*) FROM fingerprint WHERE NOT complete", &result->fingerprints, err);
	if (!st)
		st = quiho_export_count(store, "SELECT count(*) FROM failed_run WHERE NOT probed", &result->failed, err);
	if (!st)
		st = quiho_export_count_builds(store, &metrics, &result->other_builds, err);
	export_metrics_release(&metrics);
	return st;
}

/* ---- tables for R and Python ---- */

#define ACCOUNT(name) ", json_extract(x.signature, '$." #name "') AS " #name

/* Columns keep their names and order; new ones come at the end. Nothing that a program printed, no manifest and no environment is in them.
 * In the column `better` the statement has the application's name. */
static const struct {
	const char *file, *sql;
} tables[] = {
	{ "fingerprints.csv", "SELECT f.id AS fingerprint, f.machine, f.taken_ms, f.battery, f.battery_hash, f.stress_ng, f.architecture, "
			      "f.origin, f.profile, f.complete, r.pass, r.stressor, r.ordinal, r.per_s, r.real_per_s FROM fingerprint f "
			      "JOIN rate r ON r.fingerprint = f.id ORDER BY f.machine, f.taken_ms, f.id, r.pass, r.stressor, r.ordinal" },
	{ "results.csv", "SELECT application, version, machine, taken_ms, repetition, ordinal, metric, application AS better, fingerprint, "
			 "plan FROM run ORDER BY application, version, machine, taken_ms, repetition, ordinal" },
	{ "executions.csv",
	  "SELECT x.application, x.version, x.input, x.machine, x.taken_ms, x.repetition, x.outcome, x.metric, x.wall_ns, x.user_us, "
	  "x.sys_us, x.max_rss_bytes, x.exit_status, x.signal, x.plan, x.architecture" ACCOUNT(minor_faults) ACCOUNT(major_faults) ACCOUNT(
	      voluntary_switches) ACCOUNT(involuntary_switches) ACCOUNT(read_calls) ACCOUNT(read_bytes) ACCOUNT(write_calls)
	      ACCOUNT(write_bytes) ACCOUNT(run_delay_ns) ACCOUNT(crowded_ns) ACCOUNT(io_stalled_ns) ACCOUNT(memory_stalled_ns)
		  ACCOUNT(throttled_ns) ACCOUNT(steal_ns) ACCOUNT(processes) ACCOUNT(frequency_khz) ACCOUNT(
		      temperature_mc) " FROM (SELECT application, version, input, machine, taken_ms, repetition, outcome, "
				      "metric, wall_ns, user_us, sys_us, max_rss_bytes, exit_status, signal, plan, "
				      "architecture, signature FROM execution UNION ALL SELECT application, version, '', "
				      "machine, taken_ms, repetition, outcome, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "
				      "NULL, NULL FROM failure) AS x ORDER BY x.application, x.version, x.input, x.machine, x.taken_ms, "
				      "x.plan, x.repetition" },
};

static void table_add_value(sqlite3_stmt *stmt, int column, const struct export_metrics *metrics, struct buf *out)
{
	if (strcmp(sqlite3_column_name(stmt, column), "better") == 0)
		csv_add(out, export_metrics_higher(metrics, store_text(stmt, column)) ? "higher" : "lower", column == 0);
	else if (sqlite3_column_type(stmt, column) == SQLITE_FLOAT)
		csv_add(out, TEXT_DOUBLE(store_double(stmt, column)), column == 0);
	else
		csv_add(out, store_text(stmt, column), column == 0);
}

static enum assay_status table_write(struct store *store, size_t table, const struct export_metrics *metrics, const char *directory,
				     size_t *rows, struct assay_error *err)
{
	char *path = mem_format("%s/%s", directory, tables[table].file);
	struct buf text = BUF_INIT;
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_prepare(store, tables[table].sql, &stmt, err);

	for (int i = 0; !st && i < sqlite3_column_count(stmt); i++)
		csv_add(&text, sqlite3_column_name(stmt, i), i == 0);
	buf_char(&text, '\n');
	while (store_next(store, stmt, &st, err)) {
		for (int i = 0; i < sqlite3_column_count(stmt); i++)
			table_add_value(stmt, i, metrics, &text);
		buf_char(&text, '\n');
		++*rows;
	}
	sqlite3_finalize(stmt);
	if (!st)
		st = file_replace(path, text.bytes, text.size, 0644, err);
	buf_release(&text);
	free(path);
	return st;
}

static enum assay_status tables_write(struct store *store, const char *directory, struct document *d, struct assay_error *err)
{
	struct export_metrics metrics;
	enum assay_status st = file_make_directory(directory, 0755, err);

	if (st)
		return st;
	st = export_metrics_load(store, &metrics, err);
	for (size_t i = 0; !st && i < sizeof(tables) / sizeof(tables[0]); i++) {
		size_t rows = 0;

		st = table_write(store, i, &metrics, directory, &rows, err);
		doc_line(d, "%s/%s: %zu row%s", directory, tables[i].file, rows, text_plural(rows));
	}
	export_metrics_release(&metrics);
	return st;
}

struct arguments {
	bool csv;
	const char *output, *tables;
};

/* What is not in the table, on standard error, which is not a part of it. */
static void remark_left_out(const struct quiho_export_result *r)
{
	const struct {
		size_t n;
		const char *what, *why;
	} rows[] = {
		{ r->fingerprints, "fingerprint", "interrupted: not exported" },
		{ r->failed, "run", "without a result: not exported" },
		{ r->other_metric, "result", "under another metric than the latest of the application: not exported" },
		{ r->other_builds, "result", "of earlier builds, which an import cannot tell from the latest one" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].n)
			cli_remark("%zu %s%s %s", rows[i].n, rows[i].what, text_plural(rows[i].n), rows[i].why);
	}
}

static enum assay_status runs_export_check(void *arguments, struct assay_error *err)
{
	const struct arguments *a = arguments;

	return a->tables && (a->csv || a->output)
		   ? assay_fail(err, ASSAY_E_USAGE, "--tables writes files of its own: without --csv and --output")
		   : ASSAY_OK;
}

static enum assay_status runs_export_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct quiho_export_result result = { 0 };
	struct buf out = BUF_INIT;
	enum assay_status st;

	if (a->tables)
		return tables_write(&lab->store, a->tables, d, err);
	st = quiho_export(&lab->store, &out, &result, err);
	if (!st && a->output)
		st = file_replace(a->output, out.bytes, out.size, 0644, err);
	else if (!st)
		doc_raw(d, out.bytes);
	if (!st)
		remark_left_out(&result);
	buf_release(&out);
	return st;
}

static const struct cli_option options[] = {
	CLI_FLAG("csv", struct arguments, csv, "As comma-separated values, the only format so far and the default"),
	CLI_OPTION(TEXT, "output", "FILE", struct arguments, output, "Write to FILE (replaced as a whole) instead of standard output",
		   .letter = 'o'),
	CLI_OPTION(TEXT, "tables", "DIR", struct arguments, tables,
		   "Write everything to DIR, as tables for R and Python: fingerprints.csv, results.csv, executions.csv", .required = false),
	CLI_END
};

const struct command runs_export_command = {
	.name = "runs export",
	.summary = "export all rates and results as a table",
	.about =
	    "Writes recorded rates and results as one CSV table in the layout of the quiho data package (results.csv). Importing what was "
	    "imported into an empty laboratory gives the same store. Of what was measured here, the table has the results with their "
	    "versions and directions; fingerprints that were interrupted, runs that failed, and what tells builds and metrics apart are "
	    "not in it: how many there are is said on standard error. With --tables nothing is left out: every rate of every battery, "
	    "every result, and every execution with the kernel's accounts; what programs printed and their environments are in no table.",
	.examples = "  mkdir copy && assay runs export --csv -o copy/results.csv\n"
		    "  assay init other && assay -C other import quiho copy\n"
		    "  assay runs export --tables tables && python3 -c 'import csv; "
		    "print(len(list(csv.DictReader(open(\"tables/results.csv\")))))'\n",
	.options = options,
	.flags = CLI_NO_FORMAT,
	.check = runs_export_check,
	CLI_RUN(struct arguments, CLI_LAB_READ, runs_export_run),
};
