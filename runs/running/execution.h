/* Executions: each run that was started, with outcome and output. Each is committed when it arrives, together with its result for the
 * models (runs/running/run.h), if any. A failed execution has no result. An execution of a plan with a probe has sample files instead
 * (runs/inside/samples/sample_files.h). */
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

/* Features of a run: identity of the input, static features, features printed by the manifest's command, and counts of the run. */
struct execution_features {
	char input[DIGEST_HEX_BYTES]; /* hash of the input, equal for equal inputs; "" if unknown */
	struct run_features known, own, counted;
	double own_seconds; /* CPU time of the manifest's `features` command, s; 0 without one */
};
void execution_features_release(struct execution_features *features); /* accepts a zeroed struct */

/* Unpacks features from the store. Overwrites *out; execution_features_release() it. Fails with ASSAY_E_CORRUPT or ASSAY_E_FORMAT. */
enum assay_status execution_features_unpack(const void *packed, size_t n, struct execution_features *out, struct assay_error *err);
/* Writes features as text: "# input HASH", lines, "# own SECONDS", lines, "# counted", lines. Omits counts of 0: if the run counted
 * anything, a missing count is 0. */
void execution_features_text(const struct execution_features *features, struct buf *out);
enum assay_status execution_features_parse(const char *text, size_t n, struct execution_features *out, struct assay_error *err);

/* Copies features; the copy owns its names. */
void run_features_copy(const struct run_features *from, struct run_features *to);

#define EXECUTION_PRUNED	   "[removed by assay prune]" /* text that replaces removed output */
#define EXECUTION_STREAM_BYTES_MAX (64u << 20)		      /* limit per stream of a run; a run that prints more is ended */

/* Limits on kept output per stream; longer output keeps head and tail. Users search output of failed runs for the reason. Successful runs
 * are many and keep little. */
#define EXECUTION_OUTPUT_BYTES_MAX    (1u << 20)
#define EXECUTION_OK_OUTPUT_BYTES_MAX (8u << 10)

/* Columns: constant, code, human-readable text. */
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
const char *execution_outcome_text(enum execution_outcome outcome); /* Returns text such as "took longer than its time limit". */

struct execution {
	struct plan_cell cell;
	enum execution_outcome outcome;
	char *detail;				    /* one line: reason if not ok; a warning or NULL if ok */
	double metric;				    /* NaN unless the outcome is ok */
	int64_t taken_ms;			    /* start time, ms since 1970 by this machine's clock */
	struct metric_usage usage;		    /* -1 for unknown values */
	int64_t max_rss_bytes, exit_status, signal; /* -1 if unknown */
	char *out, *err;			    /* standard output and standard error; may contain NUL bytes */
	size_t out_bytes, err_bytes;
	char *signature; /* resource usage as text, from signature_text(); NULL if the run was not started */
	struct execution_features features;
	struct sample_kept *samples; /* [n_samples], kept sample files of all runs of the repetition, in a plan with a probe */
	size_t n_samples, samples_capacity;
};
void execution_release(struct execution *execution); /* accepts a zeroed struct */

/* Makes an execution that was not started because of `why`. The caller calls execution_release(). */
void execution_not_started(const char *why, struct execution *out);

/* Judges a run by the helper's answer. Returns false and sets *fault if nothing was run for a reason that is not the command. The caller
 * free()s *fault and releases *out. */
bool execution_judge(const struct metric *metric, const struct helper_answer *answer, struct execution *out, char **fault);

/* Context of an execution in the store; all members are borrowed. */
struct execution_place {
	const struct plan *plan;
	const char *machine;
	const char *profile;	   /* profile of an emulated host, else NULL; only fingerprints of this profile apply */
	const char *stored_name;   /* from manifest_stored_name() */
	int64_t max_age_ms;	   /* greatest age of a fingerprint that applies to the run, ms */
	const char *hardware_type; /* needed with samples; NULL if unknown */
	const char *architecture;  /* NULL if unknown */
};

/* Commits an execution. Its result refers to the machine's latest complete fingerprint before the run, at most max_age_ms old. Without one,
 * the result is used for comparisons but not for profiles. ASSAY_E_CONFLICT: the store already has this (plan, machine, version, input,
 * repetition). */
enum assay_status execution_put(struct store *store, const struct execution_place *place, const struct execution *execution,
				struct assay_error *err);

/* Sets done[i] if cells[i] (from plan_order()) of this machine is in the store. Warm-ups are not stored: they are done when all other cells
 * of their version and input are. */
enum assay_status execution_done(struct store *store, const struct plan *plan, const char *machine, const struct plan_cell *cells, size_t n,
				 bool *done, struct assay_error *err);

/* An execution from the store; the row owns its texts. */
struct execution_row {
	char *machine, *version, *input, *application, *plan; /* `plan` is "" for a failed run of an import */
	int64_t repetition, taken_ms;
	enum execution_outcome outcome;
	char *detail;							      /* "" if none */
	double metric;							      /* NaN unless the outcome is ok */
	int64_t wall_ns, user_us, sys_us, max_rss_bytes, exit_status, signal; /* -1 if unknown */
	bool instrumented;						      /* the plan has a probe, so the metric is not a result */
	char *out, *err; /* [out_bytes] and [err_bytes] with a NUL added; NULL unless requested */
	size_t out_bytes, err_bytes;
	char *signature; /* resource usage for signature_parse(); "" if none; NULL unless requested */
};
struct execution_rows {
	struct execution_row *items; /* [n] */
	size_t n;
};

/* Describes the first failed run of a version in a plan, such as "on 'h1': exit status 127: 'sh: 1: foo: not found'". *out: NULL if none
 * failed; free() it. */
enum assay_status execution_first_failure(struct store *store, const char *plan, const char *application, const char *version, char **out,
					  struct assay_error *err);

/* execution_of_plan() loads all executions of a plan, sorted by machine, input, version, repetition. execution_failures() loads failed
 * executions, with output, of an application (stored name) and version (NULL: all), sorted by machine and time. `instrumented_too`: include
 * plans with a probe. Both overwrite *out; execution_rows_release() it. */
enum assay_status execution_of_plan(struct store *store, const struct plan *plan, struct execution_rows *out, struct assay_error *err);
enum assay_status execution_failures(struct store *store, const char *application, const char *version, bool instrumented_too,
				     struct execution_rows *out, struct assay_error *err);
/* Loads executions with results of a version, from `plan` (NULL: all plans), with resource usage, sorted by machine and time. */
enum assay_status execution_results(struct store *store, const char *application, const char *version, const char *plan,
				    struct execution_rows *out, struct assay_error *err);
/* Returns the execution that gave a result, among rows from execution_results(); NULL if the result was imported. */
const struct execution_row *execution_of_run(const struct execution_rows *rows, const struct run *run);
void execution_rows_release(struct execution_rows *rows); /* accepts a zeroed struct */

#endif
