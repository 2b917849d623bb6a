/* Where in the sources the time of a run went: what the sampling clock of its host said of places in the application's own files
 * (fleet/helper/sampler.h), by function and line, as the files that were deployed say. So what is stored of a run says it of itself. */
#ifndef RUNS_RUNNING_SAMPLED_LINES_H
#define RUNS_RUNNING_SAMPLED_LINES_H

#include "runs/running/artefact.h"

#define SAMPLED_LINES_BYTES 7680 /* of a run */
#define SAMPLED_FILES_MAX   64	 /* that are open at once */

/* The files that were looked into; {0} at first. */
struct sampled_lines {
	struct sampled_file *files[SAMPLED_FILES_MAX];
	size_t n;
};

void sampled_lines_release(struct sampled_lines *lines);

/* What was deployed to a directory of the host, as the kernel there calls it. */
struct sampled_deployed {
	char *directory;
	const struct artefact *files;
};

/* The same samples with, in the place of each line `at` and behind the file, lines "COUNT line FILE:LINE:BEGIN FUNCTION", the most frequent
 * of all files' first within SAMPLED_LINES_BYTES: FILE without its directory; FUNCTION as the source has it, the one that is inlined there,
 * whose name is in line BEGIN; `-:0:0` where there is no debug information. Files that are not as they were deployed have none. free() it.
 * The first question about a file reads it. */
char *sampled_lines_of(struct sampled_lines *lines, const char *samples, const struct sampled_deployed *deployed, size_t n);

/* One such line of samples; `function` lasts as the text does, and ends at the end of its line. */
struct sampled_line {
	unsigned long long count;
	const char *file, *function;
	size_t file_bytes, function_bytes;
	unsigned line, begins; /* 0: not known */
};
/* The next from *text on, which is moved behind it. False: there is none. */
bool sampled_lines_next(const char **text, struct sampled_line *out);

#endif
