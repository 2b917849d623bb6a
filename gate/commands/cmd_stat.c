/* Command assay stat. */
#include "gate/commands/gate_commands.h"
#include "gate/here/here.h"

struct arguments {
	struct cli_list words;
	double budget_s;
	bool any_status;
};

static enum assay_status stat_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	const struct here_how how = { .budget_s = a->budget_s, .progress = !cli_quiet(), .any_status = a->any_status };

	(void)lab;
	return here_profile((const char *const *)a->words.items, a->words.n, &how, d, err);
}

static const struct cli_option words[] = { CLI_WORDS("-- COMMAND [ARG]", struct arguments, words, 1), CLI_END };
static const struct cli_option options[] = {
	HERE_BUDGET(struct arguments, budget_s, "20s"),
	HERE_ANY_STATUS(struct arguments, any_status),
	CLI_END,
};
static const struct arguments defaults = { .budget_s = HERE_BUDGET_S };

const struct command stat_command = {
	.name = "stat",
	.summary = "measure the resources that a command uses on this machine",
	.about = "Runs a command on this machine, without a laboratory, until the budget ends. Shows where its time goes: computing, the "
		 "kernel by class of call, waiting, and functions. Each run reads all of standard input.",
	.examples = "  assay stat -- sqlite3 test.db 'select count(*) from t'\n"
		    "  assay stat --budget 1m --format json -- sort -u <words\n",
	.words = words,
	.options = options,
	.defaults = &defaults,
	.flags = CLI_PROGRESS,
	CLI_RUN(struct arguments, CLI_LAB_NONE, stat_run),
};
