/* Executions: every run that was started, with its outcome and output. An execution is stored when it ends, together with its result for
 * the models (runs/running/run.h). A failed execution has no result. An execution of a plan with a probe has sample files instead of a
 * result (runs/inside/samples/sample_files.h). */
#ifndef RUNS_RUNNING_EXECUTION_H
#define RUNS_RUNNING_EXECUTION_H

#include "base/digest.h"
#include "base/error.h"
#include "base/rows.h"
#include "fleet/agent/signature.h"
#include "runs/inside/features/run_features.h"
#include "runs/inside/samples/sample_files.h"
#include "runs/running/metric.h"
#include "runs/running/plan.h"
#include "runs/running/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Features of a run: hash of its input, static features, features printed by the manifest's command, and counts from the run. */
struct execution_features {
	char input[DIGEST_HEX_BYTES]; /* hash of the input; equal for equal inputs; "" if unknown */
	struct run_features known, printed, counted;
	double features_command_s; /* CPU time of the manifest's `features` command, s; 0 if there is no such command */
};
void execution_features_release(struct execution_features *features); /* frees the members; accepts a zeroed struct */

/* Unpacks stored features. Overwrites *out; execution_features_release() frees it. Errors: ASSAY_E_CORRUPT, ASSAY_E_FORMAT. */
enum assay_status execution_features_unpack(const void *packed, size_t n, struct execution_features *out, struct assay_error *err);
/* Writes features as text: "# input HASH", lines, "# own SECONDS", lines, "# counted", lines. Omits counts of 0: if a run counted anything,
 * a missing count is 0. */
void execution_features_text(const struct execution_features *features, struct buf *out);
enum assay_status execution_features_parse(const char *text, size_t n, struct execution_features *out, struct assay_error *err);

/* Copies `from` to *to, which owns the copied names. */
void run_features_copy(const struct run_features *from, struct run_features *to);

#define EXECUTION_PRUNED	   "[removed by assay prune]" /* text in place of output that was removed */
#define EXECUTION_STREAM_BYTES_MAX (64u << 20)		      /* limit per output stream; assay ends a run that prints more */

/* Limits on the stored output of each stream. Of longer output, the head and the tail are stored. Output of failed runs is long, because
 * users search it for the reason. Successful runs are many, so their output is short. */
#define EXECUTION_OUTPUT_BYTES_MAX    (1u << 20)
#define EXECUTION_OK_OUTPUT_BYTES_MAX (8u << 10)

/* Columns: constant, code, text for users. */
#define EXECUTION_OUTCOME_ROWS(X)                                                                                                          \
	X(EXECUTION_OK, "ok", "measured")                                                                                                  \
	X(EXECUTION_FAILED, "failed", "ended with a status other than 0")                                                                  \
	X(EXECUTION_KILLED, "killed", "was ended by a signal")                                                                             \
	X(EXECUTION_TIMEOUT, "timeout", "took longer than its time limit")                                                                 \
	X(EXECUTION_NO_METRIC, "no_metric", "succeeded, but printed no metric")                                                            \
	X(EXECUTION_NOT_STARTED, "not_started", "could not be started")                                                                    \
	X(EXECUTION_NO_SAMPLES, "no_samples", "succeeded, but has no samples")

enum execution_outcome { EXECUTION_OUTCOME_ROWS(ROWS_ENUM) EXECUTION_OUTCOMES };
const char *execution_outcome_code(enum execution_outcome outcome);
const char *execution_outcome_text(enum execution_outcome outcome); /* returns text such as "took longer than its time limit" */

struct execution {
	struct plan_cell cell;
	enum execution_outcome outcome;
	char *detail;				    /* one line: if the outcome is not ok, the reason; else a warning, or NULL */
	double metric;				    /* metric of the run; NaN unless the outcome is ok */
	int64_t taken_ms;			    /* start time, ms since 1970 by the clock of this machine */
	struct metric_usage usage;		    /* resource usage of the command; -1 for unknown values */
	int64_t max_rss_bytes, exit_status, signal; /* memory maximum in bytes, and end of the process; -1 if unknown */
	char *out, *err;			    /* standard output and standard error; may contain NUL bytes */
	size_t out_bytes, err_bytes;
	char *run_usage; /* resource usage as text from run_usage_to_json(); NULL if the run was not started */
	struct execution_features features;
	struct sample_stored *samples; /* [n_samples], stored sample files of all runs of the repetition, if the plan has a probe */
	size_t n_samples, samples_capacity;
};
void execution_release(struct execution *execution); /* frees the members; accepts a zeroed struct */

