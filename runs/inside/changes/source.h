/* The difference between two git references, and the names of the files in each. */
#ifndef RUNS_CHANGES_SOURCE_H
#define RUNS_CHANGES_SOURCE_H

#include "base/buf.h"
#include "runs/inside/changes/functions.h"

#define SOURCE_HUNKS_MAX    1000000u
#define SOURCE_COMMIT_BYTES 65 /* size of a hexadecimal SHA-1 or SHA-256 with its NUL */

/* Consecutive lines of the old file, and the lines of the new file that replace them. */
struct hunk {
	struct hunk_side {
		const char *file; /* path in the repository, owned by the tree; NULL if that side has no file */
		unsigned line, lines;
	} old, new;
};

struct source_tree {
	char commit[SOURCE_COMMIT_BYTES];
	struct intern files; /* names of all files in the commit */
};

struct source {
	struct hunk *hunks; /* [n_hunks] */
	size_t n_hunks, capacity;
	struct source_tree old, new;
	size_t n_hunks_outside; /* number of hunks outside the functions of both builds; set by changes_find() */
};

/* Reads the difference from git. Overwrites *out; call source_release(). Returns ASSAY_E_NOTFOUND, with git's message, if the repository or
 * a reference does not exist. */
enum assay_status source_read(const char *repository, const char *old_reference, const char *new_reference, struct source *out,
			      struct assay_error *err);
void source_release(struct source *source); /* accepts a zeroed struct */

/* Parses the output of `git diff -U0` with the prefixes a/ and b/. Returns ASSAY_E_FORMAT, with the line, if the output is malformed. */
enum assay_status source_parse(const char *text, size_t n, struct source *source, struct assay_error *err);

/* Reads the names of a commit's files into out->new. source_read_content() appends one file's content to *text. Both fail like
 * source_read(). */
enum assay_status source_read_tree(const char *repository, const char *commit, struct source *out, struct assay_error *err);
enum assay_status source_read_content(const char *repository, const char *commit, const char *file, struct buf *text,
				      struct assay_error *err);

/* Returns the tree's file to which a path in debug information refers: the longest name that ends the path. NULL if there is none. */
const char *source_find_file(const struct source_tree *tree, const char *path);

#endif
