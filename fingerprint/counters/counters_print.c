#include "fingerprint/counters/counters_print.h"

#include "base/mem.h"

#include <inttypes.h>

/* Everything that is known of the counters of one fingerprint. */
struct counters {
	struct counting_plan plan;
	struct counter_cell *cells; /* [n] */
	size_t n;
	bool found;
};

static enum assay_status load(struct store *store, const char *fingerprint, struct counters *out, struct assay_error *err)
{
	struct counters counters = { .n = 0 };
	enum assay_status st = counters_plan(store, fingerprint, &counters.plan, &counters.found, err);

	if (!st)
		st = counters_cells(store, fingerprint, &counters.cells, &counters.n, err);
	*out = counters;
	return st;
}

static void release(struct counters *counters)
{
	counting_plan_release(&counters->plan);
	counters_cells_free(counters->cells, counters->n);
}

static void print_plan(const struct counting_plan *plan, struct buf *out)
{
	if (plan->none)
		buf_format(out, "  no hardware counters: %s\n", plan->none);
	for (size_t i = 0; i < plan->n_absent; i++) {
		/* What stands there already need not be said of each event. */
		if (!plan->none || strcmp(plan->none, plan->absent[i].reason) != 0)
			buf_format(out, "  left out: %s (%s)\n", plan->absent[i].event, plan->absent[i].reason);
	}
}

/* A line a stressor. */
static void print_run(const struct counters *counters, size_t index, struct buf *out)
{
	const struct counting_run *run = &counters->plan.runs[index];
	const char *stressor = "";

	buf_format(out, "  run %zu, %s, %s\n", index + 1, run->family,
		   strcmp(run->domain, "all") == 0 ? "with the kernel's part" : "in user space");
	for (size_t i = 0; i < counters->n; i++) {
		const struct counter_cell *cell = &counters->cells[i];

		if (cell->run != (int64_t)index + 1)
			continue;
		if (strcmp(stressor, cell->stressor) != 0)
			buf_format(out, "%s    %-16s", *stressor ? "\n" : "", cell->stressor);
		stressor = cell->stressor;
		if (cell->reason)
			buf_format(out, "  not counted (%s)", cell->reason);
		else if (cell->event)
			buf_format(out, "  %s %" PRId64, cell->event, cell->value);
	}
	if (*stressor)
		buf_char(out, '\n');
}

enum assay_status counters_print(struct store *store, const char *fingerprint, struct buf *out, struct assay_error *err)
{
	struct counters counters;
	enum assay_status st = load(store, fingerprint, &counters, err);

	if (!st && counters.found) {
		buf_text(out, "\ncounters of one run of each stressor\n");
		print_plan(&counters.plan, out);
		for (size_t i = 0; i < counters.plan.n; i++)
			print_run(&counters, i, out);
	}
	release(&counters);
	return st;
}

/* The cells of one run from *at on, which moves behind them. */
static cJSON *cells_json(const struct counters *counters, int64_t run, size_t *at)
{
	cJSON *list = cJSON_CreateArray(), *object = NULL, *counts = NULL;
	const char *stressor = "";

	for (; *at < counters->n && counters->cells[*at].run == run; ++*at) {
		const struct counter_cell *cell = &counters->cells[*at];

		if (strcmp(stressor, cell->stressor) != 0) {
			stressor = cell->stressor;
			object = cJSON_CreateObject();
			cJSON_AddItemToArray(list, object);
			cJSON_AddStringToObject(object, "stressor", stressor);
			if (cell->reason) {
				cJSON_AddStringToObject(object, "not_counted", cell->reason);
				continue;
			}
			cJSON_AddNumberToObject(object, "operations", cell->operations);
			cJSON_AddNumberToObject(object, "wall_ns", (double)cell->wall_ns);
			counts = cJSON_AddObjectToObject(object, "counts");
		}
		if (cell->event)
			cJSON_AddNumberToObject(counts, cell->event, (double)cell->value);
	}
	return list;
}

static cJSON *runs_json(const struct counters *counters)
{
	cJSON *list = cJSON_CreateArray();
	size_t at = 0;

	for (size_t i = 0; i < counters->plan.n; i++) {
		const struct counting_run *run = &counters->plan.runs[i];
		cJSON *object = cJSON_CreateObject();

		cJSON_AddItemToArray(list, object);
		cJSON_AddStringToObject(object, "family", run->family);
		cJSON_AddStringToObject(object, "domain", run->domain);
		cJSON_AddItemToObject(object, "events", cJSON_CreateStringArray((const char *const *)run->events.names, (int)run->events.n));
		cJSON_AddItemToObject(object, "cells", cells_json(counters, (int64_t)i + 1, &at));
	}
	return list;
}

static cJSON *plan_json(const struct counters *counters)
{
	cJSON *object = cJSON_CreateObject(), *list;

	cJSON_AddItemToObject(object, "none", counters->plan.none ? cJSON_CreateString(counters->plan.none) : cJSON_CreateNull());
	list = cJSON_AddArrayToObject(object, "left_out");
	for (size_t i = 0; i < counters->plan.n_absent; i++) {
		cJSON *event = cJSON_CreateObject();

		cJSON_AddItemToArray(list, event);
		cJSON_AddStringToObject(event, "event", counters->plan.absent[i].event);
		cJSON_AddStringToObject(event, "reason", counters->plan.absent[i].reason);
	}
	cJSON_AddItemToObject(object, "runs", runs_json(counters));
	return object;
}

enum assay_status counters_json(struct store *store, const char *fingerprint, cJSON **out, struct assay_error *err)
{
	struct counters counters;
	enum assay_status st = load(store, fingerprint, &counters, err);

	*out = NULL;
	if (!st)
		*out = counters.found ? plan_json(&counters) : cJSON_CreateNull();
	release(&counters);
	return st;
}
