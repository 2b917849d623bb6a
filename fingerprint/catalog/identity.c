#include "fingerprint/catalog/identity.h"

#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/catalog/catalog.h"

#include <errno.h>
#include <inttypes.h>
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

char *identity_merge_command(const char *other, const char *id)
{
	return text_shell_line((const char *const[]){ "assay", "catalog", "rename", other, id, "--merge", NULL });
}

static enum assay_status refuse_swap(const char *id, const char *what, const char *before, const char *now, struct assay_error *err)
{
	char *command = text_shell_line((const char *const[]){ "assay", "catalog", "rename", id, "NEW", NULL });

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
	char *command = identity_merge_command(other, id);

	assay_fail(
	    err, ASSAY_E_CONFLICT,
	    "'%s' has the same %s '%s' as '%s' in the catalog: a clone, or one machine under two names, which this makes one for good: %s",
	    id, what, value, other, command);
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

/* Can they be one machine? ASSAY_E_CONFLICT when some evidence says that they are not. */
static enum assay_status identity_contradict(const struct machine *a, const struct machine *b, struct assay_error *err)
{
#define CHECK(member, what, unique)                                                                                                        \
	if (texts_differ(a->identity.member, b->identity.member))                                                                          \
		return assay_fail(err, ASSAY_E_CONFLICT, "'%s' and '%s' are two machines: the %s is '%s' and '%s'", a->id, b->id, what,    \
				  a->identity.member, b->identity.member);
	EVIDENCE_ROWS(CHECK)
#undef CHECK
	return ASSAY_OK;
}

static enum assay_status refuse_difference(const struct machine *a, const struct machine *b, const char *what, const char *x, const char *y,
					   struct assay_error *err)
{
	return assay_fail(err, ASSAY_E_CONFLICT,
			  "'%s' and '%s' look like two machines: the %s is '%s' and '%s'; what is merged cannot be parted again: --force, "
			  "if they are one all the same",
			  a->id, b->id, what, x, y);
}

/* Do they look like two, by their latest fingerprints: one emulated and the other not, or with another profile, of another architecture, of
 * another given type, or with other processors? Parts can be replaced, so this is not a proof. */
static enum assay_status identity_differ(const struct machine *a, const struct machine *b, struct assay_error *err)
{
	const struct machine_identity *x = &a->identity, *y = &b->identity;
	const struct machine_fingerprint *f, *g;

	if ((x->sockets && y->sockets && x->sockets != y->sockets) ||
	    (x->cores_per_socket && y->cores_per_socket && x->cores_per_socket != y->cores_per_socket))
		return assay_fail(err, ASSAY_E_CONFLICT,
				  "'%s' and '%s' look like two machines: they have %" PRId64 " x %" PRId64 " and %" PRId64 " x %" PRId64
				  " cores; what is merged cannot be parted again: --force, if they are one all the same",
				  a->id, b->id, x->sockets, x->cores_per_socket, y->sockets, y->cores_per_socket);
	if (!a->n_fingerprints || !b->n_fingerprints)
		return ASSAY_OK;
	f = &a->fingerprints[a->n_fingerprints - 1];
	g = &b->fingerprints[b->n_fingerprints - 1];
	if (strcmp(f->profile ? f->profile : "", g->profile ? g->profile : "") != 0)
		return refuse_difference(a, b, "profile", f->profile ? f->profile : "none, as it is not emulated",
					 g->profile ? g->profile : "none, as it is not emulated", err);
	if (strcmp(f->architecture, g->architecture) != 0)
		return refuse_difference(a, b, "architecture", f->architecture, g->architecture, err);
	if (texts_differ(f->type, g->type))
		return refuse_difference(a, b, "hardware type", f->type, g->type, err);
	return ASSAY_OK;
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

/* Finds out what has to be done, and whether it may be. Changes nothing. */
static enum assay_status rename_check(struct store *store, const struct catalog *catalog, const char *from, const char *to,
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

enum assay_status rename_machine(struct store *store, struct catalog *catalog, const char *from, const char *to, enum rename_merge merge,
				 struct rename_result *out, struct assay_error *err)
{
	enum assay_status st = rename_check(store, catalog, from, to, merge, out, err);

	if (!st)
		st = rename_store(store, from, to, out, err);
	return st ? st : rename_files(catalog, from, to, err);
}
