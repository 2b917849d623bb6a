/* Reads results of other tools into rows of imported.h. The format of each tool's files: docs/recorded.md. */
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

/* The start of a file that was imported before as a whole file. */
struct foreign_start {
	size_t bytes;			      /* length of its complete rows */
	int64_t taken_ms;		      /* time of its results, except those in shorter starts */
	char version[RUN_NAME_BYTES_MAX + 1]; /* for its results without one, if the file has grown and others have another; else "" */
};

/* Facts that a file lacks; NULL if the file has to provide them. */
struct foreign_options {
	const char *name;	 /* file name for messages */
	enum foreign_tool tool;	 /* FOREIGN_TOOLS: detected from the first characters */
	const char *application; /* its name if the file has one benchmark, failed ones included; else a prefix of names, with "/" */
	const char *machine, *metric;
	const char *const *columns; /* [n_columns] "MEANING=COLUMN" for CSV; other columns have their default names */
	size_t n_columns;
	int64_t taken_ms;	      /* time of results if the file has none */
	struct foreign_start *starts; /* [n_starts], by bytes: their results without times are as old as the start */
	size_t n_starts;
	bool time_given;    /* taken_ms comes from the user: it also replaces times of rows that cannot be parsed */
	bool version_given; /* the user names the version, which replaces the program's version in files of the Phoronix Test Suite */
	bool interleaved;   /* the user says that versions took turns */
};

/* A measurement. Its texts belong to the result or to the text that was read. */
struct foreign_row {
	struct imported_row to; /* without `value`; with an outcome if there is no value */
	struct imported_texts texts;
	const char *name, *mark; /* the benchmark's name; a mark that distinguishes it from its namesakes: " (branch=main)", or "" */
	double thing;		 /* number of the measured thing, by its place in the file */
	bool alike;		 /* rows of its name and time measure several things */
	size_t at;
};

struct foreign_result {
	enum foreign_tool tool;
	struct foreign_row *rows; /* [n_rows], in file order, without excluded ones */
	size_t n_rows, capacity;
	struct imported imported;	   /* the rows for imported_store(), and the excluded ones */
	size_t aggregates;		   /* number of benchmarks that the tool computed from others; they are no rows */
	size_t ends_unknown;		   /* number of runs whose exit codes are missing in the file */
	const char *application, *version; /* those of the first usable row; version "" if the file has none */
	bool several, versions;		   /* the file has several applications; several versions of one application */
	char **texts;			   /* [n_texts], texts that rows point to, besides the document */
	size_t n_texts, texts_capacity;
	cJSON *root;
};

/* Reads text[0..n), followed by NUL, into *result. Changes the text, which must outlive *result. Overwrites *result; foreign_release() it,
 * also after a failure. ASSAY_E_FORMAT: the file makes no sense; ASSAY_E_NODATA: it has no measurements; ASSAY_E_USAGE: it needs an option
 * that is missing. Faults of single rows are counted in imported.skipped. O(n log n). */
enum assay_status foreign_read(char *text, size_t n, const struct foreign_options *options, struct foreign_result *result,
			       struct assay_error *err);
void foreign_release(struct foreign_result *result);

#endif
