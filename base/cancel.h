/* Lets a long command stop cleanly on the first SIGINT, SIGTERM or SIGHUP. If the same signal arrives again, the process ends at once. */
#ifndef BASE_CANCEL_H
#define BASE_CANCEL_H

#include <signal.h>

/* Makes SIGINT, SIGTERM and SIGHUP store their number in *flag, which must live until the program ends. An ignored SIGHUP stays ignored, as
 * under nohup. Ignored SIGINT and SIGTERM are caught, because shells ignore SIGINT in background jobs of scripts. */
void cancel_on_signals(volatile sig_atomic_t *flag);

#endif
