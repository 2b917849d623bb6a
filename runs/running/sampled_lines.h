/* Source lines where the time of a run went. Adds functions and lines, from the deployed files, to the samples of a host's sampling clock
 * (fleet/helper/sampler.h) in the application's own files. So the store needs no files later. */
#ifndef RUNS_RUNNING_SAMPLED_LINES_H
#define RUNS_RUNNING_SAMPLED_LINES_H

#include "runs/running/artefact.h"

#define SAMPLED_LINES_BYTES 7680 /* per run */
#define SAMPLED_FILES_MAX   64	 /* files open at once */

/* The files that were read; {0} at first. */
struct sampled_lines {
	struct sampled_file *files[SAMPLED_FILES_MAX];
	size_t n;
};

void sampled_lines_release(struct sampled_lines *lines);

/* A directory of the host, as the kernel there names it, and the files deployed to it. */
struct sampled_deployed {
	char *directory;
	const struct artefact *files;
};

/* Returns the samples with lines "COUNT line FILE:LINE:BEGIN FUNCTION" instead of each line `at`, after the file's line. The most frequent
 * over all files come first, within SAMPLED_LINES_BYTES. FILE has no directory. FUNCTION is the source function, inlined or not, whose name
 * is in line BEGIN; `-:0:0` without debug information. Files that differ from the deployed ones have no such lines. Reads a file at the
 * first question about it; free() the result. */
char *sampled_lines_of(struct sampled_lines *lines, const char *samples, const struct sampled_deployed *deployed, size_t n);

/* One such line; `function` ends at the end of its line and lasts as long as the text. */
struct sampled_line {
	unsigned long long count;
	const char *file, *function;
	size_t file_bytes, function_bytes;
	unsigned line, begins; /* 0: unknown */
};
/* Reads the next one from *text and moves *text after it. Returns false if there is none. */
bool sampled_lines_next(const char **text, struct sampled_line *out);

#endif