/* Makes an execution that was not started, for the reason `why`. Free it with execution_release(). */
void execution_not_started(const char *why, struct execution *out);

/* Makes an execution from the helper's answer about a run. Returns false and sets *fault if nothing was run and the command is not the
 * cause. The caller frees *fault and releases *out in each case. */
bool execution_classify(const struct metric *metric, const struct helper_answer *answer, struct execution *out, char **fault);

/* Facts about an execution that the store needs. All members belong to the caller. */
struct execution_context {
	const struct plan *plan;
	const char *machine;
	const char *profile;	   /* profile of an emulated host, else NULL; only fingerprints with this profile apply to the run */
	const char *stored_name;   /* application's name in the store, from manifest_stored_name() */
	int64_t max_age_ms;	   /* greatest age of a fingerprint that applies to the run, ms */
	const char *hardware_type; /* required if the execution has samples; NULL if unknown */
	const char *architecture;  /* architecture of the machine; NULL if unknown */
};

/* Stores an execution. Its result refers to the machine's latest complete fingerprint that was taken before the run and is at most
 * max_age_ms old. Without such a fingerprint, only comparisons use the result, not profiles. ASSAY_E_CONFLICT: the store already has an
 * execution with this plan, machine, version, input and repetition. */
enum assay_status execution_put(struct store *store, const struct execution_context *place, const struct execution *execution,
				struct assay_error *err);

/* Sets done[i] if the store has the execution of cells[i] (from plan_order()) on `machine`. Warm-ups are not stored. They count as done if
 * all other cells of their version and input are done. */
enum assay_status execution_find_done(struct store *store, const struct plan *plan, const char *machine, const struct plan_cell *cells,
				      size_t n, bool *done, struct assay_error *err);

/* An execution from the store. The row owns its texts. */
struct execution_row {
	char *machine, *version, *input, *application, *plan; /* `plan` is "" for a failed run of an import */
	int64_t repetition, taken_ms;
	enum execution_outcome outcome;
	char *detail;							      /* reason or warning; "" if there is none */
	double metric;							      /* metric of the run; NaN unless the outcome is ok */
	int64_t wall_ns, user_us, sys_us, max_rss_bytes, exit_status, signal; /* usage and end of the command; -1 if unknown */
	bool instrumented; /* true if the plan has a probe, so that the metric is not a result */
	char *out, *err;   /* [out_bytes] and [err_bytes], followed by a NUL; NULL unless requested */
	size_t out_bytes, err_bytes;
	char *run_usage; /* resource usage as text for run_usage_parse(); "" if there is none; NULL unless requested */
};
struct execution_rows {
	struct execution_row *items; /* [n], executions */
	size_t n;
};

/* Describes the first failed run of a version in a plan, such as "on 'h1': exit status 127: 'sh: 1: foo: not found'". Sets *out to NULL if
 * no run failed. The caller frees *out. */
enum assay_status execution_describe_failure(struct store *store, const char *plan, const char *application, const char *version,
					     char **out, struct assay_error *err);

/* execution_load_plan() loads all executions of a plan, sorted by machine, input, version, repetition. execution_load_failures() loads
 * failed executions of an application (its name in the store) with their output, sorted by machine and time. `version` NULL selects all
 * versions. `instrumented_too` includes plans with a probe. Both functions overwrite *out; free it with execution_rows_release(). */
enum assay_status execution_load_plan(struct store *store, const struct plan *plan, struct execution_rows *out, struct assay_error *err);
enum assay_status execution_load_failures(struct store *store, const char *application, const char *version, bool instrumented_too,
					  struct execution_rows *out, struct assay_error *err);
/* Loads those executions of a version that have results, with resource usage, sorted by machine and time. `plan` NULL selects all plans. */
enum assay_status execution_load_results(struct store *store, const char *application, const char *version, const char *plan,
					 struct execution_rows *out, struct assay_error *err);
/* Returns the execution from which the result `run` comes, among rows of execution_load_results(); NULL if the result was imported. */
const struct execution_row *execution_find_run(const struct execution_rows *rows, const struct run *run);
void execution_rows_release(struct execution_rows *rows); /* frees the members; accepts a zeroed struct */

#endif
