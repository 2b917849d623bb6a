/* Which versions, inputs and machines a plan is made of. */
#ifndef RUNS_RUNNING_PLAN_CHOOSE_H
#define RUNS_RUNNING_PLAN_CHOOSE_H

#include "base/error.h"
#include "fleet/inventory/inventory.h"
#include "runs/running/plan.h"

#define PLAN_CELLS_MAX 1000000 /* runs of one machine */

/* What the user asked for. */
struct plan_choice {
	struct manifest_words versions, inputs; /* names; n == 0: all */
	int64_t repetitions;                    /* 0: the manifest's */
	bool has_seed;
	uint64_t seed;                          /* else one is drawn */
	bool probe;                             /* functions are measured, as the manifest's `probe` says */
};
void plan_choice_release(struct plan_choice *choice); /* accepts zeroed */

/* A plan that is not in the store yet: all but id, time and the artefacts' hashes, which are "". ASSAY_E_USAGE for names that the
 * manifest does not have (with the nearest) and names that come twice, and for a probe of which the manifest says nothing. *out is overwritten; plan_release() it. */
enum assay_status plan_choose(const struct manifest *manifest, const struct plan_choice *choice, const struct host *const *hosts, size_t n,
			      struct plan *out, struct assay_error *err);

/* Does the choice contradict a plan that is to be gone on with? hosts: NULL when no hosts were named. ASSAY_E_USAGE. */
enum assay_status plan_check_choice(const struct plan *plan, const struct plan_choice *choice, const struct host *const *hosts, size_t n,
				    struct assay_error *err);

/* The hosts of a plan's machines, in its order: (*out)[plan->n_machines] borrowed from the inventory; free(*out). ASSAY_E_NOTFOUND when
 * lab.yaml has one of them no more. */
enum assay_status plan_hosts(const struct plan *plan, const struct inventory *inventory, const struct host ***out, struct assay_error *err);

#endif
