/* Makes a long command stop in order on the first SIGINT, SIGTERM or SIGHUP, and at once if the same signal follows. */
#ifndef BASE_CANCEL_H
#define BASE_CANCEL_H

#include <signal.h>

/* Makes SIGINT, SIGTERM and SIGHUP set *flag to their number. *flag must live as long as the program. A SIGHUP that was ignored at the
 * start, as by nohup, stays ignored. Ignored SIGINT and SIGTERM are caught: scripts ignore SIGINT in background jobs. */
void cancel_on_signals(volatile sig_atomic_t *flag);

#endif
