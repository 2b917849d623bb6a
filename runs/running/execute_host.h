/* One host while its part of a plan is executed; what all hosts share. */
#ifndef RUNS_RUNNING_EXECUTE_HOST_H
#define RUNS_RUNNING_EXECUTE_HOST_H

#include "fingerprint/catalog/catalog.h"
#include "fleet/counters/counting_client.h"
#include "fleet/engine/session.h"
#include "runs/running/execute.h"
#include "runs/running/own_features.h"

/* Between samples of where the time of results goes (their cost: docs/evidence/sampling.md). No multiple of the kernel's timers. */
#define EXECUTE_SAMPLE_NS 10007000

struct execute {
	struct lab *lab;
	const struct execute_options *options;
	struct execute_result *results; /* by index */
	struct execute_host *hosts;	/* [n], those that have something to do */
	size_t n;
	struct catalog catalog;
	bool identified; /* the catalog has a machine that it had not before */
	struct sampled_lines *lines;
	bool *hung;		  /* [versions x inputs], anywhere */
	size_t cells_done, cells; /* of all hosts */
	struct assay_error fault; /* of the store: ends everything */
	bool failed;
};

/* What is usual on one host, of each version and input: which runs are repeated. Begins zeroed. */
struct repeat {
	struct repeat_usual *usual; /* [n] */
	size_t n, runs, repeated;
};

struct execute_host {
	struct execute *x;
	const struct host *host;
	struct session *session; /* while its function runs */
	size_t index;		 /* of the plan's machines and of the results */
	struct plan_cell *cells; /* [n_cells], in the order in which they are run */
	bool *done;		 /* [n_cells] */
	size_t n_cells;
	bool *hung;			  /* [versions x inputs], with hang_once: has reached its time limit here */
	int64_t block;			  /* that was begun last */
	char *directory, *work, *samples; /* absolute, on the host; NULL while they are not there */
	int64_t clock_ahead_ms;
	char *architecture;		/* as `uname -m` says it there; NULL: not known */
	char *hardware_type;		/* NULL: not known */
	char *emulated;			/* of an emulated host its profile, whichever laboratory it is of; else NULL */
	const struct artefact **builds; /* [n_versions], what they have for themselves here */
	bool *counts;			/* [n_versions], counting builds: their runs leave files of features */
	char **stacks;			/* [n_versions], NULL where it is not known */
	struct counting_events events;	/* of an instrumented plan: to be counted; n == 0: none */
	struct repeat repeat;		/* of plans without a probe */
	struct counting_plan packs;	/* the runs that they take, all in each repetition */
	struct own_features own;	/* what the manifest's `features` has printed here */
};

/* All that is done on one host, from the way there to cleaning up; for fleet_each(), whose context is the struct execute. */
void execute_host(struct session *session, void *context);

/* Returns the place of a cell's version and input in `hung`. */
static inline size_t execute_pair(const struct execute_host *h, size_t cell)
{
	return h->cells[cell].input * h->x->options->plan->n_versions + h->cells[cell].version;
}

void execute_host_release(struct execute_host *h, size_t n_versions);

#endif
