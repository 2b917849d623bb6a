#include "gate/nightly/night.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

static ROWS_FUNCTION(night_state_code, enum night_state, NIGHT_STATE_ROWS, ROWS_CODE)
static ROWS_FINDER(night_state_of, enum night_state, NIGHT_STATE_ROWS, ROWS_CODE)

#define NIGHT_COLUMNS "SELECT id, started_ms, deadline_ms, ifnull(finished_ms, 0), ifnull(exit_status, 0), suite FROM night "

static void night_read(sqlite3_stmt *stmt, struct night *out)
{
	*out = (struct night){ .started_ms = sqlite3_column_int64(stmt, 1),
			       .deadline_ms = sqlite3_column_int64(stmt, 2),
			       .finished_ms = sqlite3_column_int64(stmt, 3),
			       .exit_status = sqlite3_column_int(stmt, 4),
			       .suite = mem_string(store_text(stmt, 5)) };
	snprintf(out->id, sizeof(out->id), "%s", store_text(stmt, 0));
}

void night_release(struct night *night)
{
	free(night->suite);
	reasons_release(&night->notes);
	*night = (struct night){ .id = "" };
}

enum assay_status night_list(struct store *store, struct night **out, size_t *n, struct assay_error *err)
{
	struct night *list = NULL;
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	enum assay_status st = store_prepare(store, NIGHT_COLUMNS "ORDER BY rowid DESC", &stmt, err);

	*n = 0;
	while (store_next(store, stmt, &st, err))
		night_read(stmt, mem_append_slot(list, *n, &capacity));
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

static enum assay_status load_reasons(struct store *store, const char *sql, const char *of, struct reasons *out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(store, &stmt, err, sql, "t", of);

	while (store_next(store, stmt, &st, err))
		reasons_add(out, store_text(stmt, 0), store_text(stmt, 1));
	return store_finalize(stmt, st);
}

static enum assay_status store_reasons(struct store *store, const char *sql, const char *of, const struct reasons *r, size_t from,
				       struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = from; !st && i < r->n; i++)
		st = store_execute(store, err, sql, "titt", of, (int64_t)i, r->items[i].code, r->items[i].text);
	return st;
}

/* Reads a night from the first row of a query. If there is no row, returns ASSAY_E_NOTFOUND with the text `missing`. */
static enum assay_status night_read_one(struct store *store, sqlite3_stmt *stmt, enum assay_status st, const char *missing,
					struct night *out, struct assay_error *err)
{
	*out = (struct night){ .id = "" };
	if (store_next(store, stmt, &st, err))
		night_read(stmt, out);
	else if (!st)
		st = assay_fail(err, ASSAY_E_NOTFOUND, "%s", missing);
	sqlite3_finalize(stmt);
	if (!st)
		st = load_reasons(store, "SELECT code, text FROM night_note WHERE night = ? ORDER BY number", out->id, &out->notes, err);
	out->n_stored_notes = out->notes.n;
	return st;
}

enum assay_status night_find(struct store *store, const char *id, struct night *out, struct assay_error *err)
{
	char *missing;
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(
	    store, &stmt, err, NIGHT_COLUMNS "WHERE ?1 IS NULL OR substr(id, 1, length(?1)) = ?1 ORDER BY rowid DESC LIMIT 1", "t", id);

	missing = id ? mem_format("no night '%s' ('assay nightly show --list' shows all)", TEXT_SANITIZED(id))
		     : mem_string("no nights yet: 'assay nightly run' starts one");
	st = night_read_one(store, stmt, st, missing, out, err);
	free(missing);
	return st;
}

enum assay_status night_find_unfinished(struct store *store, struct night *out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_prepare(store, NIGHT_COLUMNS "WHERE finished_ms IS NULL ORDER BY rowid DESC LIMIT 1", &stmt, err);

	return night_read_one(store, stmt, st, "no night was interrupted", out, err);
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
					.baseline_kind = mem_string(store_text(stmt, 6)),
					.hosts = mem_string(store_text(stmt, 7)),
					.min_effect = store_double(stmt, 8),
					.budget_s = store_double(stmt, 9),
					.detail = mem_string(store_text(stmt, 14)),
					.seconds = store_double(stmt, 15),
					.min_gain = store_double(stmt, 16) };
	snprintf(c->plan, sizeof(c->plan), "%s", store_text(stmt, 11));
	snprintf(c->confirmation_plan, sizeof(c->confirmation_plan), "%s", store_text(stmt, 12));
	snprintf(c->decision, sizeof(c->decision), "%s", store_text(stmt, 13));
	c->state = night_state_of(store_text(stmt, 10));
	if (strcmp(night_state_code(c->state), store_text(stmt, 10)) != 0)
		return assay_fail(err, ASSAY_E_CORRUPT, "'%s' has a comparison in no known state", store->path);
	return ASSAY_OK;
}

