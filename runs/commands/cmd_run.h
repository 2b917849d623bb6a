/* Notes, progress and cancelling for commands that run applications. */
#ifndef RUNS_CMD_RUN_H
#define RUNS_CMD_RUN_H

#include "base/document.h"
#include "runs/running/launch.h"

/* Sets the callbacks for notes and progress on standard error, and ends runs in order on Ctrl-C. */
void cmd_run_watch(struct launch_options *options);
extern volatile sig_atomic_t cmd_run_cancelled; /* the signal that was received; 0: none */

#endif
