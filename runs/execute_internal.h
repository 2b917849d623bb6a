/* Shared by execute*.c and nobody else. */
#ifndef RUNS_EXECUTE_INTERNAL_H
#define RUNS_EXECUTE_INTERNAL_H

#include "fingerprint/catalog.h"
#include "fleet/agent/agent.h"
#include "fleet/agent/measure.h"
#include "runs/execute.h"

#define EXECUTE_COMMAND_MS (5 * 60 * 1000) /* of what prepares and cleans up */
#define EXECUTE_PREFIX     "assay-run-"    /* directories on hosts: user, plan and machine follow */

/* What is done on a host, in this order; WORK and RUN again and again. */
enum execute_stage {
	EXECUTE_FACTS,
	EXECUTE_SWEEP,     /* what other sessions left */
	EXECUTE_DIRECTORY, /* of this session, in the place of what an earlier session of this very plan left */
	EXECUTE_TREE,      /* the directories in it */
	EXECUTE_PUT,       /* file by file */
	EXECUTE_STACK,     /* version by version */
	EXECUTE_WORK,      /* a new, empty directory */
	EXECUTE_RUN,
	EXECUTE_REMOVE,
};

struct execute_host {
	const struct host *host;
	size_t index;             /* of the plan's machines and of the results */
	enum execute_stage stage;
	struct plan_cell *cells;  /* [n_cells] */
	bool *done;               /* [n_cells] */
	size_t n_cells, cell;     /* the one that is being run */
	char *directory, *work;   /* absolute, on the host; NULL while its user is not known */
	int64_t user, clock_ahead_ms;
	size_t set, file;         /* being put: 0 the common files, else those of version set - 1 */
	size_t version;           /* whose stack is asked for */
	char **stacks;            /* [n_versions], NULL where it is not known */
	int64_t started_ms;       /* 0: not reached */
	char *fault;              /* why this host ended early */
};

struct execute {
	struct agent agent; /* first member */
	struct lab *lab;
	const struct execute_options *options;
	struct execute_result *results;  /* by index */
	struct execute_host *hosts;      /* [n], those that have something to do; the first `active` of them are run */
	size_t n, active;
	struct catalog catalog;
	char **stale;                    /* [n_stale], plans of which something may be left on hosts */
	size_t n_stale;
	size_t *versions, *inputs;       /* of the plan: indices in the manifest */
	char **stored_names;             /* [n_inputs] of the plan */
	struct measure_turns turns;
	bool look_only;                  /* at the software stack */
	size_t cells_done, cells;        /* of all hosts */
	struct assay_error fault;        /* of the store: ends everything */
	bool failed;
};

/* execute_stages.c: the agent's and the driver's callbacks. */
bool execute_next(struct agent *agent, size_t index, const struct helper_answer *last, struct helper_request *out, int64_t *timeout_ms);
bool execute_may_start(struct fleet_driver *driver, size_t index);
void execute_done(struct fleet_driver *driver, size_t index, const struct fleet_result *result, size_t n_done, size_t n);

/* execute_request.c: the request of the stage that h->stage names. False when it cannot be made: h->fault says why. */
bool execute_request(const struct execute *x, struct execute_host *h, struct helper_request *out);
const struct artefact *execute_files(const struct execute *x, size_t set);

/* execute_judge.c: what came of a run. False, with *fault, when nothing was run and the command is not the reason. free() *fault,
 * execution_release() *out. */
bool execute_judge(const struct metric *metric, const struct helper_answer *answer, struct execution *out, char **fault);
/* The connection was cut because it printed too much: what had come. */
void execute_judge_flood(const struct fleet_result *result, struct execution *out);

#endif
