/* Source lines of CPU samples. This module adds functions and lines to the samples from a host (fleet/helper/sampler.h) while the deployed
 * files exist. Readers of the store then do not need these files. */
#ifndef RUNS_RUNNING_SAMPLED_LINES_H
#define RUNS_RUNNING_SAMPLED_LINES_H

#include "runs/running/artefact.h"

#define SAMPLED_LINES_BYTES 7680 /* limit on the text of added lines per run */
#define SAMPLED_FILES_MAX   64	 /* maximum number of open files */

/* Cache of open files. Must be zeroed before use. */
struct sampled_lines {
	struct sampled_file *files[SAMPLED_FILES_MAX];
	size_t n;
};

void sampled_lines_release(struct sampled_lines *lines);

/* A directory on the host, named as the host's kernel does, and the files deployed to it. */
struct sampled_directory {
	char *directory;
	const struct artefact *files;
};

/* Returns the samples, with lines "COUNT line FILE:LINE:BEGIN FUNCTION" in place of the lines `at`, after the lines of their object file.
 * Keeps the most frequent lines within SAMPLED_LINES_BYTES. FILE has no directory. FUNCTION is the source function, inlined or not, that
 * starts at line BEGIN. Without debug information, the place is "-:0:0". Object files that have changed since they were deployed get no
 * lines. The caller frees the result. */
char *sampled_lines_add(struct sampled_lines *lines, const char *samples, const struct sampled_directory *deployed, size_t n);

/* A line that sampled_lines_add() added. The texts are parts of the samples. */
struct sampled_line {
	unsigned long long count;
	const char *file, *function;
	size_t file_bytes, function_bytes;
	unsigned line, function_line; /* line in the file, and line where the function starts; 0 if unknown */
};
/* Reads the next line that sampled_lines_add() added into *out, and moves *text past this line. Returns false if there is none. */
bool sampled_lines_next(const char **text, struct sampled_line *out);

#endif