enum assay_status night_comparisons_load(struct store *store, const char *night, struct night_comparisons *out, struct assay_error *err)
{
	struct night_comparisons all = { NULL, 0 };
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	enum assay_status st = store_query(
	    store, &stmt, err,
	    "SELECT number, manifest, application, input, candidate, baseline, against, hosts, min_effect, budget_s, state, plan, "
	    "fresh_plan, decision, detail, seconds, min_gain FROM night_comparison WHERE night = ? ORDER BY number",
	    "t", night);

	while (store_next(store, stmt, &st, err))
		st = night_read_comparison(store, stmt, mem_append_slot(all.items, all.n, &capacity), err);
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
		mem_free(c->manifest, c->application, c->input, c->candidate, c->baseline, c->baseline_kind, c->hosts, c->detail);
	}
	free(comparisons->items);
	*comparisons = (struct night_comparisons){ NULL, 0 };
}

static ROWS_FINDER(confirmation_result_parse, enum confirmation_result, CONFIRMATION_ROWS, ROWS_WORD)
static ROWS_FINDER(disturbed_of, enum disturbed_cause, DISTURBED_ROWS, ROWS_CODE)

/* Columns of a stored decision. read_decision() and store_decision() depend on their order. */
#define DECISION_COLUMNS                                                                                                                   \
	"id, made_ms, night, number, application, baseline, candidate, rules, plan, fresh_plan, min_effect, min_gain, confirm, control, "  \
	"on_machines, chance, alike, why, accepted, decision, by_processor, ratio, low, high, level, p, fresh, control_moved, recorded, "  \
	"cause, document"
#define DECISIONS_WHERE	  "SELECT " DECISION_COLUMNS " FROM decision WHERE "
#define REASONS_OF	  "SELECT code, text FROM decision_reason WHERE decision = ? ORDER BY number"
#define MACHINES_OF(name) "SELECT " name ", log_ratio FROM decision_machine AS m WHERE decision = ? ORDER BY number"
#define NAME_NOW                                                                                                                           \
	"coalesce((SELECT new_name FROM renamed_machine JOIN decision ON id = m.decision WHERE old_name = machine "                        \
	"AND renamed_ms >= made_ms ORDER BY renamed_ms LIMIT 1), machine)"
#define FUNCTIONS_OF                                                                                                                       \
	"SELECT function, file, kind, counter, line, normal, now, part FROM decision_function WHERE decision = ? ORDER BY number"
#define DISTURBED_OF(name)                                                                                                                 \
	"SELECT " name ", version, repetition, cause, share, usual, left_out FROM decision_disturbed AS m WHERE decision = ? "             \
	"ORDER BY number"
#define CALIBRATION_OF                                                                                                                     \
	"SELECT own, taken_ms, identical, independent, slower, faster, percent, planted, found, stale FROM decision_calibration "          \
	"WHERE decision = ?"

static void read_decision(sqlite3_stmt *stmt, struct night_decision *d)
{
	struct judge_request *q = &d->request;
	struct judgement *j = &d->judged;

	*d = (struct night_decision){ .made_ms = sqlite3_column_int64(stmt, 1), .number = sqlite3_column_int64(stmt, 3) };
	snprintf(d->id, sizeof(d->id), "%s", store_text(stmt, 0));
	snprintf(d->night, sizeof(d->night), "%s", store_text(stmt, 2));
	*q = (struct judge_request){ .application = mem_string(store_text(stmt, 4)),
				     .baseline = mem_string(store_text(stmt, 5)),
				     .candidate = mem_string(store_text(stmt, 6)),
				     .rules = sqlite3_column_int64(stmt, 7),
				     .min_effect = store_double(stmt, 10),
				     .min_gain = store_double(stmt, 11),
				     .confirm = sqlite3_column_int(stmt, 12),
				     .control = sqlite3_column_int(stmt, 13),
				     .machines = sqlite3_column_int64(stmt, 14),
				     .may_be_chance = sqlite3_column_int(stmt, 15),
				     .follows_night_trend = sqlite3_column_int(stmt, 16),
				     .no_comparison_reason = mem_string(store_text(stmt, 17)),
				     .accepted = mem_string(store_text(stmt, 18)) };
	snprintf(q->plan, sizeof(q->plan), "%s", store_text(stmt, 8));
	snprintf(q->confirmation_plan, sizeof(q->confirmation_plan), "%s", store_text(stmt, 9));
	*j = (struct judgement){ .rule = DECISION_RULES,
				 .decision = decision_parse(store_text(stmt, 19)),
				 .by_processor = sqlite3_column_int(stmt, 20),
				 .ratio = store_double(stmt, 21),
				 .low = store_double(stmt, 22),
				 .high = store_double(stmt, 23),
				 .level = store_double(stmt, 24),
				 .p = store_double(stmt, 25),
				 .input = { .confirmation = confirmation_result_parse(store_text(stmt, 26)),
					    .has_control_moved = sqlite3_column_int(stmt, 27) },
				 .recorded = sqlite3_column_int64(stmt, 28),
				 .cause = mem_string(store_text(stmt, 29)),
				 .document = mem_string(store_text(stmt, 30)) };
}

