#include "runs/running/metric_direction.h"

#include "base/mem.h"
#include "base/order.h"
#include "runs/running/manifest.h"

enum assay_status metric_direction_load(struct store *store, const char *application, bool *higher_is_better, struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st =
	    store_ask(store, &stmt, err, "SELECT higher_is_better FROM metric_direction WHERE application = ?", "t", application);

	*higher_is_better = store_next(store, stmt, &st, err) && sqlite3_column_int(stmt, 0);
	return store_finish(stmt, st);
}

/* The metric belongs to the whole manifest: any of its versions says the same. */
static void direction_read_manifest(const char *text, struct plan_metric *out)
{
	struct manifest manifest = { .file = NULL };
	struct manifest_terms terms;
	struct assay_error ignored;

	*out->hash = '\0';
	if (manifest_parse("plan", text, strlen(text), &manifest, &ignored) == ASSAY_OK) {
		manifest_terms_of(&manifest, 0, 0, &terms);
		memcpy(out->hash, terms.metric, sizeof(out->hash));
		out->higher_is_better = terms.higher_is_better;
	}
	manifest_release(&manifest);
}

ORDER_BY(direction_compare_plans, struct plan_metric, BY_TEXT(plan))

enum assay_status plan_metrics_load(struct store *store, struct plan_metrics *out, struct assay_error *err)
{
	struct plan_metrics metrics = { NULL, 0 };
	char manifest_hash[DIGEST_HEX_BYTES] = "";
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	enum assay_status st = store_prepare(
	    store, "SELECT id, started_ms, manifest_hash, manifest FROM plan WHERE probe IS NULL ORDER BY application, started_ms, id",
	    &stmt, err);

	while (store_next(store, stmt, &st, err)) {
		struct plan_metric *metric;

		metric = mem_next(metrics.items, metrics.n, &capacity);
		*metric = metrics.n > 1 ? metrics.items[metrics.n - 2] : (struct plan_metric){ .plan = "" };
		if (strcmp(manifest_hash, store_text(stmt, 2)) != 0)
			direction_read_manifest(store_text(stmt, 3), metric);
		snprintf(manifest_hash, sizeof(manifest_hash), "%s", store_text(stmt, 2));
		snprintf(metric->plan, sizeof(metric->plan), "%s", store_text(stmt, 0));
		metric->started_ms = sqlite3_column_int64(stmt, 1);
	}
	sqlite3_finalize(stmt);
	order_sort(metrics.items, metrics.n, direction_compare_plans);
	*out = metrics;
	if (st)
		plan_metrics_release(out);
	return st;
}

void plan_metrics_release(struct plan_metrics *metrics)
{
	free(metrics->items);
	*metrics = (struct plan_metrics){ NULL, 0 };
}

const struct plan_metric *plan_metrics_find(const struct plan_metrics *metrics, const char *plan)
{
	const struct plan_metric *found;
	struct plan_metric key;

	snprintf(key.plan, sizeof(key.plan), "%s", plan);
	found = metrics->n ? bsearch(&key, metrics->items, metrics->n, sizeof(*metrics->items), direction_compare_plans) : NULL;
	return found && *found->hash ? found : NULL;
}
