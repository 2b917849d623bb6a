/* Reads result files of other tools into rows for imported.h. docs/recorded.md describes the formats. */
#ifndef RUNS_RUNNING_FOREIGN_H
#define RUNS_RUNNING_FOREIGN_H

#include "base/error.h"
#include "base/json.h"
#include "base/rows.h"
#include "runs/running/imported.h"

#define FOREIGN_ROWS(X)                                                                                                                    \
	X(FOREIGN_GBENCH, "gbench", "Google Benchmark")                                                                                    \
	X(FOREIGN_HYPERFINE, "hyperfine", "hyperfine")                                                                                     \
	X(FOREIGN_PHORONIX, "phoronix", "the Phoronix Test Suite")                                                                         \
	X(FOREIGN_PYTEST, "pytest", "pytest-benchmark")                                                                                    \
	X(FOREIGN_CATCH2, "catch2", "Catch2")                                                                                              \
	X(FOREIGN_CRITERION, "criterion", "criterion")                                                                                     \
	X(FOREIGN_JMH, "jmh", "JMH")                                                                                                       \
	X(FOREIGN_GO, "go", "Go's benchmarks")                                                                                             \
	X(FOREIGN_PERF, "perf", "perf stat")                                                                                               \
	X(FOREIGN_JUNIT, "junit", "JUnit XML")                                                                                             \
	X(FOREIGN_CSV, "csv", "a CSV file")

enum foreign_tool { FOREIGN_ROWS(ROWS_ENUM) FOREIGN_TOOLS };

const char *foreign_code(enum foreign_tool tool);
const char *foreign_text(enum foreign_tool tool);

/* An earlier import of the same file, which then had fewer rows. */
struct foreign_earlier_import {
	size_t bytes;			      /* size of the complete rows that the file had at that import */
	int64_t taken_ms;		      /* time that this import gave to the results that it added */
	char version[RUN_NAME_BYTES_MAX + 1]; /* version given to these results if they have none and the file has grown; else "" */
};

/* Facts that a file may lack. If a member is NULL, the fact must be in the file. */
struct foreign_options {
	const char *name;	 /* file name, for messages */
	enum foreign_tool tool;	 /* FOREIGN_TOOLS if the content determines the tool */
	const char *application; /* name of the application if the file has only one benchmark; else prefix of names: PREFIX/NAME */
	const char *machine, *metric;
	const char *const *columns; /* [n_columns], "MEANING=COLUMN" for CSV; a meaning that is not listed has the column of its own name */
	size_t n_columns;
	int64_t taken_ms;		       /* time of results for which the file has none, ms since 1970 */
	struct foreign_earlier_import *starts; /* [n_starts], by `bytes`; results without a time keep the time of their first import */
	size_t n_starts;
	bool is_time_given;    /* the user gave taken_ms, so it also replaces times that cannot be parsed */
	bool is_version_given; /* the user gave the version, so versions in files of the Phoronix Test Suite are ignored */
	bool interleaved;      /* the user states that the versions took turns */
};

/* A measurement. Its texts belong to the foreign_result or to the text that was read. */
struct foreign_row {
	struct imported_row to; /* row for the store, without `value`; has an outcome if the run failed */
	struct imported_texts texts;
	const char *name, *mark; /* name of the benchmark; mark of a benchmark whose name is not unique, such as " (branch=main)", or "" */
	double benchmark_number; /* number that identifies the benchmark by its place in the file */
	bool is_ambiguous;	 /* true if benchmarks that the file separates have this name and mark */
	size_t at;
};

struct foreign_result {
	enum foreign_tool tool;
	struct foreign_row *rows; /* [n_rows], in file order, without excluded rows */
	size_t n_rows, capacity;
	struct imported imported;	     /* rows for imported_store(), and numbers of excluded rows */
	size_t aggregates;		     /* number of means and other aggregates, which do not become rows */
	size_t n_thinned;		     /* number of samples that were not used, because their benchmark has too many */
	size_t n_without_exit_code;	     /* number of runs whose exit code is not in the file */
	const char *application, *version;   /* application and version of the first usable row; `version` is "" if the file has none */
	bool several_applications, versions; /* whether the file has several applications, and several versions of one application */
	char **texts;			     /* [n_texts], texts of rows that are not in the parsed document */
	size_t n_texts, texts_capacity;
	cJSON *root;
};

/* Reads text[0..n), followed by NUL, into *result. Changes the text, which must outlive *result. The caller always calls foreign_release().
 * ASSAY_E_FORMAT: the file is invalid. ASSAY_E_NODATA: it has no measurements. ASSAY_E_USAGE: an option is missing or wrong. Invalid single
 * rows are no error: imported.skipped counts them. O(n log n). */
enum assay_status foreign_read(char *text, size_t n, const struct foreign_options *options, struct foreign_result *result,
			       struct assay_error *err);
void foreign_release(struct foreign_result *result);

#endif
