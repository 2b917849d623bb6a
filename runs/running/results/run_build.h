/* What was behind the name of a version when it ran: the files that a plan deployed for it, and what was done with them. */
#ifndef RUNS_RESULTS_RUN_BUILD_H
#define RUNS_RESULTS_RUN_BUILD_H

#include "base/error.h"
#include "fleet/lab/store.h"
#include "runs/running/results/run.h"

#include <stddef.h>
#include <stdint.h>

/* A plan without a probe that has the version. */
struct run_build {
	char plan[RUN_PLAN_BYTES];
	char id[RUN_BUILD_BYTES]; /* of artefact, command, environment, arguments of the input, directory, metric: the same in plans of one build */
	int64_t last_ms;          /* when it began; who knows its runs of the version raises it to the last of them */
	size_t planned;           /* runs of the version in it */
	struct manifest_terms terms; /* of its manifest */
};

struct run_builds {
	struct run_build *items; /* [n], by plan */
	size_t n;
};

/* *out is overwritten; run_builds_release() it. Cost: parses each manifest that differs from that of the plan behind it. */
enum assay_status run_builds_load(struct store *store, const char *application, const char *version, struct run_builds *out,
				  struct assay_error *err);
void run_builds_release(struct run_builds *builds); /* accepts zeroed */

/* NULL when there is none: imported. */
struct run_build *run_builds_find(const struct run_builds *builds, const char *plan);
/* The one with the largest last_ms; NULL when there is none. */
const struct run_build *run_builds_latest(const struct run_builds *builds);

/* Of two plans, with a probe or without: is it known that they ran something else for the version with this input (other programs or libraries
 * deployed, another command, environment or arguments)? What is not known is no difference. Cost: parses both manifests. */
enum assay_status run_plans_differ(struct store *store, const char *const plans[2], const char *version, const char *input, bool *out,
				   struct assay_error *err);

#endif
