/* What `assay run` does and shows; private to cmd_run*.c. */
#ifndef RUNS_CMD_RUN_H
#define RUNS_CMD_RUN_H

#include "base/buf.h"
#include "base/cli.h"
#include "fleet/cmd_fleet.h"
#include "runs/running/stack.h"
#include "runs/running/estimate.h"
#include "runs/running/execute.h"
#include "runs/running/plan.h"
#include "runs/inside/samples/sample_files.h"

#include <signal.h>

struct cmd_run_arguments {
	const char *app;
	struct cmd_fleet_choice hosts;
	struct plan_choice choice;
	bool same_stack, dry_run, resume;
};

/* cmd_run_job.c: all of it but the command line; *status is the exit status when all went well. */
enum assay_status cmd_run_do(const struct cli *cli, const struct cmd_run_arguments *a, int *status, struct assay_error *err);

/* cmd_run.c */
extern volatile sig_atomic_t cmd_run_cancelled;
void cmd_run_progress_begin(void);
void cmd_run_progress(const struct host *host, const struct execution *e, size_t done, size_t total);
void cmd_run_progress_end(void);

struct cmd_run_view {
	const char *selector;                 /* APP as it was given, for what to type next */
	const char *directory;                /* of the laboratory as it was given */
	const struct manifest *manifest;
	const struct plan *plan;
	const struct host *const *hosts;      /* [n] */
	size_t n;
	const struct execute_result *results; /* [n] */
	const struct execution_row *rows;     /* [n_rows], all of the plan */
	size_t n_rows;
	const struct stack_rows *stacks;
	size_t without_fingerprint;           /* results */
	const struct estimate *estimates;     /* [n], of a dry run */
	const struct instrument *instrument;  /* of a plan with a probe; NULL where it is not known (a dry run builds nothing) */
	const struct sample_file *samples;    /* [n_samples], of such a plan */
	size_t n_samples;
};

void cmd_run_print(const struct cmd_run_view *view, struct buf *out);
void cmd_run_json(const struct cmd_run_view *view, struct buf *out);
void cmd_run_json_nothing(const struct manifest *manifest, struct buf *out); /* to resume */
void cmd_run_print_dry(const struct cmd_run_view *view, struct buf *out);
void cmd_run_json_dry(const struct cmd_run_view *view, struct buf *out);

/* Executions of the plan that a machine, version and input (NULL: any) has. */
struct cmd_run_tally {
	size_t ok, failed;
};
struct cmd_run_tally cmd_run_tally(const struct cmd_run_view *view, const char *machine, const char *version, const char *input);
size_t cmd_run_each(const struct cmd_run_view *view); /* that each machine is to have */
/* Files of samples of a version and input, and their bytes (not compressed). */
struct cmd_run_samples {
	size_t files;
	double bytes;
};
struct cmd_run_samples cmd_run_samples(const struct cmd_run_view *view, const char *version, const char *input);
/* Median over machines of the medians of their repetitions, and (may be NULL) of the median absolute deviations from these; NaN when there is
 * none. */
double cmd_run_median(const struct cmd_run_view *view, const char *version, const char *input, double *noise);
char *cmd_run_stored_name(const struct cmd_run_view *view, const char *input); /* free() it */
/* The stack with which stack i is compared: the first one of its version. */
const struct stack_row *cmd_run_first_stack(const struct stack_rows *rows, size_t i);

/* "3 min 20 s", for people. */
#define CMD_RUN_SPAN_BYTES 32
const char *cmd_run_span(double seconds, char out[CMD_RUN_SPAN_BYTES]);

/* 0 all ok, 7 some hosts or runs failed, 1 all. */
int cmd_run_exit(const struct cmd_run_view *view);

#endif
