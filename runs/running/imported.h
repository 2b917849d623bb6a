/* Stores application results and stressor rates from files (docs/recorded.md). imported_read_machines() reads rates; foreign.h reads
 * results. */
#ifndef RUNS_RUNNING_IMPORTED_H
#define RUNS_RUNNING_IMPORTED_H

#include "base/csv.h"
#include "base/error.h"
#include "base/rows.h"
#include "fleet/lab/lab.h"
#include "runs/running/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMPORTED_FILE_BYTES_MAX (64u << 20)
#define IMPORTED_NAME		"imported" /* version or battery if the file names none */

/* Reasons why a row is excluded. In the rows before IMPORTED_ZERO, the run gave no valid result, which counts as a failure of its
 * application. A result of 0 also counts as a failure, but only if higher is better. Columns: constant, code, text. */
#define IMPORTED_SKIP_ROWS(X)                                                                                                              \
	X(IMPORTED_NOT_A_NUMBER, "not_a_number", "the result is not a finite number")                                                      \
	X(IMPORTED_NEGATIVE, "negative", "the result is negative")                                                                         \
	X(IMPORTED_TOO_LARGE, "too_large", "the result is above 1e100")                                                                    \
	X(IMPORTED_ZERO, "zero", "the result is 0, which has no ratio")                                                                    \
	X(IMPORTED_BAD_NUMBER, "bad_number", "the result is not a decimal number such as 1.5, without spaces and units")                   \
	X(IMPORTED_BAD_TIME, "bad_timestamp", "the time cannot be read, or is in the future")                                              \
	X(IMPORTED_BAD_REPETITION, "bad_repetition", "the repetition is not a whole number above 0")                                       \
	X(IMPORTED_BAD_NAME, "bad_name", "a name cannot be used")                                                                          \
	X(IMPORTED_BAD_DIRECTION, "bad_direction", "the direction is neither lower nor higher")                                            \
	X(IMPORTED_BAD_ROW, "bad_row", "the row cannot be read")                                                                           \
	X(IMPORTED_UNKNOWN_END, "unknown_end", "the file does not say how the run ended")                                                  \
	X(IMPORTED_PASSED, "passed", "it only passed; nothing was measured")                                                               \
	X(IMPORTED_NOT_MEASURED, "not_measured", "the tool did not measure it")                                                            \
	X(IMPORTED_AMBIGUOUS, "alike", "it cannot be distinguished from another result of the file")                                       \
	X(IMPORTED_INTERRUPTED, "interrupted", "its fingerprint was interrupted")

enum imported_skip { IMPORTED_SKIP_ROWS(ROWS_ENUM) IMPORTED_SKIPS };

const char *imported_skip_code(enum imported_skip skip);
const char *imported_skip_text(enum imported_skip skip);

/* Direction of a result, if the file states one. */
enum imported_direction { IMPORTED_NO_DIRECTION, IMPORTED_LOWER, IMPORTED_HIGHER };

/* Place of a row in its file: a line, or an index in a list, such as benchmarks[3] or results[1].times[4]. */
struct imported_place {
	const char *list, *item; /* names of list and inner list; both NULL if the place is a line; `item` NULL if there is no inner list */
	size_t line, at;	 /* line, or index in `list` from 0; index in `item` from 0 */
};

/* A row that can be stored. Its texts belong to the caller. */
struct imported_row {
	const char *tool; /* tool that wrote the file */
	bool rate;	  /* true for the rate of a stressor on a machine; false for the result of an application */
	const char *machine;
	const char *name;    /* name of the stressor or application */
	const char *version; /* "" for rates, and if the file gives none */
	const char *metric;  /* name of the metric; "" if unknown */
	const char *battery, *battery_hash, *stress_ng, *architecture,
	    *type;		       /* facts about a rate and its machine; "" for results, and if unknown */
	const char *outcome, *failure; /* execution_outcome_code() and reason of a failed run; both NULL if the run gave a result */
	int64_t taken_ms, repetition;
	double value;
	enum imported_direction direction;
	enum run_order_source turns;
	struct imported_place place;
};

/* Texts of numbers that a row needs. `timestamp` is NULL if taken_ms is already set. */
struct imported_texts {
	const char *result, *timestamp, *repetition, *direction;
};

struct imported {
	struct imported_row *rows; /* [n], rows to store, in file order */
	size_t n, capacity;
	struct imported_row *failed; /* [n_failed], runs of applications that gave no result */
	size_t n_failed, failed_capacity;
	size_t n_stated_failures; /* number of runs that the file itself states to have failed; other failed runs are also counted in
				     `skipped` */
	size_t first_stated;	  /* index in `failed` of the first run that the file states to have failed */
	struct {
		size_t count;
		char *first; /* place and fault of the first row that is excluded for this reason */
	} skipped[IMPORTED_SKIPS];
};

/* Adds a row to `rows` or `failed`, or counts it in `skipped`. All formats use this function. */
void imported_add(struct imported *imported, struct imported_row row, const struct imported_texts *texts);
/* Reports whether a time is more than a day in the future. Neither time zones nor slightly wrong clocks explain that. */
bool imported_is_in_future(int64_t ms);
/* Counts a row that is excluded for the reason `why`. For the first row with this reason, also keeps its place and the formatted details,
 * which may be "". */
void imported_exclude(struct imported *imported, enum imported_skip why, const struct imported_place *place, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Reads the next row of a CSV file. Excludes rows that cannot be read. Returns false at the end of the file. */
bool imported_read_row(struct imported *imported, struct csv *csv);

/* Reads rates of stressors from text[0..n), a CSV file that must suit csv_init() and outlive *out. ASSAY_E_FORMAT: the header is missing.
 * `skipped` counts rows that cannot be used. Free *out with imported_release(). */
enum assay_status imported_read_machines(const char *name, char *text, size_t n, struct imported *out, struct assay_error *err);
void imported_release(struct imported *imported);

/* Returns the place as text, such as "line 7" or "results[1].times[4]". The caller frees the result. */
char *imported_place_text(const struct imported_place *place);

struct imported_options {
	const char *file;   /* file name, for messages */
	const char *digest; /* digest of the content, under which taken_ms is stored; NULL if taken_ms is not to be stored */
	size_t bytes;	    /* size of the content */
	int64_t taken_ms;
	const char *version; /* version for results that have none */
};

struct imported_result {
	size_t fingerprints_added, fingerprints_known, rates_added, rates_known;
	size_t n_zero_rates; /* number of rates in this file that are 0 */
	size_t machines;     /* number of machines with rates in this file */
	size_t runs_added, runs_known;
	size_t assumed_lower;		 /* number of applications of unknown direction, for which lower is assumed to be better */
	size_t runs_without_fingerprint; /* number of imported results in the whole laboratory that have no fingerprint */
	size_t catalog_written;
};

/* Stores the rows in a laboratory that is open for writing, in one transaction: after an error, nothing has changed. A second import of the
 * same rows has no effect. A result is connected with the imported fingerprint of the same machine, time and repetition, whichever of the
 * two is imported first. */
enum assay_status imported_store(struct lab *lab, const struct imported *imported, const struct imported_options *options,
				 struct imported_result *out, struct assay_error *err);

#endif
