/* Shows progress on standard error. On a terminal, progress is one line that is overwritten. In a log, progress is at most one line per
 * minute; the first comes after a minute of work. */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>
#include <stdio.h>

#define PROGRESS_LOG_S 60

struct progress {
	FILE *stream;
	bool terminal; /* `stream` is a terminal, and --quiet is not given */
	bool open;     /* the terminal's line has not been ended by a newline yet */
	double next_s; /* earliest time of the next line in a log, s (progress_now()); infinite if --quiet is given */
};

/* Starts to show progress on `stream`. now_s is the result of progress_now(). */
struct progress progress_begin(FILE *stream, double now_s);

/* Shows the formatted progress: on a terminal always, in a log once a minute. If `last`, ends the terminal's line, and logs nothing. */
void progress_show(struct progress *progress, double now_s, bool last, const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Ends the terminal's line if it is open, so that a message can follow on its own line. */
void progress_end(struct progress *progress);

/* Returns the time of the monotonic clock, in s. */
double progress_now(void);

#endif
