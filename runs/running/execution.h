/* Executions: every run that was started, how it ended and its output. Each is committed as it arrives, in one transaction with its result
 * for the models (runs/running/run.h) if it has one. A failed execution never becomes a number. If functions were measured (a plan with a
 * probe), it has no result but sample files (runs/inside/samples/sample_files.h), committed with it. */
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

/* Stored features of a run: the identity of its input, static features, features printed by the user's own command, and counts of the
 * run. */
struct execution_features {
	char input[DIGEST_HEX_BYTES]; /* equal inputs have equal hashes; "": unknown */
	struct run_features known, own, counted;
	double own_seconds; /* CPU time of the user's own command, s; 0 without one */
};
void execution_features_release(struct execution_features *features); /* accepts a zeroed struct */

/* Unpacks the packed text of the store. Overwrites *out; execution_features_release() it. Fails with ASSAY_E_CORRUPT or ASSAY_E_FORMAT. */
enum assay_status execution_features_unpack(const void *packed, size_t n, struct execution_features *out, struct assay_error *err);
/* Writes the text form: "# input HASH", lines, "# own SECONDS", lines, "# counted", lines. Counts of 0 are excluded: if anything was
 * counted, missing counts are 0. */
void execution_features_text(const struct execution_features *features, struct buf *out);
enum assay_status execution_features_parse(const char *text, size_t n, struct execution_features *out, struct assay_error *err);

/* Copies features with their names. */
void run_features_copy(const struct run_features *from, struct run_features *to);

#define EXECUTION_PRUNED	   "[removed by assay prune]" /* replaces output that was removed */
#define EXECUTION_STREAM_BYTES_MAX (64u << 20)		      /* per stream of a run; a run that prints more is ended */

/* Kept output per stream; of longer output, head and tail. Users search it for the reason of a failure. Successful runs, possibly a hundred
 * thousand, keep little, because little is searched there. */
#define EXECUTION_OUTPUT_BYTES_MAX    (1u << 20)
#define EXECUTION_OK_OUTPUT_BYTES_MAX (8u << 10)

/* Constant, code, human-readable text. */
#define EXECUTION_OUTCOME_ROWS(X)                                                                                                          \
	X(EXECUTION_OK, "ok", "measured")                                                                                                  \
	X(EXECUTION_FAILED, "failed", "ended with another status than 0")                                                                  \
	X(EXECUTION_KILLED, "killed", "was ended by a signal")                                                                             \
	X(EXECUTION_TIMEOUT, "timeout", "took longer than its time limit")                                                                 \
	X(EXECUTION_NO_METRIC, "no_metric", "ended well, and printed no metric")                                                           \
	X(EXECUTION_NOT_STARTED, "not_started", "could not be started")                                                                    \
	X(EXECUTION_NO_SAMPLES, "no_samples", "ended well, and there are no samples of it")

enum execution_outcome { EXECUTION_OUTCOME_ROWS(ROWS_ENUM) EXECUTION_OUTCOMES };
const char *execution_outcome_code(enum execution_outcome outcome);
const char *execution_outcome_text(enum execution_outcome outcome); /* returns for example "took longer than its time limit" */

struct execution {
	struct plan_cell cell;
	enum execution_outcome outcome;
	char *detail;				    /* one line: the reason if not ok, a warning or NULL if ok */
	double metric;				    /* NaN unless ok */
	int64_t taken_ms;			    /* start, ms since 1970 by this machine's clock */
	struct metric_usage usage;		    /* -1 if unknown */
	int64_t max_rss_bytes, exit_status, signal; /* -1 if there is none */
	char *out, *err;			    /* standard output and standard error as bytes; may hold NUL */
	size_t out_bytes, err_bytes;
	char *signature; /* signature_text(); NULL if the run was not started */
	struct execution_features features;
	struct sample_kept *samples; /* [n_samples], of a plan with a probe: kept files of all runs that the counters need */
	size_t n_samples, samples_capacity;
};
void execution_release(struct execution *execution); /* accepts a zeroed struct */

