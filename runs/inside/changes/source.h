/* The difference between two git references, and the names of each one's files. */
#ifndef RUNS_CHANGES_SOURCE_H
#define RUNS_CHANGES_SOURCE_H

#include "base/buf.h"
#include "runs/inside/changes/functions.h"

#define SOURCE_HUNKS_MAX    1000000u
#define SOURCE_COMMIT_BYTES 65 /* SHA-1 or SHA-256 in hexadecimal, with a null byte */

/* Consecutive lines of the old file that lines of the new file replace. */
struct hunk {
	struct hunk_side {
		const char *file; /* path in the repository, owned by the tree; NULL if that side has no file */
		unsigned line, lines;
	} old, new;
};

struct source_tree {
	char commit[SOURCE_COMMIT_BYTES];
	struct intern files; /* names of all files of the commit */
};

struct source {
	struct hunk *hunks; /* n_hunks elements */
	size_t n_hunks, capacity;
	struct source_tree old, new;
	size_t outside; /* number of hunks outside functions of both builds; set by changes_find() */
};

/* Reads the difference from git. *out is overwritten; call source_release(). Returns ASSAY_E_NOTFOUND with git's message if there is no
 * such repository or reference. */
enum assay_status source_read(const char *repository, const char *old_reference, const char *new_reference, struct source *out,
			      struct assay_error *err);
void source_release(struct source *source); /* accepts a zeroed struct */

/* Parses the output of `git diff -U0` with the prefixes a/ and b/. ASSAY_E_FORMAT names the line. */
enum assay_status source_parse(const char *text, size_t n, struct source *source, struct assay_error *err);

/* Reads the names of a commit's files into out->new. source_content() appends the content of one of these files to *text. Errors as in
 * source_read(). */
enum assay_status source_read_tree(const char *repository, const char *commit, struct source *out, struct assay_error *err);
enum assay_status source_content(const char *repository, const char *commit, const char *file, struct buf *text, struct assay_error *err);

/* Returns the file of the tree to which a path in debug information refers: the longest name that ends the path. NULL: none. */
const char *source_file(const struct source_tree *tree, const char *path);

#endif
