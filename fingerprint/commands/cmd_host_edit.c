/* Commands 'assay host rename', 'accept' and 'retire', which change a machine of the catalog. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "fingerprint/catalog/catalog.h"
#include "fingerprint/commands/fingerprint_commands.h"
#include "fingerprint/compare/compare.h"
#include "fleet/lab/lab.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* Returns the name in lab.yaml of the host with this id; NULL if there is none. */
static const char *host_name(const struct lab *lab, const char *id)
{
	const struct host *host = inventory_find(&lab->config.inventory, id);

	return host ? host->name : NULL;
}

static enum assay_status parse_reason(const char *text, void *to, struct assay_error *err)
{
	*(const char **)to = text;
	return machine_check_reason(text, err);
}

/* Loads the catalog, lets `edit` change one machine in it, and saves the catalog. */
static enum assay_status edit_catalog_machine(struct lab *lab, const char *id, void *arguments, struct document *d,
					      enum assay_status (*edit)(struct machine *, void *, struct document *, struct assay_error *),
					      struct assay_error *err)
{
	struct catalog catalog = { 0 };
	struct machine *machine = NULL;
	size_t written = 0;
	enum assay_status st = catalog_load(lab->machines, NULL, &catalog, err);

	if (!st)
		st = choose_machine(&catalog, id, &machine, err);
	if (!st)
		st = edit(machine, arguments, d, err);
	if (!st)
		st = catalog_save(&catalog, &written, err);
	catalog_release(&catalog);
	return st;
}

/* ---- rename ---- Changes the store in one transaction, then the files. If assay is killed in between, `check` reports this, and the same
 * command completes the renaming. */

struct rename_result {
	int64_t fingerprints, runs; /* numbers of rows in the store with the new name, including incomplete fingerprints */
	bool completed;		    /* this command completed an interrupted renaming */
};

/* Reads the number that a query returns. The query has one or two text parameters: a, and b unless it is NULL. */
static enum assay_status count_rows(struct store *store, const char *sql, const char *a, const char *b, int64_t *out,
				    struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(store, &stmt, err, sql, b ? "tt" : "t", a, b);

	*out = store_next(store, stmt, &st, err) ? sqlite3_column_int64(stmt, 0) : 0;
	return store_finalize(stmt, st);
}

static enum assay_status rows_of(struct store *store, const char *machine, int64_t *out, struct assay_error *err)
{
	return count_rows(store,
			  "SELECT (SELECT count(*) FROM fingerprint WHERE machine = ?1) + (SELECT count(*) FROM run WHERE machine = ?1) + "
			  "(SELECT count(*) FROM failure WHERE machine = ?1)",
			  machine, NULL, out, err);
}

/* Reports whether an earlier renaming changed only the store: all fingerprints in the file of `from` belong to `to` in the store. */
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
		       "SELECT (SELECT count(*) FROM run AS a JOIN run AS b USING (application, version, taken_ms, "
		       "repetition, ordinal) WHERE a.machine = ?1 AND b.machine = ?2) + (SELECT count(*) FROM failure "
		       "AS a JOIN failure AS b USING (application, version, taken_ms, repetition, ordinal) WHERE a.machine = ?1 "
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
		    "'%s' and '%s' have results of the same application, version and time: they are two machines and cannot be merged",
		    from, to);
	return st;
}

/* Checks whether the machine may be renamed, and whether the command completes an interrupted renaming. Changes nothing. */
static enum assay_status rename_check(struct store *store, const struct catalog *catalog, const char *from, const char *to,
				      struct rename_result *out, struct assay_error *err)
{
	const struct machine *old = catalog_find(catalog, from);
	struct rename_result result = { 0 };
	int64_t from_rows = 0, to_rows = 0;
	struct machine *unused;
	enum assay_status st = machine_check_id(to, err);

	if (!st && strcmp(from, to) == 0)
		st = assay_fail(err, ASSAY_E_USAGE, "'%s' is already its name", to);
	if (!st)
		st = rows_of(store, from, &from_rows, err);
	if (!st)
		st = rows_of(store, to, &to_rows, err);
	if (!st && !old && !from_rows)
		st = choose_machine(catalog, from, &unused, err);
	if (!st)
		st = is_interrupted(store, old, to, &result.completed, err);
	if (!st && !result.completed && catalog_find(catalog, to))
		st = assay_fail(err, ASSAY_E_CONFLICT, "the name '%s' is taken, and a retired machine keeps its name: choose another", to);
	if (!st && !result.completed && to_rows)
		st = check_results(store, from, to, err);
	*out = result;
	return st;
}

