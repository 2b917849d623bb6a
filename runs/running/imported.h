/* Results of applications and rates of stressors that files hold, on their way into the store and the catalog (docs/recorded.md). Readers
 * make rows of a file: imported_read_machines() those of rates, foreign.h those of results. */
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
#define IMPORTED_NAME		"imported" /* of a version or a battery, where nothing names one */

/* Why a row cannot be used. Up to IMPORTED_ZERO: its run gave no result, which is a failure of its application. */
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

/* The direction of a result, where the file says it. */
enum imported_direction { IMPORTED_NO_DIRECTION, IMPORTED_LOWER, IMPORTED_HIGHER };

/* Where a row stands in its file: on a line, or, where there are no lines, in lists: benchmarks[3], results[1].times[4]. */
struct imported_place {
	const char *list, *item; /* list NULL: `line` is a line; item NULL: there is no inner list */
	size_t line, at;	 /* the numbers in list and item, from 0 */
};

/* One usable row; the texts lie in the caller's bytes. */
struct imported_row {
	const char *tool; /* that wrote the file */
	bool rate;	  /* of a stressor on a machine; else a result of an application */
	const char *machine;
	const char *name;    /* of the stressor or the application */
	const char *version; /* "" if none is given, and of a rate */
	const char *metric;  /* name of the metric; "": not known */
	const char *battery, *battery_hash, *stress_ng, *architecture,
	    *type;		       /* of a rate and its machine; "" if not known, and of a result */
	const char *outcome, *failure; /* execution_outcome_code() and the reason of a run that failed; NULL: it gave a result */
	int64_t taken_ms, repetition;
	double value;
	enum imported_direction direction;
	enum run_turns turns;
	struct imported_place place;
};

/* The texts of a row that become its numbers. timestamp NULL: taken_ms is known already. */
struct imported_texts {
	const char *result, *timestamp, *repetition, *direction;
};

struct imported {
	struct imported_row *rows; /* [n], in the order of the file */
	size_t n, capacity;
	struct imported_row *failed; /* [n_failed]: runs of applications without a result */
	size_t n_failed, failed_capacity;
	size_t said;	   /* of those, the ones that the file itself calls failed; the others are in `skipped`, too */
	size_t first_said; /* their first, of `failed` */
	struct {
		size_t count;
		char *first; /* place and fault of the first one; owned */
	} skipped[IMPORTED_SKIPS];
};

/* Adds a row to `rows` or `failed`, or counts it in `skipped`. This is the way of each imported row, whatever file it is from. */
void imported_add(struct imported *imported, struct imported_row row, const struct imported_texts *texts);
/* More than a day from now, which is more than a time zone or a clock that is wrong by a little makes. */
bool imported_in_future(int64_t ms);
/* Counts a row in `skipped`; fmt ("": nothing) says more about the first one than `why` does. */
void imported_leave_out(struct imported *imported, enum imported_skip why, const struct imported_place *place, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Reads the next row of a CSV file. Rows that cannot be read are excluded. False at the end. */
bool imported_next(struct imported *imported, struct csv *csv);

/* Reads rates of stressors from CSV. text[0..n) as csv.h wants it, and it must outlive *out. ASSAY_E_FORMAT for a file without the header;
 * a row that cannot be used is counted in `skipped`. imported_release() the result. */
enum assay_status imported_read_machines(const char *name, char *text, size_t n, struct imported *out, struct assay_error *err);
void imported_release(struct imported *imported);

/* "line 7", or "results[1].times[4]". free() it. */
char *imported_place_text(const struct imported_place *place);

struct imported_options {
	const char *file;   /* its name in messages */
	const char *digest; /* of the content of `file`, by which taken_ms is found again; NULL: not kept */
	size_t bytes;	    /* of that */
	int64_t taken_ms;
	const char *version; /* of results without one */
};

struct imported_result {
	size_t fingerprints_added, fingerprints_known, rates_added, rates_known;
	size_t recorded_zeros; /* rates of this file that are 0 */
	size_t machines;       /* with fingerprints in this file */
	size_t runs_added, runs_known;
	size_t assumed_lower;		 /* applications of which neither the file nor stored results say whether more is better */
	size_t runs_without_fingerprint; /* imported results of the laboratory that belong to none */
	size_t catalog_written;
};

/* Brings rows into the store and the catalog of a laboratory that is open for writing. One transaction: after any error the laboratory is
 * as before. Importing the same again changes nothing. A result belongs to the imported fingerprint of the same machine, time and
 * repetition, whichever of them was imported first. */
enum assay_status imported_store(struct lab *lab, const struct imported *imported, const struct imported_options *options,
				 struct imported_result *out, struct assay_error *err);

#endif
