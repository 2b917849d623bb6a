/* Features of a run: how often loops went round, branches were taken, functions called, exceptions thrown, and the first values of
 * variables, by name; and what users count themselves. A feature's name is the same in all builds of the same source:
 *
 *   loop FILE:LINE FUNCTION                   times that the loop's body was started
 *   branch FILE:LINE:COLUMN FUNCTION WAY      times that a branch went this way: taken, not taken, case N, default
 *   call FUNCTION FILE:LINE                   times that the function was entered
 *   exception FILE:LINE FUNCTION WHAT         thrown, caught
 *   value VARIABLE FILE:LINE FUNCTION K       the K-th value that was assigned there, K from 1 to 5
 *
 * FILE is the base name of the source. The text form, which people and programs exchange, has a feature a line: "NUMBER NAME". */
#ifndef RUNS_RUN_FEATURES_H
#define RUNS_RUN_FEATURES_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define RUN_FEATURES_NAME_MAX 4096u /* bytes */
#define RUN_FEATURES_MAX      (8u << 20)

enum feature_kind { FEATURE_COUNT, FEATURE_VALUE };

struct run_feature {
	char *name; /* UTF-8 where the source's names are; no control characters */
	double value;
	enum feature_kind kind;
};

struct run_features {
	struct run_feature *items; /* [n], sorted by name, which are unique */
	size_t n, capacity;
	char **pieces; /* [pieces_n], as format.h has their lines; in the order of the files */
	size_t pieces_n, pieces_capacity;
	size_t files;	 /* that were read */
	size_t cut_off;	 /* of them: the process did not end in order */
	bool incomplete; /* counts of a thread or a child are missing: there was no room for them */
};

/* Reads all files *.features of a directory. Counts are sums over threads, processes and modules, and over places of one name; those of
 * what was never reached are there, with 0. Values are means over threads and processes; those that were never assigned are not there.
 * *out is overwritten; run_features_release() it. ASSAY_E_NODATA: there is no such file. O(n log n) for n counters of all files. */
enum assay_status run_features_read(const char *directory, struct run_features *out, struct assay_error *err);
/* Bytes of a file. */
struct run_features_file {
	char *name; /* for errors */
	char *bytes;
	size_t size;
};
/* The same of files that are all of one run, as run_features_read(). ASSAY_OK and nothing in *out when n is 0. */
enum assay_status run_features_parse(const struct run_features_file *files, size_t n, struct run_features *out, struct assay_error *err);

/* The first word of a name tells: loop, branch, call and exception are counts. */
enum feature_kind feature_kind_of(const char *name);

/* Reads the text form. Counts add up where a name stands twice; a value is an error when it stands twice. Empty lines are excluded.
 * ASSAY_E_FORMAT names the line. */
enum assay_status run_features_text_parse(const char *text, size_t n, struct run_features *out, struct assay_error *err);
void run_features_text(const struct run_features *f, struct buf *out);

/* NULL: there is none of this name. */
const struct run_feature *run_features_find(const struct run_features *f, const char *name);
void run_features_release(struct run_features *f); /* accepts zeroed */

#endif