static enum assay_status load_machines(struct store *store, const char *id, struct judgement *j, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	enum assay_status st = store_query(store, &stmt, err, MACHINES_OF(NAME_NOW), "t", id);

	while (store_next(store, stmt, &st, err))
		mem_append(j->machines, j->n_machines, &capacity,
			   (struct judge_machine){ mem_string(store_text(stmt, 0)), store_double(stmt, 1) });
	return store_finalize(stmt, st);
}

static enum assay_status load_functions(struct store *store, const char *id, struct judgement *j, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(store, &stmt, err, FUNCTIONS_OF, "t", id);

	while (store_next(store, stmt, &st, err) && j->n_functions < JUDGE_FUNCTIONS)
		j->functions[j->n_functions++] = (struct judge_function){ mem_string(store_text(stmt, 0)), mem_string(store_text(stmt, 1)),
									  mem_string(store_text(stmt, 2)), mem_string(store_text(stmt, 3)),
									  sqlite3_column_int64(stmt, 4),   store_double(stmt, 5),
									  store_double(stmt, 6),	   store_double(stmt, 7) };
	return store_finalize(stmt, st);
}

static enum assay_status load_disturbed(struct store *store, const char *id, struct disturbed *out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	enum assay_status st = store_query(store, &stmt, err, DISTURBED_OF(NAME_NOW), "t", id);

	while (store_next(store, stmt, &st, err)) {
		struct disturbed_run run = { mem_string(store_text(stmt, 0)), mem_string(store_text(stmt, 1)),
					     sqlite3_column_int64(stmt, 2),   disturbed_of(store_text(stmt, 3)),
					     store_double(stmt, 4),	      store_double(stmt, 5),
					     sqlite3_column_int(stmt, 6) };

		mem_append(out->items, out->n, &capacity, run);
		out->n_excluded += run.is_excluded;
	}
	return store_finalize(stmt, st);
}

static enum assay_status load_calibration(struct store *store, const char *id, struct calibration_quote *out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(store, &stmt, err, CALIBRATION_OF, "t", id);

	if (store_next(store, stmt, &st, err))
		*out = (struct calibration_quote){ .is_application_specific = sqlite3_column_int(stmt, 0),
						   .taken_ms = sqlite3_column_int64(stmt, 1),
						   .identical = sqlite3_column_int64(stmt, 2),
						   .distinct = sqlite3_column_int64(stmt, 3),
						   .slower = sqlite3_column_int64(stmt, 4),
						   .faster = sqlite3_column_int64(stmt, 5),
						   .percent = sqlite3_column_int64(stmt, 6),
						   .injected = sqlite3_column_int64(stmt, 7),
						   .found = sqlite3_column_int64(stmt, 8),
						   .stale = mem_string(store_text(stmt, 9)) };
	return store_finalize(stmt, st);
}

static enum assay_status read_decisions(struct store *store, sqlite3_stmt *stmt, enum assay_status st, struct night_decisions *out,
					struct assay_error *err)
{
	size_t capacity = 0;

	*out = (struct night_decisions){ NULL, 0 };
	while (store_next(store, stmt, &st, err))
		read_decision(stmt, mem_append_slot(out->items, out->n, &capacity));
	sqlite3_finalize(stmt);
	for (size_t i = 0; !st && i < out->n; i++) {
		struct night_decision *d = &out->items[i];
		struct judgement *j = &d->judged;

		st = load_reasons(store, REASONS_OF, d->id, &j->reasons, err);
		if (!st)
			st = load_machines(store, d->id, j, err);
		if (!st)
			st = load_functions(store, d->id, j, err);
		if (!st)
			st = load_disturbed(store, d->id, &j->disturbed, err);
		if (!st)
			st = load_calibration(store, d->id, &j->calibration, err);
		d->request.calibration = &j->calibration;
	}
	if (st)
		night_decisions_release(out);
	return st;
}

