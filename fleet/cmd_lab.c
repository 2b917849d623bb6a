#include "fleet/cmd_lab.h"

enum assay_status cmd_lab_open(struct cmd_lab *cmd, const struct argp *argp, int argc, char **argv, const char *directory, void *input,
			       enum store_access access)
{
	enum assay_status st;

	*cmd = (struct cmd_lab){ .lab = { .lock_fd = -1 }, .out = BUF_INIT };
	cli_parse(&cmd->cli, argp, argc, argv, directory, input);
	st = lab_open(cmd->cli.directory, access, &cmd->lab, &cmd->err);
	if (!st)
		lab_sign(&cmd->lab, cmd->cli.name);
	return st;
}

int cmd_lab_end(struct cmd_lab *cmd, enum assay_status status, int decided)
{
	if (!status)
		status = cli_print(&cmd->out, &cmd->err);
	lab_close(&cmd->lab);
	buf_release(&cmd->out);
	return cli_end(&cmd->cli, status, &cmd->err, decided);
}
