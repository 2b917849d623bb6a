/* How far long work is, on standard error: on a terminal one line that rewrites itself; else, for logs, a line a minute at most, the first
 * when the work has taken a minute. */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>
#include <stdio.h>

#define PROGRESS_LOG_S 60

struct progress {
	FILE *stream;
	bool terminal; /* a line that rewrites itself has a place */
	bool open;     /* the terminal's line has no end yet */
	double next_s; /* of a log: no line before it */
};

/* now_s: of progress_now(). */
struct progress progress_begin(FILE *stream, double now_s);

/* last: the work is done; a log that has no line so far needs none then. */
void progress_show(struct progress *progress, double now_s, bool last, const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Ends a line that is open, so that a message can follow. */
void progress_end(struct progress *progress);

/* Seconds of the monotonic clock. */
double progress_now(void);

#endif
