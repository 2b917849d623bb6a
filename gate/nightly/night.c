#include "gate/nightly/night.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

static ROWS_FUNCTION(night_state_code, enum night_state, NIGHT_STATE_ROWS, ROWS_CODE)

/* ---- nights ---- */

#define NIGHT_COLUMNS "SELECT id, started_ms, deadline_ms, ifnull(finished_ms, 0), ifnull(exit_status, 0), suite, notes FROM night "

static void night_read(sqlite3_stmt *stmt, struct night *out)
{
	*out = (struct night){ .started_ms = sqlite3_column_int64(stmt, 1),
			       .deadline_ms = sqlite3_column_int64(stmt, 2),
			       .finished_ms = sqlite3_column_int64(stmt, 3),
			       .exit_status = sqlite3_column_int(stmt, 4),
			       .suite = mem_string(store_text(stmt, 5)),
			       .notes = mem_string(store_text(stmt, 6)) };
	snprintf(out->id, sizeof(out->id), "%s", store_text(stmt, 0));
}

void night_release(struct night *night)
{
	mem_free(night->suite, night->notes);
	*night = (struct night){ .id = "" };
}

enum assay_status night_list(struct store *store, struct night **out, size_t *n, struct assay_error *err)
{
	struct night *list = NULL;
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	enum assay_status st = store_prepare(store, NIGHT_COLUMNS "ORDER BY started_ms DESC, id", &stmt, err);

	*n = 0;
	while (store_next(store, stmt, &st, err))
		night_read(stmt, mem_next(list, *n, &capacity));
	sqlite3_finalize(stmt);
	*out = list;
	if (st) {
		night_list_free(list, *n);
		*out = NULL;
		*n = 0;
	}
	return st;
}

void night_list_free(struct night *nights, size_t n)
{
	mem_release_all(nights, n, night_release);
}

/* The first row of a question about nights. */
static enum assay_status night_one(struct store *store, sqlite3_stmt *stmt, enum assay_status st, const char *missing, struct night *out,
				   struct assay_error *err)
{
	*out = (struct night){ .id = "" };
	if (store_next(store, stmt, &st, err))
		night_read(stmt, out);
	else if (!st)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "%s", missing);
	return store_finish(stmt, st);
}

enum assay_status night_find(struct store *store, const char *id, struct night *out, struct assay_error *err)
{
	char *missing;
	sqlite3_stmt *stmt = NULL;
	enum assay_status st =
	    store_ask(store, &stmt, err,
		      NIGHT_COLUMNS "WHERE ?1 IS NULL OR substr(id, 1, length(?1)) = ?1 ORDER BY started_ms DESC LIMIT 1", "t", id);

	missing = id ? mem_format("no night '%s' ('assay nightly list' shows all)", TEXT_SHOWN(id))
		     : mem_string("there has been no night yet: 'assay nightly' begins one");
	st = night_one(store, stmt, st, missing, out, err);
	free(missing);
	return st;
}

enum assay_status night_unfinished(struct store *store, struct night *out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_prepare(store, NIGHT_COLUMNS "WHERE finished_ms IS NULL ORDER BY started_ms DESC LIMIT 1", &stmt, err);

	return night_one(store, stmt, st, "no night was interrupted", out, err);
}

/* ---- what a night compares ---- */

static enum assay_status night_state_of(const struct store *store, const char *code, enum night_state *out, struct assay_error *err)
{
	for (*out = 0; *out < NIGHT_STATES; ++*out)
		if (strcmp(night_state_code(*out), code) == 0)
			return ASSAY_OK;
	return assay_fail(err, ASSAY_E_CORRUPT, "'%s' has a comparison in no known state", store->path);
}

static enum assay_status night_read_comparison(const struct store *store, sqlite3_stmt *stmt, struct night_comparison *c,
					       struct assay_error *err)
{
	*c = (struct night_comparison){ .number = sqlite3_column_int64(stmt, 0),
					.manifest = mem_string(store_text(stmt, 1)),
					.application = mem_string(store_text(stmt, 2)),
					.input = mem_string(store_text(stmt, 3)),
					.candidate = mem_string(store_text(stmt, 4)),
					.baseline = mem_string(store_text(stmt, 5)),
					.against = mem_string(store_text(stmt, 6)),
					.hosts = mem_string(store_text(stmt, 7)),
					.min_effect = store_double(stmt, 8),
					.budget_s = store_double(stmt, 9),
					.detail = mem_string(store_text(stmt, 14)),
					.seconds = store_double(stmt, 15),
					.min_gain = store_double(stmt, 16) };
	snprintf(c->plan, sizeof(c->plan), "%s", store_text(stmt, 11));
	snprintf(c->fresh_plan, sizeof(c->fresh_plan), "%s", store_text(stmt, 12));
	snprintf(c->decision, sizeof(c->decision), "%s", store_text(stmt, 13));
	return night_state_of(store, store_text(stmt, 10), &c->state, err);
}

