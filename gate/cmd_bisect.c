/* assay bisect */
#include "base/mem.h"
#include "gate/cmd.h"
#include "gate/cmd_evidence.h"
#include "gate/nightly/bisect.h"
#include "runs/cmd_run.h"

struct arguments {
	const char *selector, *good, *bad;
	double min_effect, budget_s;
	struct cmd_fleet_choice hosts;
};

static void note(const char *text)
{
	if (!cli_quiet())
		cli_remark("%s", text);
}

static enum assay_status run(struct lab *none, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	struct bisect_options o = { .directory = cli_directory(),
				    .command = cli_command_name(),
				    .good = a->good,
				    .bad = a->bad,
				    .min_effect = a->min_effect,
				    .budget_s = a->budget_s,
				    .hosts = a->hosts,
				    .cancelled = &cmd_run_cancelled,
				    .watch = cmd_run_watch,
				    .note = note };
	char *application = NULL, *version = NULL;
	enum assay_status st = run_selector(a->selector, &application, &version, err);

	(void)none;
	if (!st) {
		o.input = strchr(application, '/');
		if (o.input)
			*o.input++ = '\0';
		o.application = application;
		o.version = version;
		st = bisect_run(&o, d, err);
	}
	mem_free(application, version);
	return st;
}

static const struct cli_option words[] = { CLI_WORD("APP[@VERSION]", struct arguments, selector), CLI_END };
static const struct cli_option options[] = {
	CLI_OPTION(TEXT, "good", "REV", struct arguments, good, "A revision that was as fast as it should be (required)", .required = true),
	CLI_OPTION(TEXT, "bad", "REV", struct arguments, bad, "A later one that is slower (required)", .required = true),
	CMD_MIN_EFFECT(struct arguments, min_effect),
	CLI_SPAN("budget", struct arguments, budget_s, "Measure each comparison for so long at most: 90s, 20m or 2h"),
	CMD_FLEET_HOSTS(struct arguments, hosts),
	CLI_END,
};

const struct command bisect_command = {
	.name = "bisect",
	.summary = "find the commit that made an application slower",
	.about = "Builds what lies between two revisions of the git repository that VERSION of the manifest is built from, measures it "
		 "beside the good one on the fleet until each comparison is decided, and finds the first commit with at least half of the "
		 "slowdown, in as few builds as the noise allows: answers may be wrong now and then, so the search goes on until one "
		 "commit is 95 % probable. Commits that cannot be built or run are passed over. When it was interrupted, the same command "
		 "goes on where it was.",
	.examples = "  assay bisect myapp --good v1.4 --bad main\n"
		    "  assay bisect myapp/large@main --good HEAD~64 --bad HEAD --budget 2m\n",
	.exit_status = "0 found, or nothing to find; 4 not certain, 5 environment, 6 nothing measured; 1 failure, 2 usage.",
	.words = words,
	.options = options,
	.flags = CLI_PROGRESS,
	CLI_RUN(struct arguments, CLI_LAB_LATER, run),
};
