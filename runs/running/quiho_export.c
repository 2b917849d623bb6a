#include "base/csv.h"
#include "base/mem.h"
#include "base/text.h"
#include "runs/running/export_metric.h"
#include "runs/running/quiho.h"
#include "runs/running/run.h"

#include <inttypes.h>

/* One table in the columns of results.csv. Applications' names are split at their first '/', which quiho_application() undoes. */
static const char rows_sql[] =
    "SELECT s.url, s.revision, s.user, f.taken_ms, '" QUIHO_STRESSNG "' AS name, f.machine, r.pass, r.stressor, r.per_s, '' AS version, 0 AS kind, "
    "r.ordinal, NULL AS plan FROM rate r JOIN fingerprint f ON f.id = r.fingerprint LEFT JOIN source s ON s.id = f.source "
    "WHERE f.battery = '" QUIHO_BATTERY "' "
    "UNION ALL "
    "SELECT s.url, s.revision, s.user, u.taken_ms, u.application, u.machine, u.repetition, NULL, u.metric, u.version, 1, u.ordinal, u.plan "
    "FROM run u LEFT JOIN source s ON s.id = u.source "
    "ORDER BY kind, 6, 4, 7, 5, 8, version, 12";

enum { URL, REVISION, USER, TAKEN, NAME, MACHINE, REPETITION, STRESSOR, VALUE, VERSION, KIND, ORDINAL, PLAN };

static enum assay_status has_versions(struct store *store, bool *out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_prepare(store, "SELECT 1 FROM run WHERE version <> '" QUIHO_VERSION "' LIMIT 1", &stmt, err);

	if (!st)
		st = store_step(store, stmt, out, err);
	sqlite3_finalize(stmt);
	return st;
}

static void add_number(struct buf *out, int64_t value)
{
	char text[TEXT_DOUBLE_BYTES];

	snprintf(text, sizeof(text), "%" PRId64, value);
	csv_add(out, text, false);
}

/* A number below 1e11 would be read as seconds (text_timestamp_ms). */
static int64_t timestamp(int64_t taken_ms)
{
	return taken_ms < INT64_C(100000000000) ? taken_ms / 1000 : taken_ms;
}

/* Whether quiho_application() puts the two parts together again, and neither is read as a stressor. */
static bool splits(const char *name, const char *slash)
{
	size_t n = (size_t)(slash - name);
	bool same = strlen(slash + 1) == n && strncmp(name, slash + 1, n) == 0;
	bool stressor = n == strlen(QUIHO_STRESSNG) && strncmp(name, QUIHO_STRESSNG, n) == 0;

	return n && slash[1] && !same && !stressor;
}

static void add_row(struct buf *out, sqlite3_stmt *stmt, bool versions, const struct export_metrics *metrics)
{
	char value[TEXT_DOUBLE_BYTES];
	char *benchmark = mem_string(store_text(stmt, NAME));
	char *slash = strchr(benchmark, '/');
	const char *direction = "";
	const char *test = benchmark; /* an application without a slash is its own test */

	if (sqlite3_column_type(stmt, STRESSOR) != SQLITE_NULL)
		test = store_text(stmt, STRESSOR);
	else
		direction = export_metrics_higher(metrics, benchmark) ? "higher" : "lower";
	if (sqlite3_column_type(stmt, STRESSOR) == SQLITE_NULL && slash && splits(benchmark, slash)) {
		*slash = '\0';
		test = slash + 1;
	}
	csv_add(out, store_text(stmt, URL), true);
	csv_add(out, store_text(stmt, REVISION), false);
	csv_add(out, store_text(stmt, USER), false);
	add_number(out, timestamp(sqlite3_column_int64(stmt, TAKEN)));
	csv_add(out, benchmark, false);
	csv_add(out, store_text(stmt, MACHINE), false);
	add_number(out, sqlite3_column_int64(stmt, REPETITION));
	csv_add(out, test, false);
	csv_add(out, text_from_double(store_double(stmt, VALUE), value), false);
	if (versions)
		csv_add(out, store_text(stmt, VERSION), false);
	if (metrics->directions)
		csv_add(out, direction, false);
	buf_char(out, '\n');
	free(benchmark);
}

static enum assay_status count(struct store *store, const char *sql, size_t *out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	bool row = false;
	enum assay_status st = store_prepare(store, sql, &stmt, err);

	if (!st)
		st = store_step(store, stmt, &row, err);
	if (!st && row)
		*out = (size_t)sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return st;
}

/* Results that are exported and are not of the latest build of their version. */
static enum assay_status count_builds(struct store *store, const struct export_metrics *metrics, size_t *out, struct assay_error *err)
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

static enum assay_status write_rows(struct store *store, bool versions, const struct export_metrics *metrics, struct buf *out, size_t *other_metric,
				    struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	bool row = true;
	enum assay_status st = store_prepare(store, rows_sql, &stmt, err);

	buf_format(out, "giturl,commit,user,timestamp,benchmark,machine,repetition,test,result%s%s\n", versions ? ",version" : "",
		   metrics->directions ? ",direction" : "");
	while (!st) {
		st = store_step(store, stmt, &row, err);
		if (st || !row)
			break;
		if (sqlite3_column_int(stmt, KIND) == 1 && !export_metrics_same(metrics, store_text(stmt, NAME), store_text(stmt, PLAN)))
			++*other_metric;
		else
			add_row(out, stmt, versions, metrics);
	}
	sqlite3_finalize(stmt);
	return st;
}

enum assay_status quiho_export(struct store *store, struct buf *out, struct quiho_export_result *result, struct assay_error *err)
{
	struct export_metrics metrics;
	bool versions = false;
	enum assay_status st = export_metrics_load(store, &metrics, err);

	*result = (struct quiho_export_result){ 0 };
	if (!st)
		st = has_versions(store, &versions, err);
	if (!st)
		st = write_rows(store, versions, &metrics, out, &result->other_metric, err);
	if (!st)
		st = count(store, "SELECT count(*) FROM fingerprint WHERE battery <> '" QUIHO_BATTERY "'", &result->fingerprints, err);
	if (!st)
		st = count(store, "SELECT count(*) FROM execution WHERE outcome <> 'ok' AND plan IN (SELECT id FROM plan WHERE probe IS NULL)",
			   &result->failed, err);
	if (!st)
		st = count_builds(store, &metrics, &result->other_builds, err);
	export_metrics_release(&metrics);
	return st;
}
