/* What each plan measured, as the manifest that is kept with it says. */
#ifndef RUNS_RUNNING_PLAN_METRIC_H
#define RUNS_RUNNING_PLAN_METRIC_H

#include "base/digest.h"
#include "base/error.h"
#include "fleet/lab/store.h"
#include "runs/running/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* NULL: there is no such plan, or its manifest cannot be read. */
const struct plan_metric *plan_metrics_find(const struct plan_metrics *metrics, const char *plan);

#endif