enum assay_status night_comparisons_load(struct store *store, const char *night, struct night_comparisons *out, struct assay_error *err)
{
	struct night_comparisons all = { NULL, 0 };
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	enum assay_status st = store_ask(
	    store, &stmt, err,
	    "SELECT number, manifest, application, input, candidate, baseline, against, hosts, min_effect, budget_s, state, plan, "
	    "fresh_plan, decision, detail, seconds, min_gain FROM night_comparison WHERE night = ? ORDER BY number",
	    "t", night);

	while (store_next(store, stmt, &st, err))
		st = night_read_comparison(store, stmt, mem_next(all.items, all.n, &capacity), err);
	sqlite3_finalize(stmt);
	*out = all;
	if (st)
		night_comparisons_release(out);
	return st;
}

void night_comparisons_release(struct night_comparisons *comparisons)
{
	for (size_t i = 0; i < comparisons->n; i++) {
		struct night_comparison *c = &comparisons->items[i];
		mem_free(c->manifest, c->application, c->input, c->candidate, c->baseline, c->against, c->hosts, c->detail);
	}
	free(comparisons->items);
	*comparisons = (struct night_comparisons){ NULL, 0 };
}

/* ---- decisions ---- */

static enum decision night_decision_of(const char *word)
{
	enum decision decision = 0;

	while (decision < DECISIONS - 1 && strcmp(decision_text(decision), word) != 0)
		decision++;
	return decision;
}

static enum assay_status night_read_decisions(struct store *store, sqlite3_stmt *stmt, enum assay_status st, struct night_decisions *out,
					      struct assay_error *err)
{
	size_t capacity = 0;

	*out = (struct night_decisions){ NULL, 0 };
	while (store_next(store, stmt, &st, err)) {
		struct night_decision *d = mem_next(out->items, out->n, &capacity);
		*d = (struct night_decision){ .number = sqlite3_column_int64(stmt, 2),
					      .made_ms = sqlite3_column_int64(stmt, 3),
					      .application = mem_string(store_text(stmt, 4)),
					      .baseline = mem_string(store_text(stmt, 5)),
					      .candidate = mem_string(store_text(stmt, 6)),
					      .decision = night_decision_of(store_text(stmt, 7)),
					      .ratio = store_double(stmt, 8),
					      .low = store_double(stmt, 9),
					      .high = store_double(stmt, 10),
					      .request = mem_string(store_text(stmt, 11)),
					      .document = mem_string(store_text(stmt, 12)) };
		snprintf(d->id, sizeof(d->id), "%s", store_text(stmt, 0));
		snprintf(d->night, sizeof(d->night), "%s", store_text(stmt, 1));
	}
	sqlite3_finalize(stmt);
	if (st)
		night_decisions_release(out);
	return st;
}

#define DECISION_COLUMNS                                                                                                                   \
	"SELECT id, night, number, made_ms, application, baseline, candidate, decision, ratio, low, high, request, document FROM "         \
	"decision "

enum assay_status night_decisions_load(struct store *store, const char *application, const char *night, int64_t until_ms,
				       struct night_decisions *out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_ask(
	    store, &stmt, err,
	    DECISION_COLUMNS "WHERE (?1 IS NULL OR application = ?1) AND (?2 IS NULL OR night = ?2) AND made_ms <= ?3 ORDER BY made_ms "
			     "DESC, number",
	    "tti", application, night, until_ms);

	return night_read_decisions(store, stmt, st, out, err);
}

enum assay_status night_decision_find(struct store *store, const char *id, struct night_decisions *out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st =
	    store_ask(store, &stmt, err, DECISION_COLUMNS "WHERE substr(id, 1, length(?1)) = ?1 ORDER BY made_ms DESC LIMIT 2", "t", id);

	st = night_read_decisions(store, stmt, st, out, err);
	if (!st && out->n == 0)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "no decision '%s' ('assay nightly show' lists those of a night)", TEXT_SHOWN(id));
	else if (!st && out->n > 1)
		st = assay_fail(err, ASSAY_E_USAGE, "several decisions begin with '%s': say more of its digits", TEXT_SHOWN(id));
	if (st)
		night_decisions_release(out);
	return st;
}

