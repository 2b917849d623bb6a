/* Results that other tools have written, as rows of a results.csv (quiho.h), so that one way leads into the store: Google Benchmark's JSON,
 * hyperfine's JSON, CSV whose columns are named, result files of the Phoronix Test Suite. What each of them holds: docs/formats.md. */
#ifndef RUNS_RUNNING_FOREIGN_H
#define RUNS_RUNNING_FOREIGN_H

#include "base/buf.h"
#include "base/error.h"
#include "base/rows.h"
#include "runs/running/quiho.h"

#define FOREIGN_BYTES_MAX (64u << 20)

#define FOREIGN_ROWS(X)                                                                                                                    \
	X(FOREIGN_GBENCH, "gbench", "Google Benchmark")                                                                                    \
	X(FOREIGN_HYPERFINE, "hyperfine", "hyperfine")                                                                                     \
	X(FOREIGN_PHORONIX, "phoronix", "the Phoronix Test Suite")                                                                         \
	X(FOREIGN_CSV, "csv", "a CSV file")

enum foreign_tool { FOREIGN_ROWS(ROWS_ENUM) FOREIGN_TOOLS };

const char *foreign_code(enum foreign_tool tool);
const char *foreign_text(enum foreign_tool tool);

/* What a file does not say; NULL where it shall say it. */
struct foreign_options {
	const char *name;	 /* of the file, for messages */
	enum foreign_tool tool;	 /* FOREIGN_TOOLS: by its first characters */
	const char *application; /* of a file with one benchmark, failed ones counted; else a prefix of their names, with "/" */
	const char *machine, *metric;
	const char *const *columns; /* [n_columns] "MEANING=COLUMN" of CSV; what is not named has its own name */
	size_t n_columns;
	int64_t taken_ms; /* where the file has no time */
};

struct foreign_result {
	enum foreign_tool tool;
	size_t rows, failed;		     /* measurements; those that the tool itself calls failed are none */
	char application[256], version[256]; /* of the first one; version "" where the file has none */
	bool several, versions;		     /* there are several applications; several versions of one */
};

/* text[0..n), NUL behind it, is changed. *out becomes a results.csv with a row a measurement; buf_release() it. ASSAY_E_FORMAT for what
 * makes no sense, ASSAY_E_NODATA for a file without measurements, ASSAY_E_USAGE where an option is missing that it needs. O(n log n). */
enum assay_status foreign_read(char *text, size_t n, const struct foreign_options *options, struct buf *out, struct foreign_result *result,
			       struct assay_error *err);

#endif
