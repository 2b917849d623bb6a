/* `assay detect --run`: first `assay run APP --versions OLD,NEW --probe`, by the same code. */
#include "base/mem.h"
#include "gate/cmd_detect.h"
#include "runs/cmd.h"
#include "runs/running/run.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* What it says goes to standard error: standard output is the answer's. */
static int run_quietly(int argc, char **argv, const char *directory)
{
	int out, status;

	fflush(stdout);
	out = dup(STDOUT_FILENO);
	if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return 1;
	status = cmd_run(argc, argv, directory);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	return status;
}

enum assay_status detect_run(const struct cli *cli, const char *old, const char *new, struct assay_error *err)
{
	char *applications[2] = { NULL, NULL }, *versions[2] = { NULL, NULL }, *both = NULL;
	enum assay_status st = run_selector(old, &applications[0], &versions[0], err);
	int status;

	if (!st)
		st = run_selector(new, &applications[1], &versions[1], err);
	if (!st && (!versions[0] || !versions[1] || strcmp(applications[0], applications[1]) != 0))
		st = assay_fail(err, ASSAY_E_USAGE,
		                "--run takes two versions of one application, APP@OLD APP@NEW, not '%s' and '%s'", old, new);
	if (!st) {
		both = mem_format("%s,%s", versions[0], versions[1]);
		status = run_quietly(5,
		                     (char *[]){ (char[]){ "assay run" }, applications[0], (char[]){ "--versions" }, both,
		                                 (char[]){ "--probe" }, NULL },
		                     cli->directory);
		if (status != 0 && status != 7)
			st = assay_fail(err, ASSAY_E_IO,
			                "the runs failed: 'assay run %s --versions %s --probe' ended with status %d",
			                applications[0], both, status);
	}
	for (int i = 0; i < 2; i++) {
		free(applications[i]);
		free(versions[i]);
	}
	free(both);
	return st;
}
