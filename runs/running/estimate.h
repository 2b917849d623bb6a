/* How long runs will take, by those that the store has. */
#ifndef RUNS_RUNNING_ESTIMATE_H
#define RUNS_RUNNING_ESTIMATE_H

#include "base/error.h"
#include "runs/running/plan.h"

#include <stddef.h>

struct estimate {
	size_t runs;	  /* that are left to do, warm-ups too */
	size_t unknown;	  /* of these: no run of their version and input was ever measured */
	double seconds;	  /* of the known ones: medians of the same machine, else of the other machines */
	double at_most_s; /* of the unknown ones: their time limits */
};

/* For each machine of the plan: out[plan->n_machines]. What lies between runs is not in it. */
enum assay_status estimate_plan(struct store *store, const struct manifest *manifest, const struct plan *plan, struct estimate *out,
				struct assay_error *err);

/* Together: hosts of one box one after another, boxes in parallel. hosts[plan->n_machines]. `runs` and `unknown` are sums. */
struct estimate estimate_total(const struct estimate *each, const struct host *const *hosts, size_t n);

#endif
