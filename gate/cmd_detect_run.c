/* `assay detect --run`: first the runs that `assay run APP --versions OLD,NEW --probe` would make. */
#include "base/mem.h"
#include "gate/cmd_detect.h"
#include "runs/cmd_run.h"
#include "runs/running/run.h"

static const struct cli *detect_cli; /* of the command at work */

static void detect_note(const char *text)
{
	cli_note(detect_cli, "%s", text);
}

static enum assay_status detect_launch(const struct cli *cli, const char *application, char *const versions[2], struct assay_error *err)
{
	struct launch_options options = { .directory = cli->directory, .command = cli->name, .application = application };
	char *names[2] = { versions[0], versions[1] }, *text;
	struct launch launch;
	struct launch_tally tally;
	enum assay_status st;

	detect_cli = cli;
	cmd_run_watch(&options);
	options.note = detect_note;
	options.choice = (struct plan_choice){ .versions = { names, 2 }, .probe = true };
	st = launch_run(&options, &launch, err);
	if (!st) {
		tally = launch_count(&launch, NULL, NULL, NULL);
		text = mem_format("%zu of %zu runs measured, %zu failed", tally.ok, launch.n * launch_each(&launch), tally.failed);
		detect_note(text);
		free(text);
	}
	if (!st && launch_outcome(&launch) == LAUNCH_ALL_FAILED)
		st = assay_fail(err, ASSAY_E_IO, "all runs failed: 'assay runs show %s --failed --output' shows why", application);
	launch_release(&launch);
	return st;
}

enum assay_status detect_run(const struct cli *cli, const char *old, const char *new, struct assay_error *err)
{
	char *applications[2] = { NULL, NULL }, *versions[2] = { NULL, NULL };
	enum assay_status st = run_selector(old, &applications[0], &versions[0], err);

	if (!st)
		st = run_selector(new, &applications[1], &versions[1], err);
	if (!st && (!versions[0] || !versions[1] || strcmp(applications[0], applications[1]) != 0))
		st = assay_fail(err, ASSAY_E_USAGE, "--run takes two versions of one application, APP@OLD APP@NEW, not '%s' and '%s'", old,
				new);
	if (!st)
		st = detect_launch(cli, applications[0], versions, err);
	for (int i = 0; i < 2; i++) {
		free(applications[i]);
		free(versions[i]);
	}
	return st;
}
