#include "fingerprint/catalog/identity.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "fingerprint/catalog/catalog.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

/* Evidence that tells one machine from another of the same model, what it is called, whether two machines must differ in it. */
#define EVIDENCE_ROWS(X)                                                                                                                   \
	X(machine_id, "machine-id", true)                                                                                                  \
	X(board_serial, "board serial number", true)                                                                                       \
	X(board_uuid, "board UUID", true)                                                                                                  \
	X(cpu_model, "CPU model", false)

static bool texts_differ(const char *a, const char *b)
{
	return a && b && *a && *b && strcmp(a, b) != 0;
}

static bool texts_equal(const char *a, const char *b)
{
	return a && b && *a && strcmp(a, b) == 0;
}

char *identity_rename_command(const char *from, const char *to)
{
	return text_shell_line((const char *const[]){ "assay", "catalog", "rename", from, to, NULL });
}

static enum assay_status refuse_swap(const char *id, const char *what, const char *before, const char *now, struct assay_error *err)
{
	char *command = identity_rename_command(id, "NEW");

	assay_fail(err, ASSAY_E_CONFLICT,
		   "this is not the machine that the catalog knows as '%s': its %s was '%s' and is '%s'; give it another id, or the old "
		   "one another name (%s, then assay catalog retire NEW)%s",
		   id, what, before, now, command,
		   strcmp(what, "machine-id") == 0
		       ? "; if its system was installed again on the same hardware: assay fleet trust --reinstalled -w and its host"
		       : "");
	free(command);
	return err->status;
}

static enum assay_status refuse_clone(const char *id, const char *what, const char *value, const char *other, struct assay_error *err)
{
	char *command = identity_rename_command(other, id);

	assay_fail(
	    err, ASSAY_E_CONFLICT,
	    "'%s' has the same %s '%s' as '%s' in the catalog: a clone, or one machine under two names: this gives it the new one: %s", id,
	    what, value, other, command);
	free(command);
	return err->status;
}

enum assay_status identity_check(const struct catalog *catalog, const char *id, const struct facts *facts, struct assay_error *err)
{
	for (size_t i = 0; i < catalog->n; i++) {
		const struct machine *m = &catalog->machines[i];
		bool itself = strcmp(m->id, id) == 0;

#define CHECK(member, what, unique)                                                                                                        \
	if (itself && texts_differ(m->identity.member, facts->member))                                                                     \
		return refuse_swap(id, what, m->identity.member, facts->member, err);                                                      \
	if (!itself && unique && m->n_fingerprints && texts_equal(m->identity.member, facts->member))                                      \
		return refuse_clone(id, what, facts->member, m->id, err);
		EVIDENCE_ROWS(CHECK)
#undef CHECK
	}
	return ASSAY_OK;
}

static void add_evidence(struct buf *evidence, const char *what, const char *before, const char *now)
{
	buf_text(evidence, evidence->size ? "; " : "");
	if (texts_equal(before, now))
		buf_format(evidence, "%s '%s' as before", what, now);
	else if (texts_differ(before, now))
		buf_format(evidence, "%s was '%s', is '%s'", what, before, now);
	else
		buf_format(evidence, "%s not known", what);
}

enum assay_status identity_reinstall(struct catalog *catalog, const char *id, const struct facts *facts, struct buf *evidence,
				     struct assay_error *err)
{
	struct machine *m = catalog_find(catalog, id) ? catalog_machine(catalog, id) : NULL;
	enum assay_status st;
	char *before;

	if (!m) {
		buf_text(evidence, "the catalog has no machine of this name");
		return ASSAY_OK;
	}
#define ADD(member, what, unique) add_evidence(evidence, what, m->identity.member, facts->member);
	EVIDENCE_ROWS(ADD)
#undef ADD
	if (!texts_equal(m->identity.board_serial, facts->board_serial) && !texts_equal(m->identity.board_uuid, facts->board_uuid))
		buf_text(evidence, "; no number of the board says that it is the same, you do");
	before = m->identity.machine_id;
	m->identity.machine_id = NULL;
	st = identity_check(catalog, id, facts, err);
	m->identity.machine_id = before;
	if (!st)
		identity_take(&m->identity, facts);
	return st;
}

static void keep_text(char **out, const char *text)
{
	if (!text || !*text)
		return;
	free(*out);
	*out = mem_string(text);
}

static void keep_number(int64_t *out, double value)
{
	if (isfinite(value) && value > 0)
		*out = (int64_t)value;
}

void identity_take(struct machine_identity *identity, const struct facts *facts)
{
	keep_text(&identity->machine_id, facts->machine_id);
	keep_text(&identity->board_name, facts->board_name);
	keep_text(&identity->board_serial, facts->board_serial);
	keep_text(&identity->board_uuid, facts->board_uuid);
	keep_text(&identity->cpu_vendor, facts->cpu_vendor);
	keep_text(&identity->cpu_model, facts->cpu_model);
	keep_number(&identity->sockets, facts->sockets);
	keep_number(&identity->cores_per_socket, facts->cores_per_socket);
	keep_number(&identity->threads_per_core, facts->threads_per_core);
	keep_number(&identity->memory_bytes, facts->memory_bytes);
}

/* ---- another name for a machine ---- */

