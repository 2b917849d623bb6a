/* For commands that run applications. */
#ifndef RUNS_CMD_RUN_H
#define RUNS_CMD_RUN_H

#include "base/document.h"
#include "runs/running/launch.h"

/* Sets what `assay run` does besides: notes and progress on standard error, an orderly end on Ctrl-C. */
void cmd_run_watch(struct launch_options *options);
extern volatile sig_atomic_t cmd_run_cancelled; /* the signal that asks for it */

#endif
