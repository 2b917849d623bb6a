#include "fingerprint/counters/stressor_counters.h"

#include "base/mem.h"

/* ---- plan ---- */

/* Stores an event of the plan. `run` is 0 if the event is excluded; `reason` then tells why. */
static enum assay_status put_event(struct store *store, const char *fingerprint, size_t run, const char *event, const char *family,
				   const char *domain, const char *reason, struct assay_error *err)
{
	return store_execute(store, err,
			     "INSERT INTO counter_event (fingerprint, run, event, family, domain, reason) VALUES (?, ?, ?, ?, ?, ?)",
			     "titttt", fingerprint, (int64_t)run, event, family, domain, reason);
}

static enum assay_status put_events(struct store *store, const char *fingerprint, const struct counting_plan *plan, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < plan->n; i++) {
		const struct counting_run *r = &plan->runs[i];

		for (size_t k = 0; !st && k < r->events.n; k++)
			st = put_event(store, fingerprint, i + 1, r->events.names[k], r->family, r->domain, NULL, err);
	}
	for (size_t i = 0; !st && i < plan->n_absent; i++)
		st = put_event(store, fingerprint, 0, plan->absent[i].event, NULL, NULL, plan->absent[i].reason, err);
	return !st && plan->none ? put_event(store, fingerprint, 0, "", NULL, NULL, plan->none, err) : st;
}

enum assay_status stressor_counters_put_plan(struct store *store, const char *fingerprint, const struct counting_plan *plan,
					     struct assay_error *err)
{
	enum assay_status st = store_begin(store, err);

	if (!st)
		st = put_events(store, fingerprint, plan, err);
	return store_end(store, st, err);
}

static void read_excluded(sqlite3_stmt *stmt, struct counting_plan *plan)
{
	const char *event = store_text(stmt, 1), *reason = store_text(stmt, 4);

	if (!*event) {
		plan->none = mem_string(reason);
		return;
	}
	plan->absent = mem_resize(plan->absent, plan->n_absent + 1, sizeof(*plan->absent));
	plan->absent[plan->n_absent++] = (struct counting_absent){ mem_string(event), mem_string(reason) };
}

/* Reads an event of run `number`. Returns false if this is neither the run of the previous event nor the next run. */
static bool read_event(sqlite3_stmt *stmt, int64_t number, struct counting_plan *plan)
{
	struct counting_events *events;

	if (number != (int64_t)plan->n && number != (int64_t)plan->n + 1)
		return false;
	if (number > (int64_t)plan->n) {
		plan->runs = mem_resize(plan->runs, plan->n + 1, sizeof(*plan->runs));
		plan->runs[plan->n++] = (struct counting_run){
			.family = strcmp(store_text(stmt, 2), COUNTING_SOFTWARE) == 0 ? COUNTING_SOFTWARE : COUNTING_HARDWARE,
			.domain = strcmp(store_text(stmt, 3), "all") == 0 ? "all" : "user",
		};
	}
	events = &plan->runs[number - 1].events;
	if (events->n == COUNTING_EVENTS_MAX)
		return false;
	events->names[events->n++] = mem_string(store_text(stmt, 1));
	return true;
}

enum assay_status stressor_counters_read_plan(struct store *store, const char *fingerprint, struct counting_plan *out, bool *found,
					      struct assay_error *err)
{
	struct counting_plan plan = { .n = 0 };
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(
	    store, &stmt, err, "SELECT run, event, family, domain, reason FROM counter_event WHERE fingerprint = ? ORDER BY run, event",
	    "t", fingerprint);

	while (store_next(store, stmt, &st, err)) {
		int64_t number = sqlite3_column_int64(stmt, 0);

		if (number == 0)
			read_excluded(stmt, &plan);
		else if (!read_event(stmt, number, &plan))
			st = assay_fail(err, ASSAY_E_CORRUPT, "the runs of counters of the fingerprint %s are not counted from 1",
					fingerprint);
	}
	sqlite3_finalize(stmt);
	*found = plan.n > 0 || plan.n_absent > 0 || plan.none;
	*out = plan;
	if (st)
		counting_plan_release(out);
	return st;
}

