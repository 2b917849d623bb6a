/* assay emulate run */
#include "base/command.h"
#include "base/mem.h"
#include "runs/commands/runs_commands.h"
#include "runs/commands/cmd_made.h"
#include "runs/inside/instrument/foreground.h"

#include <stdlib.h>

struct run_arguments {
	struct cli_list words;
	const char *samples, *functions;
	int64_t nodes;
	bool full;
};

static enum assay_status emulate_run_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct run_arguments *a = arguments;
	enum assay_status st = cmd_made_none_yet(a->samples, err);
	char *nodes = mem_format("%lld", (long long)a->nodes);

	(void)lab;
	(void)d;
	if (!st)
		st = foreground_make_directory(a->samples, 0755, "ASSAY_EMULATE_DIRECTORY", err);
	if (!st) {
		foreground_set_variable("ASSAY_EMULATE_FULL", a->full ? "1" : NULL);
		foreground_set_variable("ASSAY_EMULATE_FUNCTIONS", a->functions);
		foreground_set_variable("ASSAY_EMULATE_NODES", a->nodes ? nodes : NULL);
		st = foreground_run_checked(a->words.items, err);
	}
	if (!st)
		st = cmd_made(a->samples, "the program wrote no samples: was it built by 'assay build --for counters'?",
			      a->functions ? "none of the functions that --functions names was called" : "no function was called", err);
	free(nodes);
	return st;
}

static const struct run_arguments run_defaults = { .samples = "samples" };

static const struct cli_option run_options[] = {
	CLI_OPTION(TEXT, "output", "DIRECTORY", struct run_arguments, samples,
		   "Directory for the sample files of this run (default: samples); it is made if need be, its parents are not",
		   .letter = 'o'),
	CLI_FLAG("full", struct run_arguments, full, "Simulate all windows: slower, with less noise in short functions"),
	CLI_TEXT("functions", "NAME,...|@FILE", struct run_arguments, functions, "Take samples of these functions only (default: of all)"),
	CLI_INTEGER("nodes", "N", struct run_arguments, nodes, 1, 64, "Nodes of memory among which threads are distributed (default: 2)"),
	CLI_END
};

static const struct cli_option run_words[] = { CLI_WORDS("-- PROGRAM [ARG]", struct run_arguments, words, 1), CLI_END };

const struct command emulate_run_command = {
	.name = "emulate run",
	.summary = "run a program built for the emulation and keep what it counted",
	.about =
	    "Runs a program that 'assay build --for counters' has built, and keeps what it counted: a sample file for each process, in a "
	    "directory. Long runs are simulated in one window of time in sixteen, the same ones in all threads.",
	.examples = "  assay emulate run -o samples -- ./main 4 1000\n"
		    "  assay emulate run -o samples --full --functions work,merge -- ./main 4 1000\n",
	.words = run_words,
	.options = run_options,
	.defaults = &run_defaults,
	.flags = CLI_NO_FORMAT,
	.only_x86_64 = "what is linked into programs for the emulation is written for x86-64",
	CLI_RUN(struct run_arguments, CLI_LAB_NONE, emulate_run_run),
};