/* Makes an execution that was never started, for the reason `why`. execution_release() it. */
void execution_not_started(const char *why, struct execution *out);

/* Judges a run by the helper's answer. Returns false, with *fault, if nothing was run and the command is not the cause. free() *fault,
 * execution_release() *out. */
bool execution_judge(const struct metric *metric, const struct helper_answer *answer, struct execution *out, char **fault);

/* The place of an execution in the store; all is borrowed. */
struct execution_place {
	const struct plan *plan;
	const char *machine;
	const char *profile;	   /* emulated host: its profile; fingerprints of other profiles do not belong to it. Else NULL */
	const char *stored_name;   /* manifest_stored_name() */
	int64_t max_age_ms;	   /* greatest age of a fingerprint */
	const char *hardware_type; /* needed with samples; NULL: unknown */
	const char *architecture;  /* NULL: unknown */
};

/* Commits an execution. Its result is stored with the fingerprint that belongs to it: the machine's latest complete one before the run, not
 * older than max_age_ms. Without one the run is used for times, not for profiles. A second execution of the same (plan, machine, version,
 * input, repetition) fails with ASSAY_E_CONFLICT. */
enum assay_status execution_put(struct store *store, const struct execution_place *place, const struct execution *execution,
				struct assay_error *err);

/* Sets done[n]: which of the n cells (of plan_order) of this machine are in the store. Warm-ups are never stored: they are done if no other
 * cell of their version and input is left. */
enum assay_status execution_done(struct store *store, const struct plan *plan, const char *machine, const struct plan_cell *cells, size_t n,
				 bool *done, struct assay_error *err);

/* An execution as stored; the row owns its texts. */
struct execution_row {
	char *machine, *version, *input, *application, *plan; /* plan "": an imported run that failed */
	int64_t repetition, taken_ms;
	enum execution_outcome outcome;
	char *detail;							      /* "" if there is none */
	double metric;							      /* NaN unless ok */
	int64_t wall_ns, user_us, sys_us, max_rss_bytes, exit_status, signal; /* -1 if there is none */
	bool instrumented;						      /* its plan has a probe: the metric is not a result */
	char *out, *err; /* [out_bytes], [err_bytes] and a NUL; NULL unless requested */
	size_t out_bytes, err_bytes;
	char *signature; /* for signature_parse(), "" if there is none; NULL unless requested */
};
struct execution_rows {
	struct execution_row *items; /* [n] */
	size_t n;
};

/* Describes the first failed run of a version in a plan: "on 'h1': exit status 127: 'sh: 1: foo: not found'". *out is NULL if none failed;
 * free() it. */
enum assay_status execution_first_failure(struct store *store, const char *plan, const char *application, const char *version, char **out,
					  struct assay_error *err);

/* execution_of_plan() loads all executions of a plan, sorted by machine, input, version, repetition. execution_failures() loads failed ones
 * of an application (name as stored) and version (NULL: all), with output, sorted by machine and time. `instrumented_too`: includes those
 * of plans with a probe. Overwrite *out; execution_rows_release() it. */
enum assay_status execution_of_plan(struct store *store, const struct plan *plan, struct execution_rows *out, struct assay_error *err);
enum assay_status execution_failures(struct store *store, const char *application, const char *version, bool instrumented_too,
				     struct execution_rows *out, struct assay_error *err);
/* Loads executions of this version with results, of `plan` (NULL: of all plans), sorted by machine and time, with signatures. */
enum assay_status execution_results(struct store *store, const char *application, const char *version, const char *plan,
				    struct execution_rows *out, struct assay_error *err);
/* Returns the execution that gave a result; NULL if the result was imported. `rows` come from execution_results(). */
const struct execution_row *execution_of_run(const struct execution_rows *rows, const struct run *run);
void execution_rows_release(struct execution_rows *rows); /* accepts a zeroed struct */

#endif
