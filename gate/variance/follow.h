/* Follows a run in progress. Reads its record files as they grow, in windows that overlap by half. Memory does not grow with the run,
 * because only the records of the current window are read. Can set the level of counters of processes that were started with --progressive.
 * The first window starts a new analysis. */
#ifndef GATE_VARIANCE_FOLLOW_H
#define GATE_VARIANCE_FOLLOW_H

#include "gate/variance/variance.h"
#include "runs/inside/record/record.h"

#define FOLLOW_WINDOW_S	   15	      /* length of a window, s; published value */
#define FOLLOW_RECORDS_MAX (1u << 20) /* maximum number of records per window; a random sample represents more */

struct follow_state;

struct follow_window {
	double from_s, to_s;	    /* s since the start of the run */
	struct fragments fragments; /* n is 0 if no call ended in the window */
	size_t running;		    /* number of processes that were still running at to_s */
};

/* New level of counters of a process. */
struct follow_level {
	size_t process; /* index of the process in the window's fragments */
	enum record_level level;
};

/* Starts to follow the record files `names`. A directory represents all files in it, including those created later. `names` is borrowed. */
struct follow_state *follow_new(const char *const *names, size_t n, double window_s);
typedef void follow_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Waits until the next window is over or all processes have ended. Overwrites *out; the caller releases its fragments. If no window is
 * left, sets *more to false and zeroes *out. Reports each unreadable file once, by `remark`, and excludes it. Returns ASSAY_E_NOTFOUND if a
 * directory does not exist, ASSAY_E_IO if it no longer exists. */
enum assay_status follow_next_window(struct follow_state *follow, follow_note *remark, struct follow_window *out, bool *more,
				     struct assay_error *err);
/* Sets new levels of counters, based on the analysis of a window, for processes on this host that were started with --progressive. Fills
 * `out` [processes of the window] with the changed processes. Returns their number. */
size_t follow_change_levels(struct follow_state *follow, const struct variance *v, struct follow_level *out);
/* Returns the time since the end of `window`, s. */
double follow_lag(const struct follow_state *follow, const struct follow_window *window);
void follow_free(struct follow_state *follow); /* Accepts NULL. */

#endif
