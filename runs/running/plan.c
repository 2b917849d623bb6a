#include "runs/running/plan.h"

#include "base/buf.h"
#include "base/mem.h"

#include <inttypes.h>
#include <time.h>

/* The lists of a plan, as rows of plan_item. */
struct list {
	const char *kind;
	char ***names;
	size_t *n;
	char ***artefacts; /* NULL: has none */
};

#define LISTS 3
#define RECENT_MS (INT64_C(2) * 24 * 3600 * 1000)

static void lists_of(struct plan *plan, struct list lists[LISTS])
{
	lists[0] = (struct list){ "version", &plan->versions, &plan->n_versions, &plan->artefacts };
	lists[1] = (struct list){ "input", &plan->inputs, &plan->n_inputs, NULL };
	lists[2] = (struct list){ "machine", &plan->machines, &plan->n_machines, NULL };
}

/* ---- a new one ---- */

/* Now; behind all that the application has, even if a clock was wrong at that time: the latest plan says what counts (run.h). */
static enum assay_status find_start(struct store *store, struct plan *plan, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	struct timespec now;
	bool row = false;
	enum assay_status st = store_prepare(store,
					     "SELECT max(p.started_ms, coalesce((SELECT max(e.taken_ms) FROM execution AS e WHERE e.plan = p.id), 0)) "
					     "AS last FROM plan AS p WHERE p.application = ? ORDER BY last DESC LIMIT 1",
					     &stmt, err);

	if (!st) {
		store_bind(stmt, "t", plan->application);
		st = store_step(store, stmt, &row, err);
	}
	clock_gettime(CLOCK_REALTIME, &now);
	plan->started_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
	if (!st && row && sqlite3_column_int64(stmt, 0) >= plan->started_ms)
		plan->started_ms = sqlite3_column_int64(stmt, 0) + 1;
	sqlite3_finalize(stmt);
	return st;
}

/* Two plans of one millisecond, in two laboratories, must not have one id: it names a directory on hosts. */
static void identify(struct plan *plan)
{
	struct buf text = BUF_INIT;
	struct list lists[LISTS];
	char hex[DIGEST_HEX_BYTES];
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	buf_format(&text, "%s\n%s\n%" PRId64 "\n%" PRId64 "\n%" PRIu64 "\n%" PRId64 ".%09ld\n", plan->application, plan->manifest_hash,
		   plan->repetitions, plan->warm_ups, plan->seed, (int64_t)now.tv_sec, now.tv_nsec);
	lists_of(plan, lists);
	for (int k = 0; k < LISTS; k++) {
		for (size_t i = 0; i < *lists[k].n; i++)
			buf_format(&text, "%s\n%s\n%s\n", lists[k].kind, (*lists[k].names)[i], lists[k].artefacts ? (*lists[k].artefacts)[i] : "");
	}
	if (plan->probe)
		buf_text(&text, plan->probe);
	digest_sha256(text.bytes, text.size, hex);
	memcpy(plan->id, hex, DIGEST_ID_BYTES - 1);
	plan->id[DIGEST_ID_BYTES - 1] = '\0';
	buf_release(&text);
}

static enum assay_status insert_plan(struct store *store, const struct manifest *manifest, const struct plan *plan, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	bool row;
	enum assay_status st = store_prepare(store,
					     "INSERT INTO plan (id, application, manifest, manifest_hash, repetitions, warm_ups, seed, started_ms, "
					     "probe) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
					     &stmt, err);

	if (!st) {
		store_bind(stmt, "ttttiiiit", plan->id, plan->application, manifest->text, plan->manifest_hash, plan->repetitions, plan->warm_ups,
			   (int64_t)plan->seed, plan->started_ms, plan->probe);
		st = store_step(store, stmt, &row, err);
	}
	sqlite3_finalize(stmt);
	return st;
}

static enum assay_status insert_list(struct store *store, const struct plan *plan, const struct list *list, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	bool row;
	enum assay_status st = store_prepare(store, "INSERT INTO plan_item (plan, kind, ordinal, name, artefact) VALUES (?, ?, ?, ?, ?)", &stmt,
					     err);

	for (size_t i = 0; !st && i < *list->n; i++) {
		store_bind(stmt, "ttitt", plan->id, list->kind, (int64_t)i, (*list->names)[i], list->artefacts ? (*list->artefacts)[i] : NULL);
		st = store_step(store, stmt, &row, err);
	}
	sqlite3_finalize(stmt);
	return st;
}

enum assay_status plan_new(struct store *store, const struct manifest *manifest, struct plan *plan, struct assay_error *err)
{
	struct list lists[LISTS];
	enum assay_status st;

	ASSAY_BUG_IF(!plan->n_versions || !plan->n_inputs || !plan->n_machines || plan->repetitions < 1 || plan->warm_ups < 0);
	memcpy(plan->manifest_hash, manifest->hash, sizeof(plan->manifest_hash));
	plan->complete = false;
	st = store_begin(store, err);
	if (!st)
		st = find_start(store, plan, err);
	identify(plan);
	lists_of(plan, lists);
	if (!st)
		st = insert_plan(store, manifest, plan, err);
	for (int k = 0; !st && k < LISTS; k++)
		st = insert_list(store, plan, &lists[k], err);
	if (!st)
		st = store_commit(store, err);
	store_rollback(store);
	return st;
}

