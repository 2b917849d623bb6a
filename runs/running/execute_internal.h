/* Shared by execute*.c and nobody else. */
#ifndef RUNS_RUNNING_EXECUTE_INTERNAL_H
#define RUNS_RUNNING_EXECUTE_INTERNAL_H

#include "fingerprint/catalog/catalog.h"
#include "fleet/agent/agent.h"
#include "fleet/agent/measure.h"
#include "runs/running/execute.h"

#define EXECUTE_COMMAND_MS (5 * 60 * 1000)  /* of what prepares and cleans up */
#define EXECUTE_FETCH_MS   (60 * 60 * 1000) /* of one file of samples */
#define EXECUTE_PREFIX     "assay-run-"     /* directories on hosts: user, plan and machine follow */

/* What is done on a host, in this order; WORK to FETCH again and again. */
enum execute_stage {
	EXECUTE_FACTS,
	EXECUTE_SWEEP,     /* what other sessions left */
	EXECUTE_DIRECTORY, /* of this session, in the place of what an earlier session of this very plan left */
	EXECUTE_TREE,      /* the directories in it */
	EXECUTE_PUT,       /* file by file */
	EXECUTE_STACK,     /* version by version */
	EXECUTE_COUNTERS,  /* of an instrumented plan: what can be counted there, in how many runs? */
	EXECUTE_COUNTING,  /* the program that knows it, where it is missing */
	EXECUTE_WORK,      /* a new, empty directory */
	EXECUTE_RUN,
	EXECUTE_LIST,  /* the files of samples of an instrumented run */
	EXECUTE_FETCH, /* file by file */
	EXECUTE_REMOVE,
};

/* A file of samples on a host. */
struct execute_file {
	char *name;
	uint64_t bytes;
};

/* Of an instrumented plan, on one host. */
struct execute_probe {
	char *samples;                 /* directory on the host */
	char *hardware_type;           /* NULL: not known */
	struct counting_events events; /* to ask for; n == 0: none */
	struct counting_plan packs;    /* runs that the events take, all in each repetition */
	bool asked, deployed;
	size_t pack;              /* the one that is being run */
	struct execution pending; /* the repetition, while its packs are run and its samples come in */
	bool has_pending;
	struct execute_file *files;     /* [n] of the last run */
	size_t n, file, capacity, kept; /* kept: of this pack */
};

struct execute_host {
	const struct host *host;
	size_t index; /* of the plan's machines and of the results */
	enum execute_stage stage;
	struct plan_cell *cells; /* [n_cells] */
	bool *done;              /* [n_cells] */
	size_t n_cells, cell;    /* the one that is being run */
	struct execute_probe probe;
	char *directory, *work; /* absolute, on the host; NULL while its user is not known */
	int64_t user, clock_ahead_ms;
	size_t set, file; /* being put: 0 the common files, else those of version set - 1, behind them those of the instrument */
	size_t version;   /* whose stack is asked for */
	char **stacks;    /* [n_versions], NULL where it is not known */
	int64_t started_ms; /* 0: not reached */
	char *fault;        /* why this host ended early */
};

struct execute {
	struct agent agent; /* first member */
	struct lab *lab;
	const struct execute_options *options;
	struct execute_result *results; /* by index */
	struct execute_host *hosts;     /* [n], those that have something to do; the first `active` of them are run */
	size_t n, active;
	struct catalog catalog;
	char **stale; /* [n_stale], plans of which something may be left on hosts */
	size_t n_stale;
	size_t *versions, *inputs; /* of the plan: indices in the manifest */
	char **stored_names;       /* [n_inputs] of the plan */
	struct measure_turns turns;
	bool look_only;           /* at the software stack */
	size_t cells_done, cells; /* of all hosts */
	struct assay_error fault; /* of the store: ends everything */
	bool failed;
};

/* execute_stages.c: the agent's and the driver's callbacks. */
bool execute_next(struct agent *agent, size_t index, const struct helper_answer *last, struct helper_request *out,
                  int64_t *timeout_ms);
bool execute_may_start(struct fleet_driver *driver, size_t index);
void execute_done(struct fleet_driver *driver, size_t index, const struct fleet_result *result, size_t n_done, size_t n);

/* execute_request.c: the request of the stage that h->stage names. False when it cannot be made: h->fault says why. */
bool execute_request(const struct execute *x, struct execute_host *h, struct helper_request *out);
const struct artefact *execute_files(const struct execute *x, size_t set);
size_t execute_sets(const struct execute *x);

/* execute_stages.c, for execute_samples.c: what goes on behind a run, and ways to end. */
bool execute_leave(struct execute_host *h, const char *why); /* the host ends early, but cleans up */
bool execute_leave_with(struct execute_host *h, const struct helper_answer *answer, const char *what);
bool execute_went_well(const struct helper_answer *answer);
bool execute_store_failed(struct execute *x, struct execute_host *h, const struct assay_error *err); /* every host ends; false */
/* Commits it, unless it was a warm-up, and counts it; false when the store has failed. */
bool execute_settle(struct execute *x, struct execute_host *h, struct execution *e);

/* execute_samples.c: instrumented runs. Request and answer of the stages COUNTERS, COUNTING, LIST and FETCH; false when the store
 * has failed. */
void execute_samples_facts(const struct execute *x, struct execute_host *h, const struct facts *facts);
void execute_samples_request(const struct execute *x, const struct execute_host *h, struct helper_request *out);
bool execute_samples_advance(struct execute *x, struct execute_host *h, const struct helper_answer *answer);
bool execute_samples_done(const struct execute_host *h); /* these stages are behind; else h->stage is the next of them */
/* Takes over what a run of the next cell gave; true when its samples are to be fetched (the stage is set). */
bool execute_samples_run(struct execute *x, struct execute_host *h, struct execution *e, bool alive);
/* Where what measures is put on the host; free() it. */
char *execute_probe_directory(const struct execute_host *h);
/* Adds what the run is told. */
void execute_samples_tell(const struct execute *x, const struct execute_host *h, struct helper_request *out);
/* From what LIST printed, "BYTES NAME" a line (changed), to the files that are fetched; names that the writer does not give are
 * left out. False when they are more than is fetched of a run: *why says it, free() it. */
bool execute_samples_list(struct execute_probe *probe, char *text, char **why);
void execute_samples_start_over(struct execute_probe *probe);
void execute_samples_release(struct execute_probe *probe);

/* execute_judge.c: what came of a run. False, with *fault, when nothing was run and the command is not the reason. free() *fault,
 * execution_release() *out. */
bool execute_judge(const struct metric *metric, const struct helper_answer *answer, struct execution *out, char **fault);
/* The connection was cut because it printed too much: what had come. */
void execute_judge_flood(const struct fleet_result *result, struct execution *out);

#endif
