/* Which direction of a metric is better. The manifest that is kept with a plan says it of results that were measured here; of imported
 * results the laboratory keeps it by application. */
#ifndef RUNS_RUNNING_METRIC_DIRECTION_H
#define RUNS_RUNNING_METRIC_DIRECTION_H

#include "base/digest.h"
#include "base/error.h"
#include "fleet/lab/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False if nothing was imported of the application. */
enum assay_status metric_direction_load(struct store *store, const char *application, bool *higher_is_better, struct assay_error *err);

/* What each plan measured. */
struct plan_metric {
	char plan[DIGEST_ID_BYTES];
	char hash[DIGEST_HEX_BYTES]; /* of the metric; "": this program cannot read the manifest */
	bool higher_is_better;
	int64_t started_ms;
};

struct plan_metrics {
	struct plan_metric *items; /* [n], by plan; without those with a probe */
	size_t n;
};

/* *out is overwritten; plan_metrics_release() it. Cost: parses each manifest that differs from that of the application's plan before it. */
enum assay_status plan_metrics_load(struct store *store, struct plan_metrics *out, struct assay_error *err);
void plan_metrics_release(struct plan_metrics *metrics); /* accepts zeroed */

/* NULL if there is no such plan, or its manifest cannot be read. */
const struct plan_metric *plan_metrics_find(const struct plan_metrics *metrics, const char *plan);

#endif