/* The number that a statement with up to two texts gives. */
static enum assay_status count_rows(struct store *store, const char *sql, const char *a, const char *b, int64_t *out,
				    struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_ask(store, &stmt, err, sql, b ? "tt" : "t", a, b);

	*out = store_next(store, stmt, &st, err) ? sqlite3_column_int64(stmt, 0) : 0;
	return store_finish(stmt, st);
}

static enum assay_status rows_of(struct store *store, const char *machine, int64_t *out, struct assay_error *err)
{
	return count_rows(store,
			  "SELECT (SELECT count(*) FROM fingerprint WHERE machine = ?1) + (SELECT count(*) FROM run WHERE machine = ?1) + "
			  "(SELECT count(*) FROM failure WHERE machine = ?1)",
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
	enum assay_status st = count_rows(store,
					  "SELECT (SELECT count(*) FROM run AS a JOIN run AS b USING (application, version, taken_ms, "
					  "repetition, ordinal) WHERE a.machine = ?1 AND b.machine = ?2) + (SELECT count(*) FROM failure "
					  "AS a JOIN failure AS b USING (application, version, taken_ms, repetition) WHERE a.machine = ?1 "
					  "AND b.machine = ?2)",
					  from, to, &rows, err);

	if (!st && !rows)
		st = count_rows(store,
				"SELECT count(*) FROM plan_item AS a JOIN plan_item AS b USING (plan, kind) WHERE kind = 'machine' AND "
				"a.name = ? AND b.name = ?",
				from, to, &rows, err);
	if (!st && rows)
		st = assay_fail(
		    err, ASSAY_E_CONFLICT,
		    "'%s' and '%s' have results of the same application, version and time: they were two machines, and cannot be made one",
		    from, to);
	return st;
}

/* Finds out what has to be done, and whether it may be. Changes nothing. */
static enum assay_status rename_check(struct store *store, const struct catalog *catalog, const char *from, const char *to,
				      struct rename_result *out, struct assay_error *err)
{
	const struct machine *old = catalog_find(catalog, from);
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
	if (!st && !result.completed && catalog_find(catalog, to))
		st = assay_fail(err, ASSAY_E_CONFLICT, "there is a machine '%s' already: 'assay catalog retire' sets one of the two aside",
				to);
	if (!st && !result.completed && to_rows)
		st = check_results(store, from, to, err);
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

static enum assay_status rename_store(struct store *store, const char *from, const char *to, struct rename_result *out,
				      struct assay_error *err)
{
	enum assay_status st = store_begin(store, err);

	if (!st)
		st = update_machine(store, "UPDATE fingerprint SET machine = ? WHERE machine = ?", from, to, &out->fingerprints, err);
	if (!st)
		st = update_machine(store, "UPDATE run SET machine = ? WHERE machine = ?", from, to, &out->runs, err);
	if (!st)
		st = update_machine(store, "UPDATE failure SET machine = ? WHERE machine = ?", from, to, NULL, err);
	if (!st)
		st = update_machine(store, "UPDATE execution SET machine = ? WHERE machine = ?", from, to, NULL, err);
	if (!st)
		st = update_machine(store, "UPDATE plan_stack SET machine = ? WHERE machine = ?", from, to, NULL, err);
	if (!st)
		st = update_machine(store, "UPDATE plan_item SET name = ? WHERE kind = 'machine' AND name = ?", from, to, NULL, err);
	return store_end(store, st, err);
}

static enum assay_status remove_file(const struct catalog *catalog, const char *id, struct assay_error *err)
{
	char *file = machine_file_name(id);
	char *path = mem_format("%s/%s", catalog->directory, file);
	enum assay_status st = ASSAY_OK;

	if (unlink(path) < 0 && errno != ENOENT)
		st = assay_fail_errno(err, errno, "cannot remove '%s'", path);
	mem_free(path, file);
	return st;
}

ORDER_BY(compare_taken, struct machine_fingerprint, BY_UP(taken_ms) BY_TEXT(id))

/* Moves the fingerprints that `machine` lacks, where a renaming was interrupted and the new name measured since. */
static void take_fingerprints(struct machine *machine, struct machine *from)
{
	for (size_t i = 0; i < from->n_fingerprints; i++) {
		if (machine_find(machine, from->fingerprints[i].id))
			continue;
		machine->fingerprints = mem_resize(machine->fingerprints, machine->n_fingerprints + 1, sizeof(*machine->fingerprints));
		machine->fingerprints[machine->n_fingerprints++] = from->fingerprints[i];
		from->fingerprints[i] = (struct machine_fingerprint){ 0 };
	}
	order_sort(machine->fingerprints, machine->n_fingerprints, compare_taken);
	free(machine->id);
	machine->id = mem_string(from->id);
	machine_release(from);
}

/* In memory and in the files. */
static enum assay_status rename_files(struct catalog *catalog, const char *from, const char *to, struct assay_error *err)
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
	into = catalog_machine(catalog, to);
	take_fingerprints(&moved, into);
	*into = moved;
	st = catalog_save(catalog, &written, err);
	return st ? st : remove_file(catalog, from, err);
}

enum assay_status rename_machine(struct store *store, struct catalog *catalog, const char *from, const char *to, struct rename_result *out,
				 struct assay_error *err)
{
	enum assay_status st = rename_check(store, catalog, from, to, out, err);

	if (!st)
		st = rename_store(store, from, to, out, err);
	return st ? st : rename_files(catalog, from, to, err);
}
