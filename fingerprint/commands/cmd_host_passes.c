/* Commands 'assay host show --passes' and 'assay host list --fingerprints'. */
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "fingerprint/catalog/catalog.h"
#include "fingerprint/commands/fingerprint_commands.h"
#include "fingerprint/counters/stressor_counters.h"
#include "fingerprint/stored/fingerprint.h"
#include "fleet/agent/signature.h"
#include "fleet/lab/lab.h"

#include <inttypes.h>
#include <math.h>

static const char *resume_command(const struct fingerprint_item *item)
{
	return item->complete ? "" : "incomplete ('assay host measure --resume' continues it within a day)";
}

static void set_item(const struct fingerprint_item *item, struct document *d)
{
	doc_set(d, "id", item->head.id);
	doc_set(d, "machine", item->head.machine);
	doc_set(d, "taken", TEXT_DATE(item->head.taken_ms));
	doc_set(d, "taken_ms", item->head.taken_ms);
	doc_set(d, "battery", item->head.battery);
	doc_set(d, "battery_hash", item->head.battery_hash);
	doc_set(d, "stress_ng", item->head.stress_ng);
	doc_set(d, "architecture", item->head.architecture);
	doc_set(d, "origin", item->head.origin);
	if (item->head.profile)
		doc_set(d, "profile", item->head.profile);
	doc_set_bool(d, "emulated", strcmp(item->head.origin, "emulated") == 0);
	doc_set_bool(d, "complete", item->complete);
	doc_set(d, "passes", item->passes);
	doc_set(d, "measured", item->measured);
	doc_set(d, "missing", item->missing);
}

static void add_row(const struct fingerprint_item *item, struct document *d)
{
	doc_row(d);
	doc_show(d, NULL, "machine", item->head.machine);
	doc_show(d, NULL, "fingerprint", item->head.id);
	doc_show(d, NULL, "taken", TEXT_DATE(item->head.taken_ms));
	doc_show(d, NULL, "battery", item->head.battery);
	doc_show(d, NULL, "stress-ng", item->head.stress_ng);
	doc_show(d, NULL, "passes", item->passes);
	doc_show(d, NULL, "cells", item->measured);
	doc_show(d, NULL, "missing", item->missing);
	doc_showf(d, NULL, "origin", item->head.origin, "%s%s%s", item->head.origin, item->head.profile ? " " : "",
		  item->head.profile ? item->head.profile : "");
	doc_show(d, NULL, "", resume_command(item));
	set_item(item, d);
}

static void add_all(const struct fingerprint_listing *list, struct document *d)
{
	if (list->n)
		doc_line(d, "%zu fingerprint%s\n", list->n, text_plural(list->n));
	else
		doc_line(d, "There are no fingerprints: take them with 'assay host measure'.");
	doc_table(d, "fingerprints");
	for (size_t i = 0; i < list->n; i++)
		add_row(&list->items[i], d);
	doc_end(d);
}

/* ---- one fingerprint ---- */

static void add_conditions(const char *conditions, struct document *d)
{
	cJSON *root = cJSON_Parse(conditions);
	const cJSON *item;

	doc_heading(d, "conditions");
	cJSON_ArrayForEach(item, root)
	{
		if (cJSON_IsString(item))
			doc_show(d, NULL, item->string, conditions_format(item->valuestring));
		else if (cJSON_IsNumber(item))
			doc_show(d, NULL, item->string, item->valuedouble);
	}
	doc_set_json(d, "conditions", root);
}

/* Ends the present line of text, which has the passes of one stressor. */
static void add_line(struct buf *line, struct document *d)
{
	if (line->size)
		doc_line(d, "%s", line->bytes);
	buf_clear(line);
}

/* Adds a row of the query: stressor, pass, rate, rate per real time, reason (NULL if measured), ordinal, resource usage ("" if unknown). */
static enum assay_status add_cell(sqlite3_stmt *stmt, struct buf *line, struct document *d, struct assay_error *err)
{
	const char *stressor = store_text(stmt, 0), *accounts = store_text(stmt, 6);
	double per_s = store_double(stmt, 2), real_per_s = per_s == 0 ? (double)NAN : store_double(stmt, 3);
	const char *reason = per_s == 0 ? "recorded 0" : sqlite3_column_type(stmt, 4) == SQLITE_NULL ? NULL : store_text(stmt, 4);
	int64_t pass = sqlite3_column_int64(stmt, 1);
	struct run_usage run_usage;
	enum assay_status st;