/* ---- one that is there ---- */

static void add_item(struct list *list, size_t *capacity, sqlite3_stmt *stmt)
{
	size_t had = *capacity;

	*list->names = mem_grow(*list->names, *list->n, capacity, sizeof(char *));
	if (list->artefacts && *capacity != had)
		*list->artefacts = mem_resize(*list->artefacts, *capacity, sizeof(char *));
	if (list->artefacts)
		(*list->artefacts)[*list->n] = mem_string(store_text(stmt, 1));
	(*list->names)[(*list->n)++] = mem_string(store_text(stmt, 0));
}

static enum assay_status load_list(struct store *store, const struct plan *plan, struct list *list, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	bool row = true;
	enum assay_status st = store_prepare(store, "SELECT name, artefact FROM plan_item WHERE plan = ? AND kind = ? ORDER BY ordinal", &stmt, err);

	if (!st)
		store_bind(stmt, "tt", plan->id, list->kind);
	while (!st) {
		st = store_step(store, stmt, &row, err);
		if (st || !row)
			break;
		add_item(list, &capacity, stmt);
	}
	sqlite3_finalize(stmt);
	if (!st && *list->n == 0)
		st = assay_fail(err, ASSAY_E_CORRUPT, "'%s' has a plan without a %s", store->path, list->kind);
	return st;
}

static void load_row(sqlite3_stmt *stmt, const char *application, struct plan *plan)
{
	plan->application = mem_string(application);
	snprintf(plan->id, sizeof(plan->id), "%s", store_text(stmt, 0));
	snprintf(plan->manifest_hash, sizeof(plan->manifest_hash), "%s", store_text(stmt, 1));
	plan->repetitions = sqlite3_column_int64(stmt, 2);
	plan->warm_ups = sqlite3_column_int64(stmt, 3);
	plan->seed = (uint64_t)sqlite3_column_int64(stmt, 4);
	plan->started_ms = sqlite3_column_int64(stmt, 5);
	plan->probe = sqlite3_column_type(stmt, 6) == SQLITE_NULL ? NULL : mem_string(store_text(stmt, 6));
}

enum assay_status plan_latest_incomplete(struct store *store, const char *application, bool probe, struct plan *out, struct assay_error *err)
{
	struct plan plan = { .complete = false };
	struct list lists[LISTS];
	sqlite3_stmt *stmt = NULL;
	bool row = false;
	enum assay_status st = store_prepare(store,
					     "SELECT id, manifest_hash, repetitions, warm_ups, seed, started_ms, probe FROM plan WHERE application = ? "
					     "AND (probe IS NOT NULL) = ? AND complete = 0 ORDER BY started_ms DESC, id LIMIT 1",
					     &stmt, err);

	if (!st) {
		store_bind(stmt, "ti", application, (int64_t)probe);
		st = store_step(store, stmt, &row, err);
	}
	if (!st && row)
		load_row(stmt, application, &plan);
	else if (!st)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "no %srun of '%s' was interrupted: there is nothing to resume", probe ? "instrumented " : "", application);
	sqlite3_finalize(stmt);
	lists_of(&plan, lists);
	for (int k = 0; !st && k < LISTS; k++)
		st = load_list(store, &plan, &lists[k], err);
	*out = plan;
	if (st)
		plan_release(out);
	return st;
}

enum assay_status plan_complete(struct store *store, const struct plan *plan, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	bool row;
	enum assay_status st = store_prepare(store, "UPDATE plan SET complete = 1 WHERE id = ?", &stmt, err);

	if (!st) {
		store_bind(stmt, "t", plan->id);
		st = store_step(store, stmt, &row, err);
	}
	sqlite3_finalize(stmt);
	return st;
}

enum assay_status plan_recent(struct store *store, char ***out, size_t *n, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	char **ids = NULL;
	size_t capacity = 0;
	bool row = true;
	enum assay_status st = store_prepare(
	    store, "SELECT id FROM plan WHERE complete = 0 OR started_ms > ? ORDER BY started_ms DESC, id LIMIT ?", &stmt, err);

	*n = 0;
	if (!st)
		store_bind(stmt, "ii", (int64_t)time(NULL) * 1000 - RECENT_MS, (int64_t)PLAN_RECENT_MAX);
	while (!st) {
		st = store_step(store, stmt, &row, err);
		if (st || !row)
			break;
		ids = mem_grow(ids, *n, &capacity, sizeof(*ids));
		ids[(*n)++] = mem_string(store_text(stmt, 0));
	}
	sqlite3_finalize(stmt);
	*out = ids;
	return st;
}

void plan_release(struct plan *plan)
{
	struct list lists[LISTS];

	lists_of(plan, lists);
	for (int k = 0; k < LISTS; k++) {
		for (size_t i = 0; i < *lists[k].n; i++) {
			free((*lists[k].names)[i]);
			if (lists[k].artefacts)
				free((*lists[k].artefacts)[i]);
		}
		free(*lists[k].names);
	}
	free(plan->artefacts);
	free(plan->application);
	free(plan->probe);
	*plan = (struct plan){ .application = NULL };
}
