/* Source lines of CPU samples. Adds functions and lines to the samples from a host (fleet/helper/sampler.h) while the deployed files exist,
 * so that the store does not need the files. */
#ifndef RUNS_RUNNING_SAMPLED_LINES_H
#define RUNS_RUNNING_SAMPLED_LINES_H

#include "runs/running/artefact.h"

#define SAMPLED_LINES_BYTES 7680 /* limit on text per run */
#define SAMPLED_FILES_MAX   64	 /* limit on open files */

/* Cache of open files; {0} at first. */
struct sampled_lines {
	struct sampled_file *files[SAMPLED_FILES_MAX];
	size_t n;
};

void sampled_lines_release(struct sampled_lines *lines);

/* A directory by its name in the host's kernel, and the files deployed to the directory. */
struct sampled_deployed {
	char *directory;
	const struct artefact *files;
};

/* Returns the samples with lines "COUNT line FILE:LINE:BEGIN FUNCTION" in place of the lines `at`, after the line of their object file.
 * Keeps the most frequent ones within SAMPLED_LINES_BYTES. FILE has no directory. FUNCTION is the source function, inlined or not, that
 * starts at line BEGIN; "-:0:0" without debug information. Omits lines of object files that have changed since they were deployed. free()
 * the result. */
char *sampled_lines_of(struct sampled_lines *lines, const char *samples, const struct sampled_deployed *deployed, size_t n);

/* A line that sampled_lines_of() added. The texts of the line are parts of the samples. */
struct sampled_line {
	unsigned long long count;
	const char *file, *function;
	size_t file_bytes, function_bytes;
	unsigned line, begins; /* 0 if unknown */
};
/* Reads the next such line from *text and moves *text past it. Returns false if there is none. */
bool sampled_lines_next(const char **text, struct sampled_line *out);

#endif
