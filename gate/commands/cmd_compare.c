/* assay compare */
#include "gate/commands/cmd_evidence.h"
#include "gate/commands/gate_commands.h"
#include "gate/here/here.h"

struct arguments {
	struct cli_list words; /* two commands with "--" in between */
	double budget_s, min_effect;
	bool here, any_status;
};

static enum assay_status compare_run(struct lab *none, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	const struct here_how how = {
		.budget_s = a->budget_s, .min_effect = a->min_effect, .progress = !cli_quiet(), .any_status = a->any_status
	};

	(void)none;
	return here_compare((const char *const *)a->words.items, a->words.n, &how, d, err);
}

static const struct cli_option words[] = { CLI_WORDS("-- A [ARG] -- B [ARG]", struct arguments, words, 1), CLI_END };
static const struct cli_option options[] = {
	CLI_FLAG("here", struct arguments, here, "On this machine, which is the default"),
	CMD_MIN_EFFECT(struct arguments, min_effect),
	HERE_BUDGET(struct arguments, budget_s),
	HERE_ANY_STATUS(struct arguments, any_status),
	CLI_END,
};
static const struct arguments defaults = { .budget_s = HERE_BUDGET_S, .min_effect = LAB_MIN_EFFECT };

const struct command compare_command = {
	.name = "compare",
	.summary = "compare two commands on this machine",
	.about =
	    "Runs two commands in turn on this machine, without a laboratory, and decides as 'assay gate' does whether B is slower than "
	    "A: by how much, and where the time of the difference goes. Each run reads all of standard input. 'assay gate' compares "
	    "versions that a laboratory has measured.",
	.examples = "  assay compare -- gzip -1 -k -c words -- zstd -1 -c words\n"
		    "  assay compare --budget 2m --format json -- ./old input -- ./new input | jq .decision\n",
	.exit_status = "0 pass or improved, 3 regression, 4 inconclusive, 5 environment, 6 a command failed; 1 failure, 2 usage.",
	.words = words,
	.options = options,
	.defaults = &defaults,
	.flags = CLI_PROGRESS,
	CLI_RUN(struct arguments, CLI_LAB_NONE, compare_run),
};