	if (!line->size)
		buf_format(line, "  %-16s", stressor);
	if (reason)
		buf_format(line, "  %" PRId64 ": not measured (%s)", pass, reason);
	else
		buf_format(line, "  %" PRId64 ": %s", pass, TEXT_DOUBLE(per_s));
	doc_object(d, NULL);
	doc_set(d, "stressor", stressor);
	doc_set(d, "pass", pass);
	doc_set(d, "per_s", reason ? (double)NAN : per_s);
	doc_set(d, "real_per_s", real_per_s);
	if (reason)
		doc_set(d, "not_measured", reason);
	st = run_usage_parse(accounts, &run_usage, err);
	if (*accounts)
		run_usage_add_members(d, "accounts", &run_usage.counters);
	run_usage_release(&run_usage);
	doc_end(d);
	return st;
}

/* Adds all cells of a fingerprint, sorted by stressor, then by pass. */
static enum assay_status add_cells(struct store *store, const char *id, struct document *d, struct assay_error *err)
{
	struct buf line = BUF_INIT;
	char *last = mem_string("");
	sqlite3_stmt *stmt = NULL;
	enum assay_status st =
	    store_query(store, &stmt, err,
			"SELECT stressor, pass, per_s, real_per_s, NULL AS reason, ordinal, signature FROM rate LEFT JOIN "
			"raw USING (fingerprint, pass, stressor) WHERE fingerprint = ?1 UNION ALL SELECT stressor, pass, "
			"NULL, NULL, reason, 0, NULL FROM missing WHERE fingerprint = ?1 ORDER BY 1, 2, 6",
			"t", id);

	doc_list(d, "cells");
	while (store_next(store, stmt, &st, err)) {
		if (strcmp(last, store_text(stmt, 0)) != 0)
			add_line(&line, d);
		free(last);
		last = mem_string(store_text(stmt, 0));
		st = add_cell(stmt, &line, d, err);
	}
	add_line(&line, d);
	doc_end(d);
	buf_release(&line);
	free(last);
	return store_finalize(stmt, st);
}

static enum assay_status add_fingerprint(struct store *store, const struct fingerprint_item *item, struct document *d,
					 struct assay_error *err)
{
	doc_line(d, "fingerprint %s of %s, %s, %s", item->head.id, item->head.machine, TEXT_DATE(item->head.taken_ms), item->head.origin);
	if (item->head.profile)
		doc_line(d, "emulated host, profile %s", item->head.profile);
	doc_line(d, "battery %s (%s), stress-ng %s, architecture %s", item->head.battery, item->head.battery_hash, item->head.stress_ng,
		 item->head.architecture);
	if (!item->complete)
		doc_line(d, "%s", resume_command(item));
	set_item(item, d);
	if (item->head.conditions)
		add_conditions(item->head.conditions, d);
	doc_heading(d, "bogo-operations per second of user and system time, by pass (%" PRId64 " measured, %" PRId64 " not)",
		    item->measured, item->missing);
	return add_cells(store, item->head.id, d, err);
}

/* ---- counters ---- */

/* Counters of one fingerprint. */
struct counters {
	struct counting_plan plan;
	struct counter_cell *cells; /* [n] */
	size_t n;
};

static void add_excluded(const struct counting_plan *plan, struct document *d)
{
	if (plan->none)
		doc_line(d, "  no hardware counters: %s", plan->none);
	doc_set(d, "none", plan->none);
	doc_list(d, "left_out");
	for (size_t i = 0; i < plan->n_absent; i++) {
		const struct counting_absent *absent = &plan->absent[i];

		/* The first line already has this reason. */
		if (!plan->none || strcmp(plan->none, absent->reason) != 0)
			doc_line(d, "  excluded: %s (%s)", absent->event, absent->reason);
		doc_object(d, NULL);
		doc_set(d, "event", absent->event);
		doc_set(d, "reason", absent->reason);
		doc_end(d);
	}
	doc_end(d);
}

