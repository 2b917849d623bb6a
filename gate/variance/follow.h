/* A run that goes on: its record files, read again and again as they grow, in windows that overlap by half. Only what the present window
 * needs is read, and nothing is kept but where that is: memory does not grow with the run. Processes are told which counters to take next,
 * if they were begun so, and not touched otherwise; whoever begins anew reads all windows again. */
#ifndef GATE_VARIANCE_FOLLOW_H
#define GATE_VARIANCE_FOLLOW_H

#include "gate/variance/variance.h"

#define FOLLOW_WINDOW_S	   15	      /* as published */
#define FOLLOW_RECORDS_MAX (1u << 20) /* of a window; where there are more, some stand for all */

struct follow;

struct follow_window {
	double from_s, to_s;	    /* since the run began */
	struct fragments fragments; /* n == 0: no call ended in it */
	size_t running;		    /* processes that had not ended */
};

/* Which counters a process takes from now on. */
struct follow_level {
	size_t process; /* of the window */
	enum record_level level;
};

/* `names`: files, or directories in which files may still appear; borrowed. */
struct follow *follow_new(const char *const *names, size_t n, double window_s);
typedef void follow_remark(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Waits until the next window is over, or all processes have ended; *out is overwritten, fragments_release() what is in it. *more is false
 * when there is no further window, and *out is zeroed. A file that cannot be read is left out, and said by `remark` once. ASSAY_E_NOTFOUND:
 * a directory is not there; ASSAY_E_IO: not any more. */
enum assay_status follow_next(struct follow *follow, follow_remark *remark, struct follow_window *out, bool *more, struct assay_error *err);
/* Once a window has been analysed: tells processes of this host which counters to take, if they were begun to be told so. `out`: [processes
 * of the window], overwritten by those that were told. Returns how many. */
size_t follow_ask(struct follow *follow, const struct variance *v, struct follow_level *out);
/* Seconds since the end of that window, by the clock. */
double follow_lag(const struct follow *follow, const struct follow_window *window);
void follow_free(struct follow *follow); /* accepts NULL */

#endif
