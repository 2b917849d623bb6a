/* The metric of a run: one number, from resource usage or from the output. */
#ifndef RUNS_RUNNING_METRIC_H
#define RUNS_RUNNING_METRIC_H

#include "base/error.h"
#include "base/rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define METRIC_OUTPUT_BYTES_MAX (16u << 20) /* limit on the standard output of a run, or its result file, that is searched */

/* Columns: constant, word in manifests. */
#define METRIC_SOURCE_ROWS(X)                                                                                                              \
	X(METRIC_WALL, "wall")			       /* wall-clock time on the host, s, by the monotonic clock */                        \
	X(METRIC_CPU, "cpu")			       /* user and system CPU time of the command and its descendants, s */                \
	X(METRIC_REGEX, "regex")		       /* first group of a POSIX extended regular expression that matches a line */        \
	X(METRIC_GOOGLE_BENCHMARK, "google-benchmark") /* Google Benchmark's JSON, s per repetition */                                     \
	X(METRIC_HYPERFINE, "hyperfine")	       /* hyperfine's JSON (--export-json), s */

enum metric_source { METRIC_SOURCE_ROWS(ROWS_ENUM) METRIC_SOURCES };
const char *metric_source_word(enum metric_source source);

struct metric {
	enum metric_source source;
	char *pattern;	       /* regular expression of METRIC_REGEX; else NULL */
	char *name;	       /* METRIC_GOOGLE_BENCHMARK: benchmark's name; METRIC_HYPERFINE: command; NULL: the output has only one */
	bool cpu_time;	       /* METRIC_GOOGLE_BENCHMARK: use cpu_time instead of real_time */
	bool higher_is_better; /* false unless METRIC_REGEX */
	char *unit;	       /* for users; "s" for times; NULL if unknown */
};

/* Parses the key `metric` of a manifest into *out, which must be empty. The caller releases *out, also after a failure. */
struct manifest_reader;
struct yaml_node;
enum assay_status metric_parse(const struct manifest_reader *r, const struct yaml_node *node, struct metric *out);

/* Usage of the command; -1 for unknown values. */
struct metric_usage {
	int64_t wall_ns, user_us, sys_us;
};

/* Reads the metric of one run, finite and above 0, from `usage` or from its standard output, output[0..n). Several values (regex: lines;
 * Google Benchmark: repetitions without aggregates; hyperfine: times[]) give their median. ASSAY_E_NODATA: no line matches, not a number, 0
 * or less, no such benchmark, several benchmarks, or not JSON. *warning: a line if a pattern matched several times or Google Benchmark
 * reports CPU scaling, else NULL; free() it. */
enum assay_status metric_read(const struct metric *metric, const struct metric_usage *usage, const char *output, size_t n, double *value,
			      char **warning, struct assay_error *err);

#endif
