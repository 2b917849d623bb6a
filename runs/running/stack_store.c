/* Software stacks in the store: each text once, by its hash. */
#include "base/buf.h"
#include "base/mem.h"
#include "runs/running/stack.h"

static enum assay_status run(struct store *store, const char *sql, const char *const *texts, const char *kinds, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	bool row;
	enum assay_status st = store_prepare(store, sql, &stmt, err);

	if (!st) {
		store_bind(stmt, kinds, texts[0], texts[1], texts[2], texts[3]);
		st = store_step(store, stmt, &row, err);
	}
	sqlite3_finalize(stmt);
	return st;
}

/* The text that the plan has of this machine and version; NULL when there is none. */
static enum assay_status find(struct store *store, const struct plan *plan, const char *machine, const char *version, char **out,
			      struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	bool row = false;
	enum assay_status st = store_prepare(
	    store, "SELECT text FROM plan_stack JOIN stack ON hash = stack WHERE plan = ? AND machine = ? AND version = ?", &stmt, err);

	*out = NULL;
	if (!st) {
		store_bind(stmt, "ttt", plan->id, machine, version);
		st = store_step(store, stmt, &row, err);
	}
	if (!st && row)
		*out = mem_string(store_text(stmt, 0));
	sqlite3_finalize(stmt);
	return st;
}

static enum assay_status insert(struct store *store, const struct plan *plan, const char *machine, const char *version, const char *text,
				struct assay_error *err)
{
	char hash[DIGEST_HEX_BYTES];
	const char *const stack[] = { hash, text, NULL, NULL }, *const link[] = { plan->id, machine, version, hash };
	enum assay_status st = store_begin(store, err);

	digest_sha256(text, strlen(text), hash);
	if (!st)
		st = run(store, "INSERT INTO stack (hash, text) VALUES (?, ?) ON CONFLICT DO NOTHING", stack, "tt", err);
	if (!st)
		st = run(store, "INSERT INTO plan_stack (plan, machine, version, stack) VALUES (?, ?, ?, ?)", link, "tttt", err);
	if (!st)
		st = store_commit(store, err);
	store_rollback(store);
	return st;
}

enum assay_status stack_put(struct store *store, const struct plan *plan, const char *machine, const char *version, const char *text,
			    struct assay_error *err)
{
	char *before = NULL, *difference;
	enum assay_status st = find(store, plan, machine, version, &before, err);

	if (!st && !before) {
		st = insert(store, plan, machine, version, text, err);
	} else if (!st && strcmp(before, text) != 0) {
		difference = stack_difference(before, text);
		st = assay_fail(err, ASSAY_E_CONFLICT, "what version '%s' loads there has changed since these runs began (%s): begin anew without "
				"--resume", version, difference);
		free(difference);
	}
	free(before);
	return st;
}

enum assay_status stack_load(struct store *store, const struct plan *plan, struct stack_rows *out, struct assay_error *err)
{
	struct stack_rows rows = { NULL, 0 };
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	bool row = true;
	enum assay_status st = store_prepare(store,
					     "SELECT machine, version, text, hash FROM plan_stack JOIN stack ON hash = stack WHERE plan = ? "
					     "ORDER BY version, machine",
					     &stmt, err);

	if (!st)
		store_bind(stmt, "t", plan->id);
	while (!st) {
		struct stack_row *item;

		st = store_step(store, stmt, &row, err);
		if (st || !row)
			break;
		rows.items = mem_grow(rows.items, rows.n, &capacity, sizeof(*rows.items));
		item = &rows.items[rows.n++];
		*item = (struct stack_row){ mem_string(store_text(stmt, 0)), mem_string(store_text(stmt, 1)), mem_string(store_text(stmt, 2)), "" };
		snprintf(item->hash, sizeof(item->hash), "%s", store_text(stmt, 3));
	}
	sqlite3_finalize(stmt);
	*out = rows;
	if (st)
		stack_rows_release(out);
	return st;
}

void stack_rows_release(struct stack_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		free(rows->items[i].machine);
		free(rows->items[i].version);
		free(rows->items[i].text);
	}
	free(rows->items);
	*rows = (struct stack_rows){ NULL, 0 };
}

/* ---- what a plan deployed ---- */

#define SESSION	 "  {session}/"
#define HEX_SIZE (DIGEST_HEX_BYTES - 1)

/* "{session}/files/x" and "{session}/b003/x" are deployed: the number is that of the version within the plan. */
static void add_deployed(const char *line, size_t n, struct buf *out)
{
	const char *path = line + HEX_SIZE + strlen(SESSION), *end = line + n;

	if (n <= HEX_SIZE + strlen(SESSION) || strncmp(line + HEX_SIZE, SESSION, strlen(SESSION)) != 0)
		return;
	path = memchr(path, '/', (size_t)(end - path));
	if (path)
		buf_format(out, "%.*s  %.*s\n", (int)HEX_SIZE, line, (int)(end - path - 1), path + 1);
}

enum assay_status stack_deployed(struct store *store, const char *plan, const char *version, char **out, struct assay_error *err)
{
	struct buf lines = BUF_INIT;
	sqlite3_stmt *stmt = NULL;
	bool row = false;
	enum assay_status st = store_prepare(store,
					     "SELECT text FROM plan_stack JOIN stack ON hash = stack WHERE plan = ? AND version = ? ORDER BY machine LIMIT 1",
					     &stmt, err);

	if (!st) {
		store_bind(stmt, "tt", plan, version);
		st = store_step(store, stmt, &row, err);
	}
	if (!st && row) {
		for (const char *line = store_text(stmt, 0), *end; *line; line = *end ? end + 1 : end) {
			end = line + strcspn(line, "\n");
			add_deployed(line, (size_t)(end - line), &lines);
		}
	}
	sqlite3_finalize(stmt);
	*out = buf_take(&lines);
	return st;
}
