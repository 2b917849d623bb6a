/* The metric of a run: one number, measured around the command or read from its output. */
#ifndef RUNS_RUNNING_METRIC_H
#define RUNS_RUNNING_METRIC_H

#include "base/error.h"
#include "base/rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define METRIC_OUTPUT_BYTES_MAX (16u << 20) /* longest standard output (or result file) of a run that is searched */

/* Constant, word in manifests. */
#define METRIC_SOURCE_ROWS(X)                                                                                                              \
	X(METRIC_WALL, "wall")			       /* seconds, monotonic clock around the command, on the host */                      \
	X(METRIC_CPU, "cpu")			       /* seconds, user + system of the command and its descendants */                     \
	X(METRIC_REGEX, "regex")		       /* first group of a POSIX extended regular expression, on one line of the output */ \
	X(METRIC_GOOGLE_BENCHMARK, "google-benchmark") /* its JSON: seconds per repetition */                                              \
	X(METRIC_HYPERFINE, "hyperfine")	       /* its JSON (--export-json): seconds */

enum metric_source { METRIC_SOURCE_ROWS(ROWS_ENUM) METRIC_SOURCES };
const char *metric_source_word(enum metric_source source);

struct metric {
	enum metric_source source;
	char *pattern; /* METRIC_REGEX */
	char *name;    /* METRIC_GOOGLE_BENCHMARK: the benchmark's name; METRIC_HYPERFINE: the command; NULL: there must be only one */
	bool cpu_time; /* METRIC_GOOGLE_BENCHMARK: cpu_time instead of real_time */
	bool higher_is_better; /* only METRIC_REGEX may set it */
	char *unit;	       /* human-readable; "s" for times; may be NULL */
};

/* Parses the key `metric` of a manifest. *out is empty before; its owner releases it, also after a failure. */
struct manifest_reader;
struct yaml_node;
enum assay_status metric_parse(const struct manifest_reader *r, const struct yaml_node *node, struct metric *out);

/* Measurements around the command. */
struct metric_usage {
	int64_t wall_ns, user_us, sys_us;
};

/* Reads the value of one run: finite and above 0. output[n] is its standard output. Fails with ASSAY_E_NODATA and the reason if there is no
 * metric: no line matches, not a number, 0 or less, no such benchmark, several instead of one, not JSON. Several values (regex: lines;
 * Google Benchmark: repetitions, without aggregates; hyperfine: times[]) give their median. *warning (free() it) is one line or NULL: a
 * pattern matched several times, or Google Benchmark reports CPU scaling. */
enum assay_status metric_read(const struct metric *metric, const struct metric_usage *usage, const char *output, size_t n, double *value,
			      char **warning, struct assay_error *err);

#endif
