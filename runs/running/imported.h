/* Brings application results and stressor rates from files into the store and the catalog (docs/recorded.md). Readers turn files into rows:
 * imported_read_machines() for rates, foreign.h for results. */
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
#define IMPORTED_NAME		"imported" /* name of a version or battery that the file does not name */

/* Reason why a row cannot be used. Up to IMPORTED_ZERO the run gave no result, which counts as a failure of its application. */
#define IMPORTED_SKIP_ROWS(X)                                                                                                              \
	X(IMPORTED_NOT_A_NUMBER, "not_a_number", "the result is not a finite number")                                                      \
	X(IMPORTED_NEGATIVE, "negative", "the result is negative")                                                                         \
	X(IMPORTED_TOO_LARGE, "too_large", "the result is above 1e100")                                                                    \
	X(IMPORTED_ZERO, "zero", "the result is 0")                                                                                        \
	X(IMPORTED_BAD_NUMBER, "bad_number", "the result is no decimal number such as 1.5, without blanks and units")                      \
	X(IMPORTED_BAD_TIME, "bad_timestamp", "the time is not understood, or in the future")                                              \
	X(IMPORTED_BAD_REPETITION, "bad_repetition", "the repetition is not a whole number above 0")                                       \
	X(IMPORTED_BAD_NAME, "bad_name", "a name cannot be used")                                                                          \
	X(IMPORTED_BAD_DIRECTION, "bad_direction", "the direction is neither lower nor higher")                                            \
	X(IMPORTED_BAD_ROW, "bad_row", "the row cannot be read")                                                                           \
	X(IMPORTED_UNKNOWN_END, "unknown_end", "the file does not say how the run ended")                                                  \
	X(IMPORTED_PASSED, "passed", "it says only that it passed, and nothing was measured")                                              \
	X(IMPORTED_ALIKE, "alike", "nothing distinguishes it from another result of the file")                                             \
	X(IMPORTED_INTERRUPTED, "interrupted", "its fingerprint was interrupted")

enum imported_skip { IMPORTED_SKIP_ROWS(ROWS_ENUM) IMPORTED_SKIPS };

const char *imported_skip_code(enum imported_skip skip);
const char *imported_skip_text(enum imported_skip skip);

/* Direction of a result, if the file gives one. */
enum imported_direction { IMPORTED_NO_DIRECTION, IMPORTED_LOWER, IMPORTED_HIGHER };

/* Place of a row in its file: a line, or a place in lists, such as benchmarks[3] or results[1].times[4]. */
struct imported_place {
	const char *list, *item; /* list NULL: `line` is a line; item NULL: there is no inner list */
	size_t line, at;	 /* indices in list and item, from 0 */
};

/* One usable row; the texts lie in the caller's bytes. */
struct imported_row {
	const char *tool; /* tool that wrote the file */
	bool rate;	  /* a stressor's rate on a machine; else an application's result */
	const char *machine;
	const char *name;    /* name of the stressor or application */
	const char *version; /* "" if none is given, and for rates */
	const char *metric;  /* name of the metric; "": unknown */
	const char *battery, *battery_hash, *stress_ng, *architecture,
	    *type;		       /* facts about a rate and its machine; "" if unknown, and for results */
	const char *outcome, *failure; /* execution_outcome_code() and reason of a run that failed; NULL: it gave a result */
	int64_t taken_ms, repetition;
	double value;
	enum imported_direction direction;
	enum run_turns turns;
	struct imported_place place;
};

/* Texts of a row that become its numbers. timestamp NULL: taken_ms is already known. */
struct imported_texts {
	const char *result, *timestamp, *repetition, *direction;
};

struct imported {
	struct imported_row *rows; /* [n], in file order */
	size_t n, capacity;
	struct imported_row *failed; /* [n_failed]: runs of applications without a result */
	size_t n_failed, failed_capacity;
	size_t said;	   /* how many of them the file itself calls failed; the others are in `skipped`, too */
	size_t first_said; /* index of the first of these in `failed` */
	struct {
		size_t count;
		char *first; /* place and fault of the first one; owned */
	} skipped[IMPORTED_SKIPS];
};

/* Adds a row to `rows` or `failed`, or counts it in `skipped`. Every imported row of every format passes through here. */
void imported_add(struct imported *imported, struct imported_row row, const struct imported_texts *texts);
/* Reports whether a time is more than a day from now. A time zone or a slightly wrong clock makes less. */
bool imported_in_future(int64_t ms);
/* Counts a row in `skipped`. fmt (may be "") describes the first such row in more detail than `why` does. */
void imported_leave_out(struct imported *imported, enum imported_skip why, const struct imported_place *place, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Reads the next row of a CSV file, excluding rows that cannot be read. Returns false at the end. */
bool imported_next(struct imported *imported, struct csv *csv);

/* Reads rates of stressors from the CSV text[0..n), which is as csv.h requires and must outlive *out. Fails with ASSAY_E_FORMAT if the
 * header is missing. Rows that cannot be used are counted in `skipped`. imported_release() *out. */
enum assay_status imported_read_machines(const char *name, char *text, size_t n, struct imported *out, struct assay_error *err);
void imported_release(struct imported *imported);

/* Returns "line 7" or "results[1].times[4]"; free() it. */
char *imported_place_text(const struct imported_place *place);

struct imported_options {
	const char *file;   /* file name for messages */
	const char *digest; /* digest of the content of `file`, by which taken_ms is found again; NULL: not kept */
	size_t bytes;	    /* length of that content */
	int64_t taken_ms;
	const char *version; /* version of results that have none */
};

struct imported_result {
	size_t fingerprints_added, fingerprints_known, rates_added, rates_known;
	size_t recorded_zeros; /* number of rates of this file that are 0 */
	size_t machines;       /* number of machines with fingerprints in this file */
	size_t runs_added, runs_known;
	size_t assumed_lower;		 /* applications whose direction neither the file nor stored results give */
	size_t runs_without_fingerprint; /* number of imported results in the laboratory without a fingerprint */
	size_t catalog_written;
};

/* Stores rows in the store and the catalog of a laboratory that is open for writing. One transaction: after an error the laboratory is
 * unchanged. Importing the same rows again changes nothing. A result belongs to the imported fingerprint of the same machine, time and
 * repetition, in whichever order both were imported. */
enum assay_status imported_store(struct lab *lab, const struct imported *imported, const struct imported_options *options,
				 struct imported_result *out, struct assay_error *err);

#endif
