/* Results of other tools, as rows of imported.h. What the files of each tool hold: docs/recorded.md. */
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
	X(FOREIGN_CSV, "csv", "a CSV file")

enum foreign_tool { FOREIGN_ROWS(ROWS_ENUM) FOREIGN_TOOLS };

const char *foreign_code(enum foreign_tool tool);
const char *foreign_text(enum foreign_tool tool);

/* The start of a file that was imported before, as a whole file. */
struct foreign_start {
	size_t bytes;			      /* of its whole rows */
	int64_t taken_ms;		      /* of its results, but for those of shorter starts */
	char version[RUN_NAME_BYTES_MAX + 1]; /* of those of them without one, if the file has grown and others have another; else "" */
};

/* What a file does not say; NULL where it shall say it. */
struct foreign_options {
	const char *name;	 /* of the file, for messages */
	enum foreign_tool tool;	 /* FOREIGN_TOOLS: by its first characters */
	const char *application; /* of a file with one benchmark, failed ones counted; else a prefix of their names, with "/" */
	const char *machine, *metric;
	const char *const *columns; /* [n_columns] "MEANING=COLUMN" of CSV; what is not named has its own name */
	size_t n_columns;
	int64_t taken_ms;	      /* where the file has no time */
	struct foreign_start *starts; /* [n_starts], by bytes: those results of a file without times are as old as their start */
	size_t n_starts;
	bool time_given;    /* taken_ms is the user's: it also stands where the time of a row is not understood */
	bool version_given; /* the user names the version, which stands before that of the program in a file of the Phoronix Test Suite */
	bool interleaved;   /* the user says that versions took turns */
};

/* A measurement. Its texts belong to the result, or to the text that was read. */
struct foreign_row {
	struct imported_row to; /* without `value`; with an outcome where there is none */
	struct imported_texts texts;
	const char *name, *mark; /* of the benchmark; what distinguishes it from others of that name: " (branch=main)", or "" */
	double thing;		 /* what was measured, by its place in the file: all rows of one name are of one thing, */
	bool alike;		 /* or are not */
	size_t at;
};

struct foreign_result {
	enum foreign_tool tool;
	struct foreign_row *rows; /* [n_rows], in the order of the file, but for those that are excluded */
	size_t n_rows, capacity;
	struct imported imported;	   /* the same for imported_store(), with what was excluded */
	size_t aggregates;		   /* benchmarks that the tool computed from others; they are no rows */
	size_t ends_unknown;		   /* runs whose exit codes the file does not have at all */
	const char *application, *version; /* of the first row that can be used; version "" where the file has none */
	bool several, versions;		   /* there are several applications; several versions of one */
	char **texts;			   /* [n_texts], to which rows point, as to the document */
	size_t n_texts, texts_capacity;
	cJSON *root;
};

/* Reads text[0..n), NUL after it, which is changed and must outlive *result. That is overwritten; foreign_release() it, after a failure
 * too. ASSAY_E_FORMAT for a file that makes no sense, ASSAY_E_NODATA for one without measurements, ASSAY_E_USAGE where an option is missing
 * that it needs. What is wrong with a single row is counted in imported.skipped. O(n log n). */
enum assay_status foreign_read(char *text, size_t n, const struct foreign_options *options, struct foreign_result *result,
			       struct assay_error *err);
void foreign_release(struct foreign_result *result);

#endif
