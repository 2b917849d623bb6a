/* What the commands on a laboratory share: the way in, and the way out. */
#ifndef FLEET_CMD_LAB_H
#define FLEET_CMD_LAB_H

#include "base/cli.h"
#include "fleet/lab/lab.h"

/* A command at work. */
struct cmd_lab {
	struct cli cli;
	struct lab lab;
	struct buf out; /* its answer, which cmd_lab_end() prints */
	struct assay_error err;
};

/* Parses the options as cli_parse() does, and opens the laboratory. cmd_lab_end() it, after a failure too. */
enum assay_status cmd_lab_open(struct cmd_lab *cmd, const struct argp *argp, int argc, char **argv, const char *directory, void *input,
			       enum store_access access);

/* Prints the answer when status is ASSAY_OK, closes the laboratory, and ends as cli_end() does. Returns the exit status. */
int cmd_lab_end(struct cmd_lab *cmd, enum assay_status status, int decided);

#endif
