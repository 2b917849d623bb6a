/* Long commands end in order on the first SIGINT, SIGTERM or SIGHUP, and as usual on a second one. */
#ifndef BASE_CANCEL_H
#define BASE_CANCEL_H

#include <signal.h>

/* From now on *flag becomes the number of the first of these signals; it must live as long as the program. A SIGHUP that was ignored
 * when the program started stays ignored: nohup relies on that. A SIGINT does not, although scripts start background jobs with it
 * ignored: sending one to them is deliberate. */
void cancel_on_signals(volatile sig_atomic_t *flag);

#endif
