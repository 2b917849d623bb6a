/* Executions: every run that was begun and how it ended, with its output; committed as it arrives, in one transaction with the
 * result that models see (runs/run.h) where there is one. One that failed never becomes a number. */
#ifndef RUNS_EXECUTION_H
#define RUNS_EXECUTION_H

#include "base/error.h"
#include "runs/metric.h"
#include "runs/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXECUTION_OUTPUT_BYTES_MAX (1u << 20) /* of each stream that is kept (its head and its tail, when it is longer) */

/* Constant, code, for people. */
#define EXECUTION_OUTCOME_ROWS(X)                                                          \
	X(EXECUTION_OK, "ok", "measured")                                                  \
	X(EXECUTION_FAILED, "failed", "ended with another status than 0")                  \
	X(EXECUTION_KILLED, "killed", "was ended by a signal")                             \
	X(EXECUTION_TIMEOUT, "timeout", "took longer than its time limit")                 \
	X(EXECUTION_NO_METRIC, "no_metric", "ended well, and printed no metric")           \
	X(EXECUTION_NOT_STARTED, "not_started", "could not be started")

#define EXECUTION_OUTCOME_ENUM(constant, code, text) constant,
enum execution_outcome { EXECUTION_OUTCOME_ROWS(EXECUTION_OUTCOME_ENUM) EXECUTION_OUTCOMES };
#undef EXECUTION_OUTCOME_ENUM
const char *execution_outcome_code(enum execution_outcome outcome);

struct execution {
	struct plan_cell cell;
	enum execution_outcome outcome;
	char *detail;             /* why it is not ok: one line; NULL when ok (or a warning) */
	double metric;            /* NaN unless ok */
	int64_t taken_ms;         /* when it was started, by the host's clock */
	struct metric_usage usage;
	int64_t max_rss_bytes, exit_status, signal; /* -1 where there is none */
	char *out, *err;          /* what it printed; bytes, may hold NUL */
	size_t out_bytes, err_bytes;
};

/* Commits one. `stored_name`: manifest_stored_name(). The fingerprint that belongs to it (the latest complete one of the machine
 * before it, not older than max_age_ms) is found and stored with the result; without one the run counts for times, not for profiles.
 * An execution of the same (plan, machine, version, input, repetition) is ASSAY_E_CONFLICT. */
enum assay_status execution_put(struct store *store, const struct plan *plan, const char *machine, const char *stored_name, bool higher_is_better,
				int64_t max_age_ms, const struct execution *execution, struct assay_error *err);

/* Which of the n cells (of plan_order) of this machine the store has: done[n]. */
enum assay_status execution_done(struct store *store, const struct plan *plan, const char *machine, const struct plan_cell *cells, size_t n,
				 bool *done, struct assay_error *err);

/* The libraries (and the program itself) that a version loads on a machine: text of lines "SHA256  PATH\n", sorted; *hash of it. */
enum assay_status execution_put_stack(struct store *store, const struct plan *plan, const char *machine, const char *version, const char *text,
				      struct assay_error *err);

#endif