enum assay_status night_decisions_load(struct store *store, const char *application, const char *night, int64_t until_ms,
				       struct night_decisions *out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(store, &stmt, err,
					   DECISIONS_WHERE "(?1 IS NULL OR application = ?1) AND "
							   "(?2 IS NULL OR night = ?2) AND made_ms <= ?3 ORDER BY made_ms DESC, number",
					   "tti", application, night, until_ms);

	return read_decisions(store, stmt, st, out, err);
}

enum assay_status night_decision_find(struct store *store, const char *id, struct night_decisions *out, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st =
	    store_query(store, &stmt, err, DECISIONS_WHERE "substr(id, 1, length(?1)) = ?1 ORDER BY made_ms DESC LIMIT 2", "t", id);

	st = read_decisions(store, stmt, st, out, err);
	if (!st && out->n == 0)
		st =
		    assay_fail(err, ASSAY_E_NOTFOUND, "no decision '%s' ('assay nightly show' lists those of a night)", TEXT_SANITIZED(id));
	else if (!st && out->n > 1)
		st = assay_fail(err, ASSAY_E_USAGE, "several decisions start with '%s': give more digits", TEXT_SANITIZED(id));
	if (st)
		night_decisions_release(out);
	return st;
}

void night_decisions_release(struct night_decisions *decisions)
{
	for (size_t i = 0; i < decisions->n; i++) {
		judge_request_release(&decisions->items[i].request);
		judgement_release(&decisions->items[i].judged);
	}
	free(decisions->items);
	*decisions = (struct night_decisions){ NULL, 0 };
}

static enum assay_status add_rows(struct store *store, const char *sql, int first, const char *id, struct buf *text,
				  struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(store, &stmt, err, sql, "t", id);

	while (store_next(store, stmt, &st, err))
		for (int i = first; i < sqlite3_column_count(stmt); i++)
			buf_format(text, "%s\n",
				   sqlite3_column_type(stmt, i) == SQLITE_FLOAT ? TEXT_DOUBLE(sqlite3_column_double(stmt, i))
										: store_text(stmt, i));
	return store_finalize(stmt, st);
}

enum assay_status night_compute_digest(struct store *store, const char *id, char out[DIGEST_ID_BYTES], struct assay_error *err)
{
	static const char *const of[] = { REASONS_OF, MACHINES_OF("machine"), FUNCTIONS_OF, DISTURBED_OF("machine"), CALIBRATION_OF };
	struct buf text = BUF_INIT;
	enum assay_status st = add_rows(store, DECISIONS_WHERE "id = ?", 2, id, &text, err);

	for (size_t i = 0; !st && i < sizeof(of) / sizeof(of[0]); i++)
		st = add_rows(store, of[i], 0, id, &text, err);
	if (!st)
		digest_id(text.bytes, text.size, out);
	buf_release(&text);
	return st;
}

static enum assay_status night_insert_comparison(struct store *store, const struct night *night, const struct night_comparison *c,
						 struct assay_error *err)
{
	return store_execute(
	    store, err,
	    "INSERT INTO night_comparison (night, number, manifest, application, input, candidate, baseline, against, hosts, "
	    "min_effect, budget_s, state, plan, fresh_plan, decision, detail, seconds, min_gain) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
	    "?, '', '', '', ?, 0, ?)",
	    "titttttttddttd", night->id, c->number, c->manifest, c->application, c->input, c->candidate, c->baseline, c->baseline_kind,
	    c->hosts, c->min_effect, c->budget_s, night_state_code(c->state), c->detail, c->min_gain);
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
		st = store_execute(store, err, "INSERT INTO night (id, started_ms, deadline_ms, suite) VALUES (?, ?, ?, ?)", "tiit",
				   night->id, night->started_ms, night->deadline_ms, night->suite);
	for (size_t i = 0; !st && i < comparisons->n; i++) {
		comparisons->items[i].number = (int64_t)i + 1;
		st = night_insert_comparison(store, night, &comparisons->items[i], err);
	}
	return store_end(store, st, err);
}

enum assay_status night_update(struct store *store, const struct night *night, const struct night_comparison *c, struct assay_error *err)
{
	return store_execute(store, err,
			     "UPDATE night_comparison SET state = ?, plan = ?, fresh_plan = ?, decision = ?, detail = ?, seconds = ? "
			     "WHERE night = ? AND number = ?",
			     "tttttdti", night_state_code(c->state), c->plan, c->confirmation_plan, c->decision, c->detail, c->seconds,
			     night->id, c->number);
}

