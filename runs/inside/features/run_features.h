/* Features of a run: events of loops, branches, calls and exceptions, and the first values of variables, by name; also counts by users. A
 * feature has the same name in all builds of the same source:
 *
 *   loop FILE:LINE FUNCTION                   starts of the loop's body
 *   branch FILE:LINE:COLUMN FUNCTION WAY      times that the branch went this way: taken, not taken, case N, default
 *   call FUNCTION FILE:LINE                   entries of the function
 *   exception FILE:LINE FUNCTION WHAT         thrown, caught
 *   value VARIABLE FILE:LINE FUNCTION K       the K-th value assigned there, K from 1 to 5
 *
 * FILE is the base name of the source. The text form, for users and other programs, has one feature per line: "NUMBER NAME". */
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
	char *name; /* UTF-8 if the source's names are; no control characters */
	double value;
	enum feature_kind kind;
};

struct run_features {
	struct run_feature *items; /* [n], sorted by name, unique */
	size_t n, capacity;
	char **pieces; /* [pieces_n], lines as in format.h, in the order of the files */
	size_t pieces_n, pieces_capacity;
	size_t files;	 /* files read */
	size_t cut_off;	 /* files whose process did not end in order */
	bool incomplete; /* counts of a thread or a child are missing, because there was no room for them */
};

/* Reads all files *.features of a directory. Counts are sums over threads, processes, modules, and places of the same name; those never
 * reached are 0. Values are means over threads and processes; those never assigned are absent. *out is overwritten; run_features_release()
 * it. ASSAY_E_NODATA: there is no such file. O(n log n) for n counters of all files. */
enum assay_status run_features_read(const char *directory, struct run_features *out, struct assay_error *err);
size_t run_features_files(const char *directory); /* number of these files; 0 if the directory cannot be read */
/* The bytes of a file. */
struct run_features_file {
	char *name; /* for errors */
	char *bytes;
	size_t size;
};
/* Does the same for files of one run. If n is 0: ASSAY_OK and an empty *out. */
enum assay_status run_features_parse(const struct run_features_file *files, size_t n, struct run_features *out, struct assay_error *err);

/* Returns the kind of a feature by the first word of its name: loop, branch, call and exception are counts. */
enum feature_kind feature_kind_of(const char *name);

/* Reads the text form. Counts of the same name are added; a value that occurs twice is an error. Empty lines are ignored. ASSAY_E_FORMAT
 * names the line. */
enum assay_status run_features_text_parse(const char *text, size_t n, struct run_features *out, struct assay_error *err);
void run_features_text(const struct run_features *f, struct buf *out);

/* Returns the feature, NULL if there is none. */
const struct run_feature *run_features_find(const struct run_features *f, const char *name);
void run_features_release(struct run_features *f); /* accepts zeroed */

#endif
