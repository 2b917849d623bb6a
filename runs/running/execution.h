/* Executions: every run that was started and how it ended, with its output; committed as it arrives, in one transaction with the result
 * that models see (runs/running/run.h) where there is one. One that failed never becomes a number. One whose functions were measured (a
 * plan with a probe) is not a result: what it gives are sample files (runs/inside/samples/sample_files.h), committed with it. */
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

/* What is kept of a run's features: which input it was, what was known of that for nothing, what the user's own command printed of it, and
 * what was counted in the run. */
struct execution_features {
	char input[DIGEST_HEX_BYTES]; /* the same input, the same hash; "": not known */
	struct run_features known, own, counted;
	double own_seconds; /* of a CPU, that the user's own command took; 0 without one */
};
void execution_features_release(struct execution_features *features); /* accepts zeroed */

/* As the store has them: text, packed. *out is overwritten; execution_features_release() it. ASSAY_E_CORRUPT, ASSAY_E_FORMAT. */
enum assay_status execution_features_unpack(const void *packed, size_t n, struct execution_features *out, struct assay_error *err);
/* The text in it: "# input HASH", lines of the text form, "# own SECONDS", lines, "# counted", lines. Counts that are 0 are excluded: where
 * anything was counted, what is missing is 0. */
void execution_features_text(const struct execution_features *features, struct buf *out);
enum assay_status execution_features_parse(const char *text, size_t n, struct execution_features *out, struct assay_error *err);

/* A copy; names are copied, too. */
void run_features_copy(const struct run_features *from, struct run_features *to);

#define EXECUTION_PRUNED	   "[removed by assay prune]" /* represents what a run printed that was removed */
#define EXECUTION_STREAM_BYTES_MAX (64u << 20)		      /* of each stream of a run: one that prints more is ended */

/* How much of each stream is kept (its head and its tail, when it is longer): people look for the reason of a failure in it; of a run
 * that gave its metric, and there may be a hundred thousand of them, little is left to look for. */
#define EXECUTION_OUTPUT_BYTES_MAX    (1u << 20)
#define EXECUTION_OK_OUTPUT_BYTES_MAX (8u << 10)

/* Constant, code, for people. */
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
const char *execution_outcome_text(enum execution_outcome outcome); /* "took longer than its time limit" */

struct execution {
	struct plan_cell cell;
	enum execution_outcome outcome;
	char *detail;				    /* why it is not ok: one line; NULL when ok (or a warning) */
	double metric;				    /* NaN unless ok */
	int64_t taken_ms;			    /* when it was started, since 1970 by this machine's clock */
	struct metric_usage usage;		    /* -1 where it is not known */
	int64_t max_rss_bytes, exit_status, signal; /* -1 where there is none */
	char *out, *err;			    /* what it printed; bytes, may hold NUL */
	size_t out_bytes, err_bytes;
	char *signature; /* signature_text(); NULL when it was not started */
	struct execution_features features;
	struct sample_kept
	    *samples; /* [n_samples], of a plan with a probe: files that are kept already, of all runs that the counters take */
	size_t n_samples, samples_capacity;
};
void execution_release(struct execution *execution); /* accepts zeroed */

/* An execution that was never made, and why. execution_release() it. */
void execution_not_started(const char *why, struct execution *out);

/* From what the helper said of a run. False, with *fault, when nothing was run and the command is not the reason. free() *fault,
 * execution_release() *out. */
bool execution_judge(const struct metric *metric, const struct helper_answer *answer, struct execution *out, char **fault);

/* Where an execution belongs; all is borrowed. */
struct execution_place {
	const struct plan *plan;
	const char *machine;
	const char *profile;	   /* of an emulated host: it has no fingerprint of another profile. NULL for all others */
	const char *stored_name;   /* manifest_stored_name() */
	int64_t max_age_ms;	   /* of a fingerprint */
	const char *hardware_type; /* with samples; NULL: not known */
	const char *architecture;  /* NULL: not known */
};

/* Commits one. The fingerprint that belongs to it (the latest complete one of the machine before it, not older than max_age_ms)
 * is found and stored with the result; without one the run counts for times, not for profiles. An execution of the same (plan,
 * machine, version, input, repetition) is ASSAY_E_CONFLICT. */
enum assay_status execution_put(struct store *store, const struct execution_place *place, const struct execution *execution,
				struct assay_error *err);

/* Which of the n cells (of plan_order) of this machine the store has: done[n]. Warm-ups are never stored: they are done when
 * nothing of their version and input is left to do. */
enum assay_status execution_done(struct store *store, const struct plan *plan, const char *machine, const struct plan_cell *cells, size_t n,
				 bool *done, struct assay_error *err);

/* What the store has of executions, a row each; texts are owned. */
struct execution_row {
	char *machine, *version, *input, *application, *plan; /* plan "": imported, a run that failed */
	int64_t repetition, taken_ms;
	enum execution_outcome outcome;
	char *detail;							      /* "" when there is none */
	double metric;							      /* NaN unless ok */
	int64_t wall_ns, user_us, sys_us, max_rss_bytes, exit_status, signal; /* -1 where there is none */
	bool instrumented;						      /* of a plan with a probe: the metric is not a result */
	char *out, *err; /* [out_bytes], [err_bytes] and a NUL; NULL unless asked for */
	size_t out_bytes, err_bytes;
	char *signature; /* for signature_parse(), "" when there is none; NULL unless asked for */
};
struct execution_rows {
	struct execution_row *items; /* [n] */
	size_t n;
};

/* Of a plan's runs of a version the first one that failed: "on 'h1': exit status 127: 'sh: 1: foo: not found'"; *out is NULL where none
 * did. free() it. */
enum assay_status execution_first_failure(struct store *store, const char *plan, const char *application, const char *version, char **out,
					  struct assay_error *err);

/* All of a plan, by machine, input, version, repetition; and those that failed of an application (as stored) and, unless NULL,
 * version, by machine and time, with what they printed; `instrumented_too`: those that could not have given a result as well.
 * *out is overwritten; execution_rows_release() it. */
enum assay_status execution_of_plan(struct store *store, const struct plan *plan, struct execution_rows *out, struct assay_error *err);
enum assay_status execution_failures(struct store *store, const char *application, const char *version, bool instrumented_too,
				     struct execution_rows *out, struct assay_error *err);
/* Those that gave results, of this plan (NULL: of all) that ran this version, by machine and time, with their signatures. */
enum assay_status execution_results(struct store *store, const char *application, const char *version, const char *plan,
				    struct execution_rows *out, struct assay_error *err);
/* The execution that gave a result; NULL for one that was imported. `rows`: of execution_results(). */
const struct execution_row *execution_of_run(const struct execution_rows *rows, const struct run *run);
void execution_rows_release(struct execution_rows *rows); /* accepts zeroed */

#endif