/* Runs a statement that replaces the machine's name `from` by `to`. *changed gets the number of rows; may be NULL. */
static enum assay_status update_machine(struct store *store, const char *sql, const char *from, const char *to, int64_t *changed,
					struct assay_error *err)
{
	enum assay_status st = store_execute(store, err, sql, "tt", to, from);

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
	if (!st) /* stored decisions never change, so readers need the new names */
		st = update_machine(store, "UPDATE renamed_machine SET new_name = ? WHERE new_name = ?", from, to, NULL, err);
	if (!st)
		st = store_execute(store, err, "INSERT INTO renamed_machine (old_name, renamed_ms, new_name) VALUES (?, ?, ?)", "tit", from,
				   clock_real_ms(), to);
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

ORDER_BY(compare_taken, struct machine_fingerprint, BY_ASC(taken_ms) BY_TEXT(id))

/* Moves the fingerprints and the id of `from` to `machine`. `from` has fingerprints if it was measured after an interrupted renaming. */
static void take_fingerprints(struct machine *machine, struct machine *from)
{
	for (size_t i = 0; i < from->n_fingerprints; i++) {
		if (machine_find_fingerprint(machine, from->fingerprints[i].id))
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

/* Renames the machine in the catalog and its files. */
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
	into = catalog_ensure_machine(catalog, to);
	take_fingerprints(&moved, into);
	*into = moved;
	st = catalog_save(catalog, &written, err);
	return st ? st : remove_file(catalog, from, err);
}

/* Renames a machine in the store and in the catalog. ASSAY_E_NOTFOUND: there is no machine `from`. ASSAY_E_CONFLICT: there is a machine
 * `to`, or both have results of the same application, version and time. After these errors, nothing has changed. */
static enum assay_status rename_machine(struct store *store, struct catalog *catalog, const char *from, const char *to,
					struct rename_result *out, struct assay_error *err)
{
	enum assay_status st = rename_check(store, catalog, from, to, out, err);

	if (!st)
		st = rename_store(store, from, to, out, err);
	return st ? st : rename_files(catalog, from, to, err);
}

struct rename_arguments {
	const char *from, *to;
};

static void add_renaming(const struct rename_arguments *a, const struct rename_result *result, struct document *d)
{
	if (result->completed)
		doc_line(d, "%s is called %s: the interrupted rename is complete", a->from, a->to);
	else
		doc_line(d, "%s is called %s: %" PRId64 " fingerprint%s and %" PRId64 " result%s followed", a->from, a->to,
			 result->fingerprints, text_plural((size_t)result->fingerprints), result->runs, text_plural((size_t)result->runs));
	doc_set(d, "old", a->from);
	doc_set(d, "new", a->to);
	doc_set_bool(d, "completed", result->completed);
	doc_set(d, "fingerprints", result->fingerprints);
	doc_set(d, "runs", result->runs);
}

static enum assay_status host_rename_run(struct lab *lab, void *input, struct document *d, struct assay_error *err)
{
	const struct rename_arguments *a = input;
	const char *host = host_name(lab, a->from);
	struct rename_result result = { 0 };
	struct catalog catalog = { 0 };
	enum assay_status st = catalog_load(lab->machines, NULL, &catalog, err);

	if (!st)
		st = rename_machine(&lab->store, &catalog, a->from, a->to, &result, err);
	catalog_release(&catalog);
	if (st)
		return st;
	if (host && strcmp(host, a->from) == 0)
		cli_note("lab.yaml still calls it '%s': give that host 'id: %s' there before it is measured again", a->from, a->to);
	else if (host)
		cli_note("lab.yaml still calls it '%s': change the id of the host '%s' there to '%s' before it is measured again", a->from,
			 host, a->to);
	add_renaming(a, &result, d);
	return ASSAY_OK;
}

static const struct cli_option rename_words[] = { CLI_ARGUMENT("OLD", struct rename_arguments, from),
						  CLI_ARGUMENT("NEW", struct rename_arguments, to), CLI_END };
const struct command host_rename_command = {
	.name = "host rename",
	.summary = "rename a machine",
	.about = "Renames a machine with its file, fingerprints and runs. The new name must not exist. Stored decisions keep the old name, "
		 "so 'assay verify' cannot recompute them until the machine has it again. After an interruption the same command completes "
		 "it; 'assay check' reports this case.",
	.examples = "  assay host rename node7 node07\n",
	.words = rename_words,
	CLI_RUN(struct rename_arguments, CLI_LAB_WRITE, host_rename_run),
};

/* ---- accept ---- */

struct accept_arguments {
	const char *machine, *reason;
};

/* Refuses a fingerprint that was taken while the machine did other work, because such rates do not describe the machine. */
static enum assay_status refuse_busy(const struct machine *machine, const struct machine_fingerprint *f, struct assay_error *err)
{
	char **busy = mem_new(machine->n_fingerprints, sizeof(*busy));
	enum assay_status st = ASSAY_OK;

	drift_find_other_work(machine, f, busy);
	if (busy[f - machine->fingerprints])
		st = assay_fail(err, ASSAY_E_USAGE,
				"fingerprint %s of '%s' (%s) cannot be the reference, because it was taken with %s: take a new one", f->id,
				machine->id, f->battery, busy[f - machine->fingerprints]);
	mem_free_all(busy, machine->n_fingerprints);
	return st;
}

/* Accepts the latest fingerprint of each battery and architecture, unless it already is the reference. */
static enum assay_status accept_machine(struct machine *machine, void *input, struct document *d, struct assay_error *err)
{
	const struct accept_arguments *a = input;
	int64_t now = clock_real_ms();
	size_t n = 0;

	if (machine->n_fingerprints == 0)
		return assay_fail(err, ASSAY_E_USAGE, "'%s' has no usable fingerprint", machine->id);
	doc_set(d, "machine", machine->id);
	doc_set(d, "reason", a->reason);
	doc_list(d, "accepted");
	for (size_t i = 0; i < machine->n_fingerprints; i++) {
		const struct machine_fingerprint *f = &machine->fingerprints[i];

		if (!drift_is_acceptable(machine, f, now))
			continue;
		if (refuse_busy(machine, f, err))
			return err->status;
		machine_accept(machine, f->id, now, a->reason);
		doc_set(d, NULL, f->id);
		doc_line(d, "%s: fingerprint %s is the reference now", machine->id, f->id);
		n++;
	}
	doc_end(d);
	return n ? ASSAY_OK : assay_fail(err, ASSAY_E_USAGE, "'%s' has no fingerprint newer than the accepted one", machine->id);
}

static enum assay_status host_accept_run(struct lab *lab, void *input, struct document *d, struct assay_error *err)
{
	return edit_catalog_machine(lab, ((struct accept_arguments *)input)->machine, input, d, accept_machine, err);
}

static const struct cli_option accept_words[] = { CLI_ARGUMENT("MACHINE", struct accept_arguments, machine), CLI_END };
static const struct cli_option accept_options[] = { CLI_OPTION(PARSED, "reason", "TEXT", struct accept_arguments, reason,
							       "Reason in one line, stored with the machine (required)",
							       .parse = parse_reason, .required = true),
						    CLI_END };

const struct command host_accept_command = {
	.name = "host accept",
	.summary = "accept the current state of a machine as the baseline",
	.about =
	    "Accepts the current state of a machine as its baseline: from now on 'assay host drift' compares with its latest fingerprint "
	    "(of each battery and architecture). The reason and the date are stored in the machine's file; nothing is deleted.",
	.examples = "  assay host accept node07 --reason 'memory replaced, ticket 4711'\n",
	.words = accept_words,
	.options = accept_options,
	CLI_RUN(struct accept_arguments, CLI_LAB_WRITE, host_accept_run),
};

/* ---- retire ---- */

struct retire_arguments {
	const char *machine, *reason;
	bool undo;
};

static enum assay_status retire_options_check(void *input, struct assay_error *err)
{
	const struct retire_arguments *a = input;

	return a->undo && a->reason ? assay_fail(err, ASSAY_E_USAGE, "--undo and --reason exclude each other") : ASSAY_OK;
}

static enum assay_status retire_machine(struct machine *machine, void *input, struct document *d, struct assay_error *err)
{
	const struct retire_arguments *a = input;

	if (machine->retired == !a->undo)
		return assay_fail(err, ASSAY_E_USAGE, a->undo ? "'%s' is not retired" : "'%s' is already retired", machine->id);
	machine_retire(machine, !a->undo, clock_real_ms(), a->reason);
	doc_line(d, a->undo ? "%s is in use again" : "%s is retired; its fingerprints and runs stay", machine->id);
	doc_set(d, "machine", machine->id);
	doc_set_bool(d, "retired", machine->retired);
	if (machine->retired_reason)
		doc_set(d, "reason", machine->retired_reason);
	return ASSAY_OK;
}

static enum assay_status host_retire_run(struct lab *lab, void *input, struct document *d, struct assay_error *err)
{
	const struct retire_arguments *a = input;

	return edit_catalog_machine(lab, a->machine, input, d, retire_machine, err);
}

static const struct cli_option retire_words[] = { CLI_ARGUMENT("MACHINE", struct retire_arguments, machine), CLI_END };
static const struct cli_option retire_options[] = {
	CLI_PARSED("reason", "TEXT", struct retire_arguments, reason, parse_reason, "Reason in one line, stored with the machine"),
	CLI_FLAG("undo", struct retire_arguments, undo, "Mark the machine as in use again"), CLI_END
};

const struct command host_retire_command = {
	.name = "host retire",
	.summary = "mark a machine as no longer in use",
	.about = "Marks a machine as no longer in use. Its fingerprints, runs and results remain valid. It is no longer measured, and is "
		 "excluded from 'host list --types', drift and suggestions. Date and reason are stored in its file.",
	.examples = "  assay host retire node07 --reason 'sold'\n"
		    "  assay host retire node07 --undo\n",
	.words = retire_words,
	.options = retire_options,
	.check = retire_options_check,
	CLI_RUN(struct retire_arguments, CLI_LAB_WRITE, host_retire_run),
};
