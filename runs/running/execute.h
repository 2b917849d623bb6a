/* Runs the versions of an application on many machines: machines in parallel, one run at a time on a box, everything committed as
 * it arrives. */
#ifndef RUNS_RUNNING_EXECUTE_H
#define RUNS_RUNNING_EXECUTE_H

#include "base/error.h"
#include "fleet/engine/session.h"
#include "fleet/lab/lab.h"
#include "runs/running/artefact.h"
#include "runs/running/execution.h"
#include "runs/running/instrument.h"
#include "runs/running/plan.h"

#include <stdbool.h>
#include <stddef.h>

#define EXECUTE_BLOCKS_MIN 2 /* of two repetitions, which are each other's mirror: one machine alone needs three for an interval */

/* Between samples of where the time of results goes (their cost: docs/evidence/sampling.md). No multiple of the kernel's timers. */
#define EXECUTE_SAMPLE_NS 10007000

struct execute_options {
	const struct manifest *manifest;
	const struct plan *plan;	  /* in the store already; machines are hosts[] in the same order */
	const struct artefact *files;	  /* common to all versions */
	struct artefact *const *versions; /* [plan->n_versions], of each as the manifest has it: [n_own]; an empty one where it has none */
	const struct execution_features *inputs; /* [plan->n_inputs], what is known of them */
	const struct instrument *instrument;	 /* of a plan with a probe; else NULL */
	bool hang_once;	  /* what has reached its time limit once is not run again on that host, past `until_ns` on none */
	int64_t until_ns; /* by clock_monotonic_ns(): a host goes on past it for EXECUTE_BLOCKS_MIN blocks alone; 0: to the end */
	const struct fleet_options *fleet;
	/* May be NULL: a run has ended. done and total count runs of all machines, warm-ups too. */
	void (*progress)(const struct host *host, const struct execution *execution, size_t done, size_t total);
};

struct execute_result {
	struct fleet_result fleet; /* how the host ended; ok even if runs on it failed */
	size_t ok, failed;	   /* results and failures of this session, without warm-ups */
	size_t known;		   /* that an earlier session had */
	char *stack;		   /* hash of the software stack of all versions, or NULL */
	double seconds;
};

/* To the end of all hosts; results[n], of each release `fleet` and free `stack`. A status other than ASSAY_OK is a fault of this machine or
 * of its store, and ends everything. */
enum assay_status execute_plan(struct lab *lab, const struct host *const *hosts, size_t n, const struct execute_options *options,
			       struct execute_result *results, struct assay_error *err);

#endif
