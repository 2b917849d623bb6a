/* The difference between two references of a git repository, and the functions of a build that it touches. */
#ifndef RUNS_CHANGES_SOURCE_H
#define RUNS_CHANGES_SOURCE_H

#include "base/buf.h"
#include "runs/inside/changes/functions.h"

#define SOURCE_HUNKS_MAX    1000000u
#define SOURCE_COMMIT_BYTES 65 /* SHA-1 or SHA-256, with a NUL */

/* Lines of one file that are replaced in the other. */
struct hunk {
	struct hunk_side {
		const char *file; /* path in the repository, owned by the tree; NULL: no file, no lines */
		unsigned line, lines;
	} old, new;
};

struct source_tree {
	char commit[SOURCE_COMMIT_BYTES];
	struct intern files; /* names of all files */
};

struct source {
	struct hunk *hunks; /* [n_hunks] */
	size_t n_hunks, capacity;
	struct source_tree old, new;
	size_t outside; /* hunks in no function of either build; set by source_touched() */
};

/* Reads the difference from git. *out is overwritten; source_release() it. ASSAY_E_NOTFOUND with git's message if there is no such
 * repository or reference. */
enum assay_status source_read(const char *repository, const char *old_reference, const char *new_reference, struct source *out,
			      struct assay_error *err);
void source_release(struct source *source); /* accepts zeroed */

/* Parses the output of `git diff -U0` with the prefixes a/ and b/. ASSAY_E_FORMAT names the line. */
enum assay_status source_parse(const char *text, size_t n, struct source *source, struct assay_error *err);

/* source_read_tree() reads the names of a commit's files, as source->new. source_content() appends the content of one of them to *text.
 * Errors as in source_read(). */
enum assay_status source_read_tree(const char *repository, const char *commit, struct source *out, struct assay_error *err);
enum assay_status source_content(const char *repository, const char *commit, const char *file, struct buf *text, struct assay_error *err);

/* Returns the file of the tree to which a path in debug information refers: the longest one that it ends with. NULL: none. */
const char *source_file(const struct source_tree *tree, const char *path);

#endif
