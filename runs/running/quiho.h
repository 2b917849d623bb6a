/* The data package of the quiho paper: results.csv with fingerprints and application results in one table (docs/formats.md). Source:
 * Jimenez et al., "quiho: Automated Performance Regression Testing Using Inferred Resource Utilization Profiles", 2018. */
#ifndef RUNS_RUNNING_QUIHO_H
#define RUNS_RUNNING_QUIHO_H

#include "base/csv.h"
#include "base/error.h"
#include "base/rows.h"
#include "fleet/lab/lab.h"
#include "runs/running/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUIHO_FILE_BYTES_MAX (512u << 20)
#define QUIHO_BATTERY	     "quiho-2017"
#define QUIHO_VERSION	     "imported" /* of an application, where nothing names one */
#define QUIHO_STRESSNG	     "stressng" /* the benchmark whose rows are fingerprints */

/* Why a row cannot be used. Up to QUIHO_ZERO: its run gave no result, which is a failure of its application. */
#define QUIHO_SKIP_ROWS(X)                                                                                                                 \
	X(QUIHO_NOT_A_NUMBER, "not_a_number", "the result is not a finite number")                                                         \
	X(QUIHO_NEGATIVE, "negative", "the result is negative")                                                                            \
	X(QUIHO_TOO_LARGE, "too_large", "the result is above 1e100")                                                                       \
	X(QUIHO_ZERO, "zero", "the result is 0")                                                                                           \
	X(QUIHO_BAD_NUMBER, "bad_number", "the result is no decimal number such as 1.5, without blanks and units")                         \
	X(QUIHO_BAD_TIME, "bad_timestamp", "the time is not understood, or in the future")                                                 \
	X(QUIHO_BAD_REPETITION, "bad_repetition", "the repetition is not a whole number above 0")                                          \
	X(QUIHO_BAD_NAME, "bad_name", "a name cannot be used")                                                                             \
	X(QUIHO_BAD_DIRECTION, "bad_direction", "the direction is neither lower nor higher")                                               \
	X(QUIHO_BAD_ROW, "bad_row", "the row cannot be read")                                                                              \
	X(QUIHO_UNKNOWN_END, "unknown_end", "the file does not say how the run ended")                                                     \
	X(QUIHO_PASSED, "passed", "it says only that it passed, and nothing was measured")                                                 \
	X(QUIHO_ALIKE, "alike", "nothing distinguishes it from another result of the file")

enum quiho_skip { QUIHO_SKIP_ROWS(ROWS_ENUM) QUIHO_SKIPS };

const char *quiho_skip_code(enum quiho_skip skip);
const char *quiho_skip_text(enum quiho_skip skip);

/* The direction of a result, where the file says it. */
enum quiho_direction { QUIHO_NO_DIRECTION, QUIHO_LOWER, QUIHO_HIGHER };

/* Where a row stands in its file: on a line, or, where there are no lines, in lists: benchmarks[3], results[1].times[4]. */
struct quiho_place {
	const char *list, *item; /* list NULL: `line` is a line; item NULL: there is no inner list */
	size_t line, at;	 /* the numbers in list and item, from 0 */
};

/* One usable row; the texts lie in the caller's bytes. */
struct quiho_row {
	const char *url, *revision, *user, *machine, *benchmark, *test, *version; /* version "" when not given */
	const char *battery, *battery_hash, *stress_ng, *architecture;		  /* of a rate; all "" when not given */
	const char *metric;							  /* name of the metric; "": not known */
	const char *outcome, *failure; /* execution_outcome_code() and the reason of a run that failed; NULL: it gave a result */
	int64_t taken_ms, repetition;
	double value;
	enum quiho_direction direction;
	enum run_turns turns;
	struct quiho_place place;
};

/* The texts of a row that become its numbers. timestamp NULL: taken_ms is known already. */
struct quiho_texts {
	const char *result, *timestamp, *repetition, *direction;
};

struct quiho {
	struct quiho_row *rows; /* [n], in the order of the file */
	size_t n, capacity;
	struct quiho_row *failed; /* [n_failed]: runs of applications without a result */
	size_t n_failed, failed_capacity;
	size_t said;	   /* of those, the ones that the file itself calls failed; the others are in `skipped`, too */
	size_t first_said; /* their first, of `failed` */
	bool above_zero;   /* set by the caller: a result of 0 is none */
	struct {
		size_t count, first_line;
		char *first; /* place and fault of the first one; owned */
	} skipped[QUIHO_SKIPS];
};

/* Adds a row to `rows` or `failed`, or counts it in `skipped`. This is the way of each imported row, whatever file it is from. */
void quiho_add(struct quiho *quiho, struct quiho_row row, const struct quiho_texts *texts);
/* More than a day from now, which is more than a time zone or a clock that is wrong by a little makes. */
bool quiho_in_future(int64_t ms);
/* Counts a row in `skipped`; fmt ("": nothing) says more about the first one than `why` does. */
void quiho_leave_out(struct quiho *quiho, enum quiho_skip why, const struct quiho_place *place, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Reads the next row of a CSV file. Rows that cannot be read are left out. False at the end. */
bool quiho_next(struct quiho *quiho, struct csv *csv);

/* text[0..n) as csv.h wants it, and it must outlive *out. A file without the header is an error that names the line; a row that cannot be
 * used is counted in `skipped`. quiho_release() the result. */
enum assay_status quiho_parse(const char *name, char *text, size_t n, struct quiho *out, struct assay_error *err);
void quiho_release(struct quiho *quiho);

/* "line 7", or "results[1].times[4]". free() it. */
char *quiho_place_text(const struct quiho_place *place);

/* `benchmark/test`, or `benchmark` alone where both are equal or the test is empty. free() it. */
char *quiho_application(const char *benchmark, const char *test);

/* The direction of the metrics of some applications (metric_direction.h). */
struct quiho_rule {
	const char *glob;
	bool higher_is_better;
};

struct quiho_import_options {
	const char *directory; /* NULL: `rows` are imported, `file` is their name in messages */
	const char *file;
	const struct quiho *rows;
	const char *digest; /* of the content of `file`, by which taken_ms is found again; NULL: not kept */
	size_t bytes;	    /* of that */
	int64_t taken_ms;
	const char *types_file;		/* or NULL */
	const char *version;		/* of rows without one */
	const struct quiho_rule *rules; /* [n_rules] to keep, in this order */
	size_t n_rules;
};

struct quiho_import_result {
	size_t rows, skipped[QUIHO_SKIPS], skipped_line[QUIHO_SKIPS];
	size_t fingerprints_added, fingerprints_known, rates_added, rates_known;
	size_t recorded_zeros;	  /* rates of this file that are 0 */
	size_t machines;	  /* with fingerprints in this file */
	size_t incomplete_passes; /* of the laboratory's fingerprints of this battery, that lack a stressor which others have */
	size_t runs_added, runs_known, applications;
	size_t runs_without_fingerprint; /* rows of this package's applications in the laboratory that joined none */
	struct csv_use types, hardware;	 /* rows of the types file and of machines.csv, about fingerprints and machines of the catalog */
	size_t catalog_written;
};

/* Brings DIRECTORY/results.csv (and machines.csv where it is), or `rows`, into the store and the catalog of a laboratory that is open for
 * writing. One transaction: after any error the laboratory is as before. Importing the same again changes nothing. */
enum assay_status quiho_import(struct lab *lab, const struct quiho_import_options *options, struct quiho_import_result *out,
			       struct assay_error *err);

#endif
