#include "fingerprint/catalog/rename.h"

#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/catalog/catalog.h"
#include "fingerprint/catalog/identity.h"

#include <errno.h>
#include <unistd.h>

/* The number that a statement with up to two texts gives. */
static enum assay_status count_rows(struct store *store, const char *sql, const char *a, const char *b, int64_t *out,
				    struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_ask(store, &stmt, err, sql, b ? "tt" : "t", a, b);

	*out = store_next(store, stmt, &st, err) ? sqlite3_column_int64(stmt, 0) : 0;
	sqlite3_finalize(stmt);
	return st;
}

static enum assay_status rows_of(struct store *store, const char *machine, int64_t *out, struct assay_error *err)
{
	return count_rows(store,
			  "SELECT (SELECT count(*) FROM fingerprint WHERE machine = ?1) + (SELECT count(*) FROM run WHERE machine = ?1)",
			  machine, NULL, out, err);
}

/* The store has done its part already: all fingerprints of the file belong to the new name there. */
static enum assay_status is_interrupted(struct store *store, const struct machine *from, const char *to, bool *out, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;
	int64_t rows = 0;

	*out = false;
	if (!from || !from->n_fingerprints)
		return ASSAY_OK;
	st = rows_of(store, from->id, &rows, err);
	*out = rows == 0;
	for (size_t i = 0; !st && *out && i < from->n_fingerprints; i++) {
		st = count_rows(store, "SELECT count(*) FROM fingerprint WHERE id = ? AND machine = ?", from->fingerprints[i].id, to, &rows,
				err);
		*out = rows == 1;
	}
	return st;
}

static enum assay_status check_results(struct store *store, const char *from, const char *to, struct assay_error *err)
{
	int64_t rows = 0;
	enum assay_status st =
	    count_rows(store,
		       "SELECT count(*) FROM run AS a JOIN run AS b USING (application, version, taken_ms, repetition, ordinal) "
		       "WHERE a.machine = ? AND b.machine = ?",
		       from, to, &rows, err);

	if (!st && !rows)
		st = count_rows(
		    store,
		    "SELECT count(*) FROM plan_item AS a JOIN plan_item AS b USING (plan, kind) WHERE kind = 'machine' AND a.name = ? "
		    "AND b.name = ?",
		    from, to, &rows, err);
	if (!st && rows)
		st = assay_fail(err, ASSAY_E_CONFLICT,
				"'%s' and '%s' have results of the same application, version and time: they were two "
				"machines, and cannot be made one",
				from, to);
	return st;
}

static enum assay_status check_merge(struct store *store, const struct machine *from, const struct machine *into, const char *from_id,
				     const char *to, enum rename_merge merge, struct assay_error *err)
{
	if (merge == RENAME_NO_MERGE)
		return assay_fail(err, ASSAY_E_CONFLICT,
				  "there is a machine '%s' already: if it and '%s' are one machine, --merge makes them one, for good", to,
				  from_id);
	if (from && into && (identity_contradict(from, into, err) || (merge != RENAME_FORCE && identity_differ(from, into, err))))
		return err->status;
	return check_results(store, from_id, to, err);
}

enum assay_status rename_check(struct store *store, const struct catalog *catalog, const char *from, const char *to,
			       enum rename_merge merge, struct rename_result *out, struct assay_error *err)
{
	const struct machine *old = catalog_find(catalog, from), *into = catalog_find(catalog, to);
	struct rename_result result = { 0 };
	int64_t from_rows = 0, to_rows = 0;
	struct machine *unused;
	enum assay_status st = machine_check_id(to, err);

	if (!st && strcmp(from, to) == 0)
		st = assay_fail(err, ASSAY_E_USAGE, "'%s' is its name already", to);
	if (!st)
		st = rows_of(store, from, &from_rows, err);
	if (!st)
		st = rows_of(store, to, &to_rows, err);
	if (!st && !old && !from_rows)
		st = choose_machine(catalog, from, &unused, err);
	if (!st)
		st = is_interrupted(store, old, to, &result.completed, err);
	if (!st && !result.completed && (into || to_rows)) {
		result.merged = true;
		st = check_merge(store, old, into, from, to, merge, err);
	}
	*out = result;
	return st;
}

/* A statement that gives the machine `from` the name `to`; *changed may be NULL. */
static enum assay_status update_machine(struct store *store, const char *sql, const char *from, const char *to, int64_t *changed,
					struct assay_error *err)
{
	enum assay_status st = store_do(store, err, sql, "tt", to, from);

	if (changed)
		*changed = sqlite3_changes(store->db);
	return st;
}

enum assay_status rename_store(struct store *store, const char *from, const char *to, struct rename_result *out, struct assay_error *err)
{
	enum assay_status st = store_begin(store, err);

	if (!st)
		st = update_machine(store, "UPDATE fingerprint SET machine = ? WHERE machine = ?", from, to, &out->fingerprints, err);
	if (!st)
		st = update_machine(store, "UPDATE run SET machine = ? WHERE machine = ?", from, to, &out->runs, err);
	if (!st)
		st = update_machine(store, "UPDATE execution SET machine = ? WHERE machine = ?", from, to, NULL, err);
	if (!st)
		st = update_machine(store, "UPDATE plan_stack SET machine = ? WHERE machine = ?", from, to, NULL, err);
	if (!st)
		st = update_machine(store, "UPDATE plan_item SET name = ? WHERE kind = 'machine' AND name = ?", from, to, NULL, err);
	if (!st)
		st = store_commit(store, err);
	store_rollback(store);
	return st;
}

static enum assay_status remove_file(const struct catalog *catalog, const char *id, struct assay_error *err)
{
	char *file = machine_file_name(id);
	char *path = mem_format("%s/%s", catalog->directory, file);
	enum assay_status st = ASSAY_OK;

	if (unlink(path) < 0 && errno != ENOENT)
		st = assay_fail_errno(err, errno, "cannot remove '%s'", path);
	free(path);
	free(file);
	return st;
}

enum assay_status rename_files(struct catalog *catalog, const char *from, const char *to, struct assay_error *err)
{
	const struct machine *old = catalog_find(catalog, from);
	struct machine moved, *into;
	size_t index, written = 0;
	enum assay_status st;

	if (!old)
		return ASSAY_OK;
	index = (size_t)(old - catalog->machines);
	moved = *old;
	memmove(&catalog->machines[index], &catalog->machines[index + 1], (catalog->n - index - 1) * sizeof(struct machine));
	catalog->n--;
	if (catalog_find(catalog, to)) {
		into = catalog_machine(catalog, to);
		machine_merge(into, &moved);
	} else {
		into = catalog_machine(catalog, to);
		free(moved.id);
		moved.id = into->id;
		*into = moved;
	}
	st = catalog_save(catalog, &written, err);
	return st ? st : remove_file(catalog, from, err);
}
