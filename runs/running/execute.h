/* Runs the versions of an application on many machines: machines in parallel, one run at a time per physical host. Each run is committed as
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

#define EXECUTE_BLOCKS_MIN 2 /* blocks of two mirrored repetitions; a single machine needs three for an interval */

/* Interval between samples of where the time of results goes (cost: docs/evidence/sampling.md). No multiple of the kernel's timers. */
#define EXECUTE_SAMPLE_NS 10007000

struct execute_options {
	const struct manifest *manifest;
	const struct plan *plan;	  /* already in the store; its machines are hosts[], in the same order */
	const struct artefact *files;	  /* common to all versions */
	struct artefact *const *versions; /* [plan->n_versions], per version [n_own] as in the manifest; empty if the version has none */
	const struct execution_features *inputs; /* [plan->n_inputs], static features */
	const struct instrument *instrument;	 /* NULL if the plan has no probe */
	bool hang_once;	  /* what reached its time limit once is not run again on that host, after `until_ns` on no host */
	int64_t until_ns; /* time of clock_monotonic_ns() after which a host starts no block beyond EXECUTE_BLOCKS_MIN; 0: no limit */
	const struct fleet_options *fleet;
	/* Called after each run; may be NULL. `done` and `total` count runs of all machines, warm-ups included. */
	void (*progress)(const struct host *host, const struct execution *execution, size_t done, size_t total);
};

struct execute_result {
	struct fleet_result fleet; /* how the host ended; ok even if runs on it failed */
	size_t ok, failed;	   /* results and failures of this session, without warm-ups */
	size_t known;		   /* number of runs that an earlier session had made */
	char *stack;		   /* hash over the software stacks of all versions, or NULL */
	double seconds;
};

/* Runs the plan to the end on all hosts. The caller releases `fleet` and free()s `stack` of each of results[n]. Any status but ASSAY_OK is
 * a fault of this machine or its store and ends everything. */
enum assay_status execute_plan(struct lab *lab, const struct host *const *hosts, size_t n, const struct execute_options *options,
			       struct execute_result *results, struct assay_error *err);

#endif
