/* For commands that run applications. */
#ifndef RUNS_CMD_RUN_H
#define RUNS_CMD_RUN_H

#include "runs/running/launch.h"

/* Sets what `assay run` does besides: remarks and progress on standard error, an orderly end on Ctrl-C. */
void cmd_run_watch(struct launch_options *options);

#endif
