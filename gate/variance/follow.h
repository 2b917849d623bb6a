/* Follows a run in progress: reads its record files as they grow, in windows that overlap by half. It reads only what the present window
 * needs, and keeps only its place, so memory does not grow with the run. Processes that were started with --progressive get orders which
 * counters to take next; others are not touched. A new analysis starts with the first window. */
#ifndef GATE_VARIANCE_FOLLOW_H
#define GATE_VARIANCE_FOLLOW_H

#include "gate/variance/variance.h"
#include "runs/inside/record/record.h"

#define FOLLOW_WINDOW_S	   15	      /* as published */
#define FOLLOW_RECORDS_MAX (1u << 20) /* most records of a window; of more, a sample represents all */

struct follow;

struct follow_window {
	double from_s, to_s;	    /* since the run started */
	struct fragments fragments; /* n == 0: no call ended in it */
	size_t running;		    /* processes that had not ended at its end */
};

/* The level of counters that a process takes from now on. */
struct follow_level {
	size_t process; /* process of the window's fragments */
	enum record_level level;
};

/* Starts following. `names`: files, or directories in which more files may still appear; borrowed. */
struct follow *follow_new(const char *const *names, size_t n, double window_s);
typedef void follow_remark(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Waits until the next window is over, or all processes have ended. *out is overwritten; fragments_release() its fragments. If there is no
 * further window, *more is false and *out is zeroed. Calls `remark` once per file that cannot be read, and excludes the file.
 * ASSAY_E_NOTFOUND: a directory does not exist; ASSAY_E_IO: it no longer exists. */
enum assay_status follow_next(struct follow *follow, follow_remark *remark, struct follow_window *out, bool *more, struct assay_error *err);
/* Orders processes on this host, after the analysis of a window, which counters to take, if they were started for that. Fills out
 * [processes of the window] with those that got an order, and returns their number. */
size_t follow_ask(struct follow *follow, const struct variance *v, struct follow_level *out);
/* Returns the seconds from the end of that window until now. */
double follow_lag(const struct follow *follow, const struct follow_window *window);
void follow_free(struct follow *follow); /* accepts NULL */

#endif