/* ---- runs ---- */

enum assay_status stressor_counters_read_done(struct store *store, const char *fingerprint, const struct battery *battery, size_t runs,
					      bool *done, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(store, &stmt, err, "SELECT run, stressor FROM counted WHERE fingerprint = ?", "t", fingerprint);

	while (store_next(store, stmt, &st, err)) {
		int64_t number = sqlite3_column_int64(stmt, 0);

		for (size_t i = 0; i < battery->n && number >= 1 && number <= (int64_t)runs; i++) {
			if (strcmp(battery->entries[i].name, store_text(stmt, 1)) == 0)
				done[(size_t)(number - 1) * battery->n + i] = true;
		}
	}
	return store_finalize(stmt, st);
}

static enum assay_status put_run(struct store *store, const char *fingerprint, const struct stressor_count *c, struct assay_error *err)
{
	if (c->reason)
		return store_execute(store, err, "INSERT INTO counted (fingerprint, run, stressor, reason) VALUES (?, ?, ?, ?)", "titt",
				     fingerprint, c->run, c->stressor, c->reason);
	return store_execute(store, err, "INSERT INTO counted (fingerprint, run, stressor, operations, wall_ns) VALUES (?, ?, ?, ?, ?)",
			     "titdi", fingerprint, c->run, c->stressor, c->operations, c->wall_ns);
}

static enum assay_status put_values(struct store *store, const char *fingerprint, const struct counting_events *events,
				    const struct stressor_count *c, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < events->n; i++)
		st = store_execute(store, err, "INSERT INTO counter (fingerprint, run, stressor, event, value) VALUES (?, ?, ?, ?, ?)",
				   "titti", fingerprint, c->run, c->stressor, events->names[i], c->values[i]);
	return st;
}

enum assay_status stressor_counters_put(struct store *store, const char *fingerprint, const struct counting_events *events,
					const struct stressor_count *counted, struct assay_error *err)
{
	enum assay_status st = store_begin(store, err);

	if (!st)
		st = put_run(store, fingerprint, counted, err);
	if (!st && !counted->reason)
		st = put_values(store, fingerprint, events, counted, err);
	return store_end(store, st, err);
}

/* ---- reading ---- */

static void read_cell(sqlite3_stmt *stmt, struct counter_cell *cell)
{
	const char *reason = store_text(stmt, 6);

	*cell = (struct counter_cell){ .run = sqlite3_column_int64(stmt, 0),
				       .stressor = mem_string(store_text(stmt, 1)),
				       .event = *reason ? NULL : mem_string(store_text(stmt, 2)),
				       .value = sqlite3_column_int64(stmt, 3),
				       .operations = store_double(stmt, 4),
				       .wall_ns = sqlite3_column_int64(stmt, 5),
				       .reason = *reason ? mem_string(reason) : NULL };
}

enum assay_status stressor_counters_read_cells(struct store *store, const char *fingerprint, struct counter_cell **out, size_t *n,
					       struct assay_error *err)
{
	struct counter_cell *cells = NULL;
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0, count = 0;
	enum assay_status st = store_query(store, &stmt, err,
					   "SELECT run, stressor, event, value, operations, wall_ns, reason FROM counted "
					   "LEFT JOIN counter USING (fingerprint, run, stressor) WHERE fingerprint = ? ORDER BY 1, 2, 3",
					   "t", fingerprint);

	while (store_next(store, stmt, &st, err))
		read_cell(stmt, mem_append_slot(cells, count, &capacity));
	sqlite3_finalize(stmt);
	*out = cells;
	*n = count;
	if (st) {
		stressor_counters_cells_free(cells, count);
		*out = NULL;
		*n = 0;
	}
	return st;
}

void stressor_counters_cells_free(struct counter_cell *cells, size_t n)
{
	for (size_t i = 0; i < n; i++)
		mem_free(cells[i].stressor, cells[i].event, cells[i].reason);
	free(cells);
}
