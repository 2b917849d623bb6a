/* The data package of the quiho paper: results.csv with fingerprints and application results in one table (docs/formats.md). Source:
 * Jimenez et al., "quiho: Automated Performance Regression Testing Using Inferred Resource Utilization Profiles", 2018. */
#ifndef RUNS_RUNNING_QUIHO_H
#define RUNS_RUNNING_QUIHO_H

#include "base/buf.h"
#include "base/error.h"
#include "base/rows.h"
#include "fingerprint/catalog/catalog.h"
#include "fleet/lab/lab.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUIHO_FILE_BYTES_MAX (512u << 20)
#define QUIHO_BATTERY	     "quiho-2017"
#define QUIHO_VERSION	     "imported" /* of an application, where nothing names one */
#define QUIHO_STRESSNG	     "stressng" /* the benchmark whose rows are fingerprints */

/* Why a row cannot be used. */
#define QUIHO_SKIP_ROWS(X)                                                                                                                 \
	X(QUIHO_NOT_A_NUMBER, "not_a_number", "the result is not a finite number")                                                         \
	X(QUIHO_NEGATIVE, "negative", "the result is negative")                                                                            \
	X(QUIHO_TOO_LARGE, "too_large", "the result is above 1e100")                                                                       \
	X(QUIHO_BAD_TIME, "bad_timestamp", "the time stamp is not seconds or milliseconds since 1970")                                     \
	X(QUIHO_BAD_REPETITION, "bad_repetition", "the repetition is not a whole number above 0")                                          \
	X(QUIHO_BAD_NAME, "bad_name", "the name of machine, benchmark, test or version cannot be used")                                    \
	X(QUIHO_BAD_DIRECTION, "bad_direction", "the direction is neither lower nor higher")

enum quiho_skip { QUIHO_SKIP_ROWS(ROWS_ENUM) QUIHO_SKIPS };

const char *quiho_skip_code(enum quiho_skip skip);
const char *quiho_skip_text(enum quiho_skip skip);

/* The direction of a result, where the file says it. */
enum quiho_direction { QUIHO_NO_DIRECTION, QUIHO_LOWER, QUIHO_HIGHER };

/* One usable row; the texts lie in the caller's bytes. */
struct quiho_row {
	const char *url, *revision, *user, *machine, *benchmark, *test, *version; /* version "" when not given */
	const char *battery, *battery_hash, *stress_ng, *architecture;		  /* of a rate; all "" when not given */
	int64_t taken_ms, repetition;
	double value;
	enum quiho_direction direction;
	size_t line;
};

struct quiho {
	struct quiho_row *rows; /* [n], in the order of the file */
	size_t n, capacity;
	struct {
		size_t count, first_line;
	} skipped[QUIHO_SKIPS];
};

/* text[0..n) as csv.h wants it, and it must outlive *out. A file whose structure is broken is an error that names the line; a row
 * whose values cannot be used is counted in `skipped`. quiho_release() the result. */
enum assay_status quiho_parse(const char *name, char *text, size_t n, struct quiho *out, struct assay_error *err);
void quiho_release(struct quiho *quiho);

/* `benchmark/test`, or `benchmark` alone where both are equal or the test is empty. free() it. */
char *quiho_application(const char *benchmark, const char *test);

/* The direction of the metrics of some applications (metric_direction.h). */
struct quiho_rule {
	const char *glob;
	bool higher_is_better;
};

struct quiho_import_options {
	const char *directory; /* NULL: text[0..size), which is changed, is the results.csv, `file` its name in messages */
	const char *file;
	char *text;
	size_t size;
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
	size_t types_given, types_unknown;
	size_t hardware_known, hardware_unknown; /* rows of machines.csv that met a machine of the catalog, and that did not */
	size_t catalog_written;
};

/* Reads DIRECTORY/results.csv (and machines.csv where it is), or a text, into the store and the catalog of a laboratory that is open for
 * writing. One transaction: after any error the laboratory is as before. Importing the same again changes nothing. */
enum assay_status quiho_import(struct lab *lab, const struct quiho_import_options *options, struct quiho_import_result *out,
			       struct assay_error *err);

#endif
