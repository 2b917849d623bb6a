/* Features of a run, by name: counts of loops, branches, calls and exceptions; first values of variables; numbers that users provide. A
 * feature has the same name in all builds of the same source:
 *
 *  loop FILE:LINE FUNCTION                      number of starts of the loop's body
 *  branch FILE:LINE:COLUMN FUNCTION WAY         number of times that the branch went this way: taken, not taken, case N, default
 *  call FUNCTION FILE:LINE                      number of entries of the function
 *  exception FILE:LINE FUNCTION WHAT            number of exceptions; WHAT is thrown or caught
 *  value VARIABLE FILE:LINE FUNCTION K          K-th value assigned there, K from 1 to 5
 *
 * FILE is the base name of the source file. The text form, for users and other programs, has a line "NUMBER NAME" per feature. */
#ifndef RUNS_RUN_FEATURES_H
#define RUNS_RUN_FEATURES_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define RUN_FEATURES_NAME_MAX 4096u /* maximum length of a name, bytes */
#define RUN_FEATURES_MAX      (8u << 20)

enum feature_kind { FEATURE_COUNT, FEATURE_VALUE };

struct run_feature {
	char *name; /* name without control characters; UTF-8 if the names in the source are */
	double value;
	enum feature_kind kind;
};

struct run_features {
	struct run_feature *items; /* [n] features sorted by name, without duplicates */
	size_t n, capacity;
	char **pieces; /* [n_pieces] pieces that a run can exclude, as lines of format.h, in the order of the files */
	size_t n_pieces, pieces_capacity;
	size_t files;	     /* number of files read */
	size_t n_unfinished; /* number of files whose process did not end in order */
	bool incomplete;     /* true if counts of a thread or child process are missing, because there was no space for them */
};

/* Reads all files *.features of a directory. A count is the sum over threads, processes, modules and places with the same name; 0 if never
 * reached. A value is the mean over threads and processes; absent if never assigned. Overwrites *out; call run_features_release(). Returns
 * ASSAY_E_NODATA if there is no such file. O(n log n) for n counters in all files. */
enum assay_status run_features_read(const char *directory, struct run_features *out, struct assay_error *err);
size_t run_features_count_files(const char *directory); /* returns the number of such files; 0 if the directory cannot be read */
/* The content of a feature file. */
struct run_features_file {
	char *name; /* name for error messages */
	char *bytes;
	size_t size;
};
/* Does the same as run_features_read() for the files of one run. If n is 0, returns ASSAY_OK and an empty *out. */
enum assay_status run_features_parse(const struct run_features_file *files, size_t n, struct run_features *out, struct assay_error *err);

/* Returns the kind of a feature by the first word of its name. Loop, branch, call and exception are counts, all others are values. */
enum feature_kind feature_find_kind(const char *name);

/* Reads the text form. Sums counts with the same name, but refuses repeated values. Ignores empty lines. ASSAY_E_FORMAT names the line. */
enum assay_status run_features_text_parse(const char *text, size_t n, struct run_features *out, struct assay_error *err);
void run_features_print(const struct run_features *f, struct buf *out);

/* Returns the feature with this name; NULL if there is none. */
const struct run_feature *run_features_find(const struct run_features *f, const char *name);
void run_features_release(struct run_features *f); /* accepts a zeroed struct */

#endif
