#include "runs/running/export_metric.h"

#include "base/mem.h"
#include "runs/running/metric_rule.h"

/* Rows come by application: the last item is the one at hand, if it is of this row. */
static void take_row(struct export_metrics *m, size_t *capacity, const char *application, const char *plan, const struct metric_rules *rules)
{
	const struct plan_metric *metric = plan_metrics_find(&m->plans, plan);
	struct export_application *item = m->n ? &m->items[m->n - 1] : NULL;

	if (!item || strcmp(item->name, application) != 0) {
		m->items = mem_grow(m->items, m->n, capacity, sizeof(*m->items));
		item = &m->items[m->n++];
		*item = (struct export_application){ mem_string(application), NULL, metric_rules_higher_is_better(rules, application) };
	}
	if (metric && (!item->latest || metric->started_ms > item->latest->started_ms)) {
		item->latest = metric;
		item->higher_is_better = metric->higher_is_better;
	}
}

enum assay_status export_metrics_load(struct store *store, struct export_metrics *out, struct assay_error *err)
{
	struct export_metrics m = { .items = NULL };
	struct metric_rules rules = { 0 };
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	bool row = true;
	enum assay_status st = plan_metrics_load(store, &m.plans, err);

	if (!st)
		st = metric_rules_load(store, &rules, err);
	if (!st)
		st = store_prepare(store, "SELECT DISTINCT application, plan FROM run ORDER BY application, plan", &stmt, err);
	while (!st) {
		st = store_step(store, stmt, &row, err);
		if (st || !row)
			break;
		take_row(&m, &capacity, store_text(stmt, 0), store_text(stmt, 1), &rules);
	}
	for (size_t i = 0; i < m.n; i++)
		m.directions = m.directions || m.items[i].higher_is_better != metric_rules_granted(m.items[i].name);
	sqlite3_finalize(stmt);
	metric_rules_release(&rules);
	*out = m;
	if (st)
		export_metrics_release(out);
	return st;
}

void export_metrics_release(struct export_metrics *metrics)
{
	for (size_t i = 0; i < metrics->n; i++)
		free(metrics->items[i].name);
	free(metrics->items);
	plan_metrics_release(&metrics->plans);
	*metrics = (struct export_metrics){ .items = NULL };
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct export_application *)a)->name, ((const struct export_application *)b)->name);
}

static const struct export_application *find(const struct export_metrics *metrics, const char *application)
{
	char *name = mem_string(application);
	const struct export_application key = { name, NULL, false }, *found;

	found = metrics->n ? bsearch(&key, metrics->items, metrics->n, sizeof(*metrics->items), compare_names) : NULL;
	ASSAY_BUG_IF(!found);
	free(name);
	return found;
}

bool export_metrics_higher(const struct export_metrics *metrics, const char *application)
{
	return find(metrics, application)->higher_is_better;
}

bool export_metrics_same(const struct export_metrics *metrics, const char *application, const char *plan)
{
	const struct export_application *of = find(metrics, application);
	const struct plan_metric *metric = plan_metrics_find(&metrics->plans, plan);

	return !metric || !of->latest || strcmp(metric->hash, of->latest->hash) == 0;
}
