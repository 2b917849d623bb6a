/* Follows a run in progress: reads its record files as they grow, in windows that overlap by half. Memory does not grow with the run,
 * because only the records of the present window are read. Processes that were started with --progressive can be told which counters to
 * take next. The first window starts a new analysis. */
#ifndef GATE_VARIANCE_FOLLOW_H
#define GATE_VARIANCE_FOLLOW_H

#include "gate/variance/variance.h"
#include "runs/inside/record/record.h"

#define FOLLOW_WINDOW_S	   15	      /* length of a window, s; published value */
#define FOLLOW_RECORDS_MAX (1u << 20) /* most records analysed in a window; if there are more, a random sample represents them */

struct follow;

struct follow_window {
	double from_s, to_s;	    /* relative to the start of the run */
	struct fragments fragments; /* n == 0: no call ended in the window */
	size_t running;		    /* number of processes that had not ended at to_s */
};

/* New level of counters of a process. */
struct follow_level {
	size_t process; /* index of the process in the window's fragments */
	enum record_level level;
};

/* Starts following the record files `names`. A directory represents all files that are or will be in it. `names` is borrowed. */
struct follow *follow_new(const char *const *names, size_t n, double window_s);
typedef void follow_remark(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Waits until the next window is over, or all processes have ended. *out is overwritten; the caller releases its fragments. If no window is
 * left, *more is false and *out is zeroed. Reports once, by `remark`, each file that cannot be read, and excludes the file.
 * ASSAY_E_NOTFOUND: a directory does not exist; ASSAY_E_IO: it no longer exists. */
enum assay_status follow_next(struct follow *follow, follow_remark *remark, struct follow_window *out, bool *more, struct assay_error *err);
/* Changes the level of counters of processes on this host that were started with --progressive, based on the analysis of a window. Fills
 * out [processes of the window] with the changed processes, and returns their number. */
size_t follow_ask(struct follow *follow, const struct variance *v, struct follow_level *out);
/* Returns the seconds since the end of `window`. */
double follow_lag(const struct follow *follow, const struct follow_window *window);
void follow_free(struct follow *follow); /* accepts NULL */

#endif
