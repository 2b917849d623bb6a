/* The metric of a run: one number, from the run's resource usage or from its output. */
#ifndef RUNS_RUNNING_METRIC_H
#define RUNS_RUNNING_METRIC_H

#include "base/error.h"
#include "base/rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define METRIC_OUTPUT_BYTES_MAX (16u << 20) /* limit on standard output, or on a result file, from which a metric is read */

/* Columns: constant, name in manifests. */
#define METRIC_SOURCE_ROWS(X)                                                                                                              \
	X(METRIC_WALL, "wall")			       /* wall-clock time on the host by the monotonic clock, s */                         \
	X(METRIC_CPU, "cpu")			       /* user and system CPU time of the command and its descendants, s */                \
	X(METRIC_REGEX, "regex")		       /* first group of a POSIX extended regular expression that matches a line */        \
	X(METRIC_GOOGLE_BENCHMARK, "google-benchmark") /* times in Google Benchmark's JSON, s per repetition */                            \
	X(METRIC_HYPERFINE, "hyperfine")	       /* times in hyperfine's JSON (--export-json), s */

enum metric_source { METRIC_SOURCE_ROWS(ROWS_ENUM) METRIC_SOURCES };
const char *metric_source_name(enum metric_source source);

struct metric {
	enum metric_source source;
	char *pattern; /* regular expression of METRIC_REGEX; NULL for other sources */
	char *name;    /* name of a benchmark (METRIC_GOOGLE_BENCHMARK) or command (METRIC_HYPERFINE); NULL if the output has only one */
	bool cpu_time; /* METRIC_GOOGLE_BENCHMARK: true to use cpu_time instead of real_time */
	bool higher_is_better; /* always false except for METRIC_REGEX */
	char *unit;	       /* unit for users; "s" for times; NULL if unknown */
};

/* Parses the key `metric` of a manifest into *out, which must be empty. The caller frees *out, also after a failure. */
struct manifest_reader;
struct yaml_node;
enum assay_status metric_parse(const struct manifest_reader *r, const struct yaml_node *node, struct metric *out);

/* Resource usage of a command; -1 for unknown values. */
struct metric_usage {
	int64_t wall_ns, user_us, sys_us;
};

/* Reads the metric of one run from `usage`, or from its standard output, output[0..n). The metric is finite and above 0. If there are
 * several values, it is their median (regex: lines; Google Benchmark: repetitions without aggregates; hyperfine: times[]). ASSAY_E_NODATA:
 * no line matches, no number, 0 or less, no such benchmark, several benchmarks, or no JSON. Sets *warning to a line if a pattern matched
 * several times, or if Google Benchmark reports CPU scaling; else to NULL. The caller frees the result. */
enum assay_status metric_read(const struct metric *metric, const struct metric_usage *usage, const char *output, size_t n, double *value,
			      char **warning, struct assay_error *err);

#endif
