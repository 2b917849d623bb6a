/* Which imported metrics are better when higher (of what was measured here the plan's manifest says it: plan_metric.h): rules by the
 * application's name, kept in the laboratory; the last one that matches counts, and before them `stream` and `fio` (all tests) are
 * higher-is-better; everything else is a cost. */
#ifndef RUNS_RUNNING_METRIC_RULE_H
#define RUNS_RUNNING_METRIC_RULE_H

#include "base/error.h"
#include "fleet/lab/store.h"

#include <stdbool.h>
#include <stddef.h>

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

/* Keeps a rule behind all others (a rule with the same glob moves there); inside the caller's transaction. */
enum assay_status metric_rule_put(struct store *store, const char *glob, bool higher_is_better, struct assay_error *err);
/* The same for exactly this name, where the rules do not say so already. */
enum assay_status metric_rule_put_name(struct store *store, const char *application, bool higher_is_better, struct assay_error *err);

#endif
