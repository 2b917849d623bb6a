/* Which direction of a metric is better: of what was measured here the manifest that is kept with the plan says it; of what was
 * imported, rules on the application's name, kept in the laboratory. The last rule that matches counts, and before them all
 * `stream` and `fio` are higher-is-better; everything else is a cost. */
#ifndef RUNS_RUNNING_METRIC_DIRECTION_H
#define RUNS_RUNNING_METRIC_DIRECTION_H

#include "base/digest.h"
#include "base/error.h"
#include "fleet/lab/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct metric_rule {
	char *glob; /* shell pattern, '*' also matches '/' */
	bool higher_is_better;
};

struct metric_rules {
	struct metric_rule *items; /* [n], in the order in which they are applied */
	size_t n, capacity;
};

enum assay_status metric_rules_load(struct store *store, struct metric_rules *out, struct assay_error *err);
void metric_rules_release(struct metric_rules *rules);
bool metric_rules_higher_is_better(const struct metric_rules *rules, const char *application);

/* Where a laboratory has no rules of its own: is it better when higher? */
bool metric_rules_granted(const char *application);

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
