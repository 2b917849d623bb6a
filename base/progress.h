/* Shows progress on standard error. On a terminal, it is one line that rewrites itself. In a log, it is at most a line per minute, the
 * first one after a minute of work. */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>
#include <stdio.h>

#define PROGRESS_LOG_S 60

struct progress {
	FILE *stream;
	bool terminal; /* `stream` can show a line that rewrites itself */
	bool open;     /* the terminal's line has no end yet */
	double next_s; /* earliest time of a log's next line */
};

/* Starts a progress line. now_s: see progress_now(). */
struct progress progress_begin(FILE *stream, double now_s);

/* Shows the progress if it is time. last: the work is done; a log without a line so far then gets none. */
void progress_show(struct progress *progress, double now_s, bool last, const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Ends an open line, so that a message can follow. */
void progress_end(struct progress *progress);

/* Returns seconds of the monotonic clock. */
double progress_now(void);

#endif
