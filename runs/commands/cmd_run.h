/* Notes, progress and cancelling for commands that run applications. */
#ifndef RUNS_CMD_RUN_H
#define RUNS_CMD_RUN_H

#include "base/document.h"
#include "runs/running/launch.h"

/* Makes `options` print notes and progress to standard error, and makes Ctrl-C stop the runs cleanly. */
void cmd_run_set_callbacks(struct launch_options *options);
extern volatile sig_atomic_t cmd_run_cancelled; /* number of the received signal; 0 if none */

#endif
