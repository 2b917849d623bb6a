/* Runs the versions of an application on many machines, in parallel, but with only one run at a time per physical host. Stores each run
 * when it ends. */
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

#define EXECUTE_BLOCKS_MIN 2 /* minimum number of blocks of two mirrored repetitions; an interval from one machine needs three */

/* Interval between CPU samples, ns; no multiple of the kernel's timer intervals. docs/evidence/sampling.md has the cost of sampling. */
#define EXECUTE_SAMPLE_NS 10007000

struct execute_options {
	const struct manifest *manifest;
	const struct plan *plan;	  /* stored plan; hosts[i] of execute_plan() is the plan's machine i */
	const struct artefact *files;	  /* files that all versions share */
	struct artefact *const *versions; /* [plan->n_versions], files of each version: [n_own] as in the manifest, or one empty artefact */
	const struct execution_features *inputs; /* [plan->n_inputs], static features of each input */
	const struct instrument *instrument;	 /* measurement of functions; NULL if the plan has no probe */
	bool skip_hung;	  /* if set, a version and input that hung on a host is not repeated there, and after `until_ns` on no host */
	int64_t until_ns; /* clock_monotonic_ns() after which a host starts no block beyond EXECUTE_BLOCKS_MIN; 0 if there is no limit */
	const struct fleet_options *fleet;
	/* Called after each run; may be NULL. `done` and `total` are numbers of runs on all machines, including warm-ups. */
	void (*progress)(const struct host *host, const struct execution *execution, size_t done, size_t total);
};

struct execute_result {
	struct fleet_result fleet; /* outcome of the host itself; ok even if runs on this host failed */
	size_t ok, failed;	   /* numbers of results and of failed runs in this session, without warm-ups */
	size_t known;		   /* number of runs that earlier sessions have stored */
	char *stack;		   /* hash over the software stacks of all versions; NULL if a stack is unknown */
	double seconds;
};

/* Executes the plan on hosts[0..n). For each of results[0..n), the caller releases `fleet` and frees `stack`. Any status other than
 * ASSAY_OK is a fault of this machine or of its store, and ends the runs on all hosts. */
enum assay_status execute_plan(struct lab *lab, const struct host *const *hosts, size_t n, const struct execute_options *options,
			       struct execute_result *results, struct assay_error *err);

#endif
