/* The command 'assay result export': exports all rates, results and executions as CSV tables. */
#include "base/command.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/lab/lab.h"
#include "runs/commands/runs_commands.h"
#include "runs/running/plan.h"

#define ACCOUNT(name) ", json_extract(x.signature, '$." #name "') AS " #name

/* Tables. Columns keep their names and order, and new columns come last. The tables exclude output, manifests and environments. 'host
 * import' and 'result import' read the first two tables, so `results` also has failed runs. The SQL sets `direction` from imported results;
 * table_add_row() replaces it by the direction of the plan, if there is one. */
static const struct {
	const char *name, *sql;
} tables[] = {
	{ "machines",
	  "SELECT f.id AS fingerprint, f.machine, f.taken_ms AS time, f.battery, f.battery_hash, f.stress_ng, f.architecture, "
	  "f.origin, f.profile, f.complete, r.pass AS repetition, r.stressor, r.ordinal, r.per_s AS rate, r.real_per_s AS real_rate FROM "
	  "fingerprint f JOIN rate r ON r.fingerprint = f.id ORDER BY f.machine, f.taken_ms, f.id, r.pass, r.stressor, r.ordinal" },
	{ "results",
	  "SELECT application, version, machine, taken_ms AS time, repetition, ordinal, metric AS result, iif((SELECT higher_is_better "
	  "FROM metric_direction AS d WHERE d.application = r.application), 'higher', 'lower') AS direction, fingerprint, plan, "
	  "exit_status FROM (SELECT *, 'ok' AS exit_status FROM run UNION ALL SELECT application, version, machine, taken_ms, repetition, "
	  "0, NULL, NULL, NULL, NULL, plan, NULL, outcome FROM failed_run WHERE NOT probed) AS r ORDER BY application, version, machine, "
	  "taken_ms, repetition, ordinal, exit_status" },
	{ "executions",
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

static void table_add_row(sqlite3_stmt *stmt, const struct plan_metrics *plans, struct buf *out)
{
	for (int i = 0; i < sqlite3_column_count(stmt); i++) {
		bool direction = strcmp(sqlite3_column_name(stmt, i), "direction") == 0; /* `plan` is column i + 2 */
		const struct plan_metric *metric = direction ? plan_metrics_find(plans, store_text(stmt, i + 2)) : NULL;

		if (metric)
			csv_add(out, metric->higher_is_better ? "higher" : "lower", i == 0);
		else if (sqlite3_column_type(stmt, i) == SQLITE_FLOAT)
			csv_add(out, TEXT_DOUBLE(store_double(stmt, i)), i == 0);
		else
			csv_add(out, store_text(stmt, i), i == 0);
	}
	buf_char(out, '\n');
}

static enum assay_status table_write(struct store *store, size_t table, const struct plan_metrics *plans, const char *directory,
				     size_t *rows, struct assay_error *err)
{
	char *path = mem_format("%s/%s.csv", directory, tables[table].name);
	struct buf text = BUF_INIT;
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_prepare(store, tables[table].sql, &stmt, err);

	for (int i = 0; !st && i < sqlite3_column_count(stmt); i++)
		csv_add(&text, sqlite3_column_name(stmt, i), i == 0);
	buf_char(&text, '\n');
	for (; store_next(store, stmt, &st, err); ++*rows)
		table_add_row(stmt, plans, &text);
	sqlite3_finalize(stmt);
	if (!st)
		st = file_replace(path, text.bytes, text.size, 0644, err);
	buf_release(&text);
	free(path);
	return st;
}

struct arguments {
	const char *directory;
};

static enum assay_status result_export_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct plan_metrics plans = { NULL, 0 };
	enum assay_status st = file_make_directory(a->directory, 0755, err);

	if (!st)
		st = plan_metrics_load(&lab->store, &plans, err);
	doc_set(d, "directory", a->directory);
	doc_object(d, "rows");
	for (size_t i = 0; !st && i < sizeof(tables) / sizeof(tables[0]); i++) {
		size_t rows = 0;

		st = table_write(&lab->store, i, &plans, a->directory, &rows, err);
		doc_set(d, tables[i].name, rows);
		doc_line(d, "%s/%s.csv: %zu row%s", a->directory, tables[i].name, rows, text_plural(rows));
	}
	doc_end(d);
	plan_metrics_release(&plans);
	return st;
}

static const struct cli_option words[] = { CLI_ARGUMENT("DIR", struct arguments, directory), CLI_END };

const struct command result_export_command = {
	.name = "result export",
	.summary = "export all rates, results and executions as tables",
	.about =
	    "Writes three CSV tables to DIR, which is created if missing: machines.csv has all rates of all batteries; results.csv has all "
	    "results with version and direction, and failed runs; executions.csv has all executions with their resource usage. The output "
	    "of programs and their environments are not exported. 'host import' and 'result import' read the first two.",
	.examples = "  assay result export tables\n"
		    "  assay init other && assay -C other host import tables/machines.csv\n"
		    "  assay -C other result import tables/results.csv --columns 'ignore=*'\n",
	.words = words,
	CLI_RUN(struct arguments, CLI_LAB_READ, result_export_run),
};
