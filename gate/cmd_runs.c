#include "gate/cmd_runs.h"

#include "runs/running/evidence.h"
#include "runs/running/run.h"

enum assay_status cmd_runs_load(struct cmd_lab *cmd, const char *selector, struct run_set *out)
{
	enum assay_status st = evidence_runs(&cmd->lab, selector, out, &cmd->err);
	char *others = st ? NULL : run_others_text(out);

	if (others)
		cli_note(&cmd->cli, "%s", others);
	free(others);
	return st;
}
