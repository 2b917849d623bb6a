/* Makes long commands end in order on the first SIGINT, SIGTERM or SIGHUP, and at once on the second. */
#ifndef BASE_CANCEL_H
#define BASE_CANCEL_H

#include <signal.h>

/* Makes the first of these signals set *flag to its number. *flag must live as long as the program. A SIGHUP ignored at the start stays
 * ignored, because nohup relies on that. An ignored SIGINT does not: scripts ignore it in background jobs. */
void cancel_on_signals(volatile sig_atomic_t *flag);

#endif