/* Adds the cells of one stressor in one run, starting at index `at`, as a line of text and a JSON object. Returns the index after them. */
static size_t add_stressor(const struct counters *counters, size_t at, struct document *d)
{
	const struct counter_cell *first = &counters->cells[at];
	struct buf line = BUF_INIT;

	buf_format(&line, "    %-16s", first->stressor);
	doc_object(d, NULL);
	doc_set(d, "stressor", first->stressor);
	if (first->reason) {
		doc_set(d, "not_counted", first->reason);
		buf_format(&line, "  not counted (%s)", first->reason);
	} else {
		doc_set(d, "operations", first->operations);
		doc_set(d, "wall_ns", first->wall_ns);
		doc_object(d, "counts");
	}
	for (; at < counters->n && counters->cells[at].run == first->run && strcmp(counters->cells[at].stressor, first->stressor) == 0;
	     at++) {
		const struct counter_cell *cell = &counters->cells[at];

		if (first->reason || !cell->event)
			continue;
		doc_set(d, cell->event, cell->value);
		buf_format(&line, "  %s %" PRId64, cell->event, cell->value);
	}
	if (!first->reason)
		doc_end(d);
	doc_line(d, "%s", line.bytes);
	doc_end(d);
	buf_release(&line);
	return at;
}

static void add_runs(const struct counters *counters, struct document *d)
{
	size_t at = 0;

	doc_list(d, "runs");
	for (size_t i = 0; i < counters->plan.n; i++) {
		const struct counting_run *run = &counters->plan.runs[i];

		doc_object(d, NULL);
		doc_line(d, "  run %zu, %s, %s", i + 1, run->family,
			 strcmp(run->domain, "all") == 0 ? "with the kernel's part" : "in user space");
		doc_set(d, "family", run->family);
		doc_set(d, "domain", run->domain);
		doc_texts(d, "events", run->events.names, run->events.n);
		doc_list(d, "cells");
		while (at < counters->n && counters->cells[at].run == (int64_t)i + 1)
			at = add_stressor(counters, at, d);
		doc_end(d);
		doc_end(d);
	}
	doc_end(d);
}

/* Adds the member "counters"; null if the fingerprint has no counters. */
static enum assay_status counters_add(struct store *store, const char *fingerprint, struct document *d, struct assay_error *err)
{
	struct counters counters = { .n = 0 };
	bool found = false;
	enum assay_status st = stressor_counters_read_plan(store, fingerprint, &counters.plan, &found, err);

	if (!st)
		st = stressor_counters_read_cells(store, fingerprint, &counters.cells, &counters.n, err);
	if (!st && found) {
		doc_heading(d, "counters of one run of each stressor");
		doc_object(d, "counters");
		add_excluded(&counters.plan, d);
		add_runs(&counters, d);
		doc_end(d);
	} else if (!st) {
		doc_set(d, "counters", DOC_NULL_VALUE);
	}
	counting_plan_release(&counters.plan);
	stressor_counters_cells_free(counters.cells, counters.n);
	return st;
}

/* Finds the fingerprint that `word` names. Incomplete fingerprints can be named only by id. */
static enum assay_status choose_item(struct store *store, const struct fingerprint_listing *list, const char *word,
				     const struct fingerprint_item **out, struct assay_error *err)
{
	const struct fingerprint *chosen = NULL;
	struct fingerprint_set set = { 0 };
	enum assay_status st = ASSAY_OK;
	const char *id = word;

	*out = NULL;
	for (size_t i = 0; i < list->n; i++) {
		if (strcmp(list->items[i].head.id, word) == 0 && !list->items[i].complete)
			*out = &list->items[i];
	}
	if (*out)
		return ASSAY_OK;
	st = fingerprint_load(store, &set, err);
	if (!st)
		st = choose_fingerprint(&set, word, &chosen, err);
	if (!st)
		id = chosen->id;
	for (size_t i = 0; !st && i < list->n; i++) {
		if (strcmp(list->items[i].head.id, id) == 0)
			*out = &list->items[i];
	}
	fingerprint_set_release(&set);
	return st;
}

static enum assay_status show_fingerprint(struct store *store, const struct fingerprint_listing *list, const char *word, struct document *d,
					  struct assay_error *err)
{
	const struct fingerprint_item *item = NULL;
	enum assay_status st = choose_item(store, list, word, &item, err);

	if (!st)
		st = add_fingerprint(store, item, d, err);
	return st ? st : counters_add(store, item->head.id, d, err);
}

enum assay_status fingerprint_passes_show(struct lab *lab, const char *which, struct document *d, struct assay_error *err)
{
	struct fingerprint_listing list = { 0 };
	enum assay_status st = fingerprint_listing_load(&lab->store, &list, err);

	if (!st && which)
		st = show_fingerprint(&lab->store, &list, which, d, err);
	else if (!st)
		add_all(&list, d);
	fingerprint_listing_release(&list);
	return st;
}