void night_decisions_release(struct night_decisions *decisions)
{
	for (size_t i = 0; i < decisions->n; i++) {
		mem_free(decisions->items[i].application, decisions->items[i].baseline, decisions->items[i].candidate,
			 decisions->items[i].request, decisions->items[i].document);
	}
	free(decisions->items);
	*decisions = (struct night_decisions){ NULL, 0 };
}

/* ---- the night at work ---- */

static enum assay_status night_insert_comparison(struct store *store, const struct night *night, const struct night_comparison *c,
						 struct assay_error *err)
{
	return store_do(
	    store, err,
	    "INSERT INTO night_comparison (night, number, manifest, application, input, candidate, baseline, against, hosts, "
	    "min_effect, budget_s, state, plan, fresh_plan, decision, detail, seconds, min_gain) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
	    "?, '', '', '', ?, 0, ?)",
	    "titttttttddttd", night->id, c->number, c->manifest, c->application, c->input, c->candidate, c->baseline, c->against, c->hosts,
	    c->min_effect, c->budget_s, night_state_code(c->state), c->detail, c->min_gain);
}

enum assay_status night_begin(struct store *store, struct night *night, struct night_comparisons *comparisons, struct assay_error *err)
{
	struct timespec now;
	char *text;
	enum assay_status st;

	clock_gettime(CLOCK_REALTIME, &now);
	text = mem_format("%" PRId64 ".%09ld\n%s", (int64_t)now.tv_sec, now.tv_nsec, night->suite);
	digest_id(text, strlen(text), night->id);
	free(text);
	st = store_begin(store, err);
	if (!st)
		st = store_do(store, err, "INSERT INTO night (id, started_ms, deadline_ms, suite, notes) VALUES (?, ?, ?, ?, ?)", "tiitt",
			      night->id, night->started_ms, night->deadline_ms, night->suite, night->notes);
	for (size_t i = 0; !st && i < comparisons->n; i++) {
		comparisons->items[i].number = (int64_t)i + 1;
		st = night_insert_comparison(store, night, &comparisons->items[i], err);
	}
	return store_end(store, st, err);
}

enum assay_status night_update(struct store *store, const struct night *night, const struct night_comparison *c, struct assay_error *err)
{
	return store_do(store, err,
			"UPDATE night_comparison SET state = ?, plan = ?, fresh_plan = ?, decision = ?, detail = ?, seconds = ? "
			"WHERE night = ? AND number = ?",
			"tttttdti", night_state_code(c->state), c->plan, c->fresh_plan, c->decision, c->detail, c->seconds, night->id,
			c->number);
}

void night_decision_identify(const struct night_decision *d, char id[DIGEST_ID_BYTES])
{
	char *text = mem_format("%s\n%" PRId64 "\n%s\n%s", d->night, d->number, d->request, d->document);

	digest_id(text, strlen(text), id);
	free(text);
}

enum assay_status night_decide(struct store *store, const struct night *night, struct night_comparison *c, struct night_decision *d,
			       struct assay_error *err)
{
	enum assay_status st;

	memcpy(d->night, night->id, sizeof(d->night));
	d->number = c->number;
	night_decision_identify(d, d->id);
	d->made_ms = clock_real_ms();
	c->state = NIGHT_DECIDED;
	memcpy(c->decision, d->id, sizeof(c->decision));
	st = store_begin(store, err);
	if (!st)
		st = store_do(store, err,
			      "INSERT OR IGNORE INTO decision (id, night, number, made_ms, application, baseline, candidate, decision, "
			      "ratio, low, high, request, document) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			      "ttiittttdddtt", d->id, d->night, d->number, d->made_ms, c->application, c->baseline, c->candidate,
			      decision_text(d->decision), d->ratio, d->low, d->high, d->request, d->document);
	if (!st)
		st = night_update(store, night, c, err);
	return store_end(store, st, err);
}

enum assay_status night_finish(struct store *store, struct night *night, struct assay_error *err)
{
	night->finished_ms = clock_real_ms();
	return store_do(store, err, "UPDATE night SET finished_ms = ?, exit_status = ?, notes = ? WHERE id = ?", "iitt", night->finished_ms,
			(int64_t)night->exit_status, night->notes, night->id);
}
