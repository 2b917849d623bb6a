/* The pattern of a metric: POSIX extended regular expressions on lines that a program printed, in time that grows as the lines do. */
#ifndef RUNS_RUNNING_METRIC_PATTERN_H
#define RUNS_RUNNING_METRIC_PATTERN_H

#include "base/buf.h"

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

/* Why it cannot be used; free() it. NULL: it can, and has a group. */
char *metric_pattern_fault(const char *pattern);

struct metric_finder {
	const char *pattern; /* borrowed; without a fault */
	char *backwards;     /* it, behind anything */
	regex_t forward, backward;
	bool compiled;
	size_t read_bytes; /* since then */
	struct buf line;
};
void metric_finder_init(struct metric_finder *finder, const char *pattern);
void metric_finder_release(struct metric_finder *finder);

/* What regexec() says of the line, line[n] == '\0', a NUL in it a character as any other: the first match and its first group. *again is
 * set with it: what follows has another one. O(n). */
bool metric_finder_find(struct metric_finder *finder, const char *line, size_t n, regmatch_t groups[2], bool *again);

#endif
