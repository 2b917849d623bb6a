/* The runs that a command works on. */
#ifndef GATE_CMD_RUNS_H
#define GATE_CMD_RUNS_H

#include "fleet/cmd_lab.h"
#include "runs/running/run.h"

/* Those of the selector APP[@VERSION]; says which do not count, as a remark. Errors are in cmd->err. run_set_release() them. */
enum assay_status cmd_runs_load(struct cmd_lab *cmd, const char *selector, struct run_set *out);

#endif
