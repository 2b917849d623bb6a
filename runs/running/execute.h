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

#define EXECUTE_BLOCKS_MIN 2 /* number of blocks of two mirrored repetitions; an interval from one machine needs three blocks */

/* Interval between CPU samples, ns; not a multiple of the kernel's timer intervals. docs/evidence/sampling.md has the cost. */
#define EXECUTE_SAMPLE_NS 10007000

struct execute_options {
	const struct manifest *manifest;
	const struct plan *plan;		 /* already in the store; plan machine i is hosts[i] */
	const struct artefact *files;		 /* files common to all versions */
	struct artefact *const *versions;	 /* [plan->n_versions], files of each version: [n_own] as in the manifest, or empty */
	const struct execution_features *inputs; /* [plan->n_inputs], static features */
	const struct instrument *instrument;	 /* NULL if the plan has no probe */
	bool hang_once;				 /* do not repeat a version and input that hung on a host; after `until_ns`, on any host */
	int64_t until_ns; /* clock_monotonic_ns() after which a host starts no block beyond EXECUTE_BLOCKS_MIN; 0: no limit */
	const struct fleet_options *fleet;
	/* Called after each run; may be NULL. `done` and `total` count runs of all machines, warm-ups included. */
	void (*progress)(const struct host *host, const struct execution *execution, size_t done, size_t total);
};

struct execute_result {
	struct fleet_result fleet; /* outcome of the host; ok even if runs on this host failed */
	size_t ok, failed;	   /* numbers of results and failures of this session, without warm-ups */
	size_t known;		   /* number of runs that earlier sessions had made */
	char *stack;		   /* hash over the software stacks of all versions; NULL if a stack is unknown */
	double seconds;
};

/* Executes the plan on all hosts. For each of results[0..n), the caller releases `fleet` and free()s `stack`. A status other than ASSAY_OK
 * is a fault of this machine or its store, and ends all hosts. */
enum assay_status execute_plan(struct lab *lab, const struct host *const *hosts, size_t n, const struct execute_options *options,
			       struct execute_result *results, struct assay_error *err);

#endif