/* Stores a decision with the id "". night_decide() then computes the id from the stored data. */
static enum assay_status store_decision(struct store *store, const char *night, int64_t number, const struct judge_request *q,
					const struct judgement *j, struct assay_error *err)
{
	const struct calibration_quote *k = &j->calibration;
	enum assay_status st = store_execute(
	    store, err,
	    "INSERT INTO decision (" DECISION_COLUMNS
	    ") VALUES ('', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
	    "?, ?, ?, ?, ?, ?)",
	    "ititttittddiiiiitttidddddtiitt", clock_real_ms(), night, number, q->application, q->baseline, q->candidate, q->rules, q->plan,
	    q->confirmation_plan, q->min_effect, q->min_gain, (int64_t)q->confirm, (int64_t)q->control, q->machines,
	    (int64_t)q->may_be_chance, (int64_t)q->follows_night_trend, q->no_comparison_reason, q->accepted ? q->accepted : "",
	    decision_text(j->decision), (int64_t)j->by_processor, j->ratio, j->low, j->high, j->level, j->p,
	    confirmation_result_code(j->input.confirmation), (int64_t)j->input.has_control_moved, j->recorded, j->cause, j->document);

	if (!st)
		st = store_reasons(store, "INSERT INTO decision_reason (decision, number, code, text) VALUES (?, ?, ?, ?)", "", &j->reasons,
				   0, err);
	for (size_t i = 0; !st && i < j->n_machines; i++)
		st = store_execute(store, err, "INSERT INTO decision_machine (decision, number, machine, log_ratio) VALUES ('', ?, ?, ?)",
				   "itd", (int64_t)i, j->machines[i].machine, j->machines[i].log_ratio);
	for (size_t i = 0; !st && i < j->n_functions; i++) {
		const struct judge_function *f = &j->functions[i];

		st = store_execute(
		    store, err,
		    "INSERT INTO decision_function (decision, number, function, file, line, kind, counter, normal, now, part) "
		    "VALUES ('', ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		    "ittittddd", (int64_t)i, f->name, f->file, f->line, f->kind, f->counter, f->normal, f->now, f->part);
	}
	for (size_t i = 0; !st && i < j->disturbed.n; i++) {
		const struct disturbed_run *r = &j->disturbed.items[i];

		st = store_execute(
		    store, err,
		    "INSERT INTO decision_disturbed (decision, number, machine, version, repetition, cause, share, usual, left_out) "
		    "VALUES ('', ?, ?, ?, ?, ?, ?, ?, ?)",
		    "ittitddi", (int64_t)i, r->machine, r->version, r->repetition, disturbed_code(r->cause), r->share, r->usual,
		    (int64_t)r->is_excluded);
	}
	if (!st && k->identical)
		st = store_execute(
		    store, err,
		    "INSERT INTO decision_calibration (decision, own, taken_ms, identical, independent, slower, faster, percent, "
		    "planted, found, stale) VALUES ('', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		    "iiiiiiiiit", (int64_t)k->is_application_specific, k->taken_ms, k->identical, k->distinct, k->slower, k->faster,
		    k->percent, k->injected, k->found, k->stale);
	return st;
}

enum assay_status night_decide(struct store *store, const struct night *night, struct night_comparison *c, const struct judge_request *q,
			       const struct judgement *j, struct assay_error *err)
{
	enum assay_status st = store_begin(store, err);

	if (!st)
		st = store_decision(store, night->id, c->number, q, j, err);
	if (!st)
		st = night_compute_digest(store, "", c->decision, err);
	if (!st)
		st = store_execute(store, err, "UPDATE decision SET id = ? WHERE id = ''", "t", c->decision);
	c->state = NIGHT_DECIDED;
	if (!st)
		st = night_update(store, night, c, err);
	return store_end(store, st, err);
}

enum assay_status night_store_notes(struct store *store, struct night *night, struct assay_error *err)
{
	enum assay_status st = store_reasons(store, "INSERT INTO night_note (night, number, code, text) VALUES (?, ?, ?, ?)", night->id,
					     &night->notes, night->n_stored_notes, err);

	if (!st)
		night->n_stored_notes = night->notes.n;
	return st;
}

enum assay_status night_finish(struct store *store, struct night *night, struct assay_error *err)
{
	enum assay_status st = store_begin(store, err);

	night->finished_ms = clock_real_ms();
	if (!st)
		st = store_execute(store, err, "UPDATE night SET finished_ms = ?, exit_status = ? WHERE id = ?", "iit", night->finished_ms,
				   (int64_t)night->exit_status, night->id);
	if (!st)
		st = night_store_notes(store, night, err);
	return store_end(store, st, err);
}
