/* Executions as the store has them, for people and for reports. */
#include "base/mem.h"
#include "runs/running/execution.h"

#define COLUMNS "machine, version, input, application, plan, repetition, taken_ms, outcome, detail, metric, wall_ns, user_us, sys_us, " \
		"max_rss_bytes, exit_status, signal, (SELECT probe IS NOT NULL FROM plan WHERE id = plan)"
enum { MACHINE, VERSION, INPUT, APPLICATION, PLAN, REPETITION, TAKEN, OUTCOME, DETAIL, METRIC, WALL, USER, SYS, RSS, EXIT, SIGNAL, PROBE, OUT, ERR };

static int64_t number(sqlite3_stmt *stmt, int column)
{
	return sqlite3_column_type(stmt, column) == SQLITE_NULL ? -1 : sqlite3_column_int64(stmt, column);
}

static char *blob(sqlite3_stmt *stmt, int column, size_t *n)
{
	const char *bytes = sqlite3_column_blob(stmt, column);

	*n = (size_t)sqlite3_column_bytes(stmt, column);
	return mem_bytes(bytes ? bytes : "", *n);
}

/* What this program does not know was written by a newer one, which the schema's version would have told. */
static enum execution_outcome outcome_of(const char *code)
{
	int i = 0;

	while (i < EXECUTION_OUTCOMES - 1 && strcmp(execution_outcome_code((enum execution_outcome)i), code) != 0)
		i++;
	return (enum execution_outcome)i;
}

static void read_row(sqlite3_stmt *stmt, struct execution_row *out)
{
	*out = (struct execution_row){
		.machine = mem_string(store_text(stmt, MACHINE)),
		.version = mem_string(store_text(stmt, VERSION)),
		.input = mem_string(store_text(stmt, INPUT)),
		.application = mem_string(store_text(stmt, APPLICATION)),
		.plan = mem_string(store_text(stmt, PLAN)),
		.repetition = sqlite3_column_int64(stmt, REPETITION),
		.taken_ms = sqlite3_column_int64(stmt, TAKEN),
		.outcome = outcome_of(store_text(stmt, OUTCOME)),
		.detail = mem_string(store_text(stmt, DETAIL)),
		.metric = store_double(stmt, METRIC),
		.wall_ns = number(stmt, WALL),
		.user_us = number(stmt, USER),
		.sys_us = number(stmt, SYS),
		.max_rss_bytes = number(stmt, RSS),
		.exit_status = number(stmt, EXIT),
		.signal = number(stmt, SIGNAL),
		.instrumented = sqlite3_column_int(stmt, PROBE) != 0,
	};
	if (sqlite3_column_count(stmt) > OUT) {
		out->out = blob(stmt, OUT, &out->out_bytes);
		out->err = blob(stmt, ERR, &out->err_bytes);
	}
}

/* The statement's question marks are a and b. */
static enum assay_status load(struct store *store, const char *sql, const char *a, const char *b, struct execution_rows *out,
			      struct assay_error *err)
{
	struct execution_rows rows = { NULL, 0 };
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	bool row = true;
	enum assay_status st = store_prepare(store, sql, &stmt, err);

	if (!st)
		store_bind(stmt, b ? "tt" : "t", a, b);
	while (!st) {
		st = store_step(store, stmt, &row, err);
		if (st || !row)
			break;
		rows.items = mem_grow(rows.items, rows.n, &capacity, sizeof(*rows.items));
		read_row(stmt, &rows.items[rows.n++]);
	}
	sqlite3_finalize(stmt);
	*out = rows;
	if (st)
		execution_rows_release(out);
	return st;
}

enum assay_status execution_of_plan(struct store *store, const struct plan *plan, struct execution_rows *out, struct assay_error *err)
{
	return load(store, "SELECT " COLUMNS " FROM execution WHERE plan = ? ORDER BY machine, input, version, repetition", plan->id, NULL, out,
		    err);
}

enum assay_status execution_failures(struct store *store, const char *application, const char *version, bool instrumented_too,
				     struct execution_rows *out, struct assay_error *err)
{
	char *sql = mem_format("SELECT " COLUMNS ", out, err FROM execution WHERE outcome <> 'ok' AND application = ? %s %s "
			       "ORDER BY machine, taken_ms, version, repetition",
			       version ? "AND version = ?" : "", instrumented_too ? "" : "AND plan IN (SELECT id FROM plan WHERE probe IS NULL)");
	enum assay_status st = load(store, sql, application, version, out, err);

	free(sql);
	return st;
}

enum assay_status execution_without_fingerprint(struct store *store, const struct plan *plan, size_t *n, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	bool row = false;
	enum assay_status st = store_prepare(store, "SELECT count(*) FROM run WHERE plan = ? AND fingerprint IS NULL", &stmt, err);

	*n = 0;
	if (!st) {
		store_bind(stmt, "t", plan->id);
		st = store_step(store, stmt, &row, err);
	}
	if (!st && row)
		*n = (size_t)sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return st;
}

void execution_rows_release(struct execution_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		struct execution_row *row = &rows->items[i];

		free(row->machine);
		free(row->version);
		free(row->input);
		free(row->application);
		free(row->plan);
		free(row->detail);
		free(row->out);
		free(row->err);
	}
	free(rows->items);
	*rows = (struct execution_rows){ NULL, 0 };
}
