/* Shows progress on standard error. On a terminal, progress is one line that rewrites itself. In a log, progress is at most one line per
 * minute, the first line after a minute of work. */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>
#include <stdio.h>

#define PROGRESS_LOG_S 60

struct progress {
	FILE *stream;
	bool terminal; /* `stream` is a terminal, and --quiet is not given */
	bool open;     /* the terminal's line has no newline yet */
	double next_s; /* earliest time of the next line in a log, s; infinite if --quiet is given */
};

/* Starts showing progress; now_s is progress_now(). */
struct progress progress_begin(FILE *stream, double now_s);

/* Shows the progress: on a terminal always, in a log once a minute. `last`: ends the terminal's line; a log gets no line. */
void progress_show(struct progress *progress, double now_s, bool last, const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Ends the terminal's line if it is open, so that a message can follow. */
void progress_end(struct progress *progress);

/* Returns the monotonic clock, s. */
double progress_now(void);

#endif
