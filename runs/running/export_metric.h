/* Which metric, and in which direction, an export has of each application: a file has no room for two. */
#ifndef RUNS_RUNNING_EXPORT_METRIC_H
#define RUNS_RUNNING_EXPORT_METRIC_H

#include "base/error.h"
#include "fleet/lab/store.h"
#include "runs/running/plan_metric.h"

#include <stdbool.h>
#include <stddef.h>

struct export_application {
	char *name;                       /* as the store knows it */
	const struct plan_metric *latest; /* of the latest plan of which there are results; NULL: all are imported, or nothing is known */
	bool higher_is_better;
};

struct export_metrics {
	struct plan_metrics plans;
	struct export_application *items; /* [n], by name */
	size_t n;
	bool directions; /* one of them is not what an import takes for granted */
};

/* *out is overwritten; export_metrics_release() it. */
enum assay_status export_metrics_load(struct store *store, struct export_metrics *out, struct assay_error *err);
void export_metrics_release(struct export_metrics *metrics); /* accepts zeroed */

/* Of an application that has results. */
bool export_metrics_higher(const struct export_metrics *metrics, const char *application);
/* Are results of this plan ("": imported) under the application's metric, as far as is known? */
bool export_metrics_same(const struct export_metrics *metrics, const char *application, const char *plan);

#endif
