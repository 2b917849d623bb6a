/* assay variance build */
#include "base/command.h"
#include "runs/commands/runs_commands.h"
#include "runs/inside/features/features_build.h"

struct arguments {
	struct cli_list words;
};

static enum assay_status variance_build_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	const struct features_build how = { .statements = true };

	(void)lab;
	(void)d;
	return features_build((const char *const *)a->words.items, a->words.n, &how, err);
}

static const struct cli_option words[] = { CLI_WORDS("-- COMMAND [ARG]", struct arguments, words, 1), CLI_END };

const struct command variance_build_command = {
	.name = "variance build",
	.summary = "compile a program so that it counts its own work",
	.about =
	    "Runs the compiler or build command that follows --, so that each thread of the program counts the statements that it "
	    "executes. 'assay variance record' keeps the count between two calls, and 'assay variance show' can then tell slower "
	    "computation from more computation; without counts it has to say that the work is unverified.\n\n"
	    "The command is gcc or g++, or something that calls them: make gets this compiler as CC and CXX, cmake as compiler launchers, "
	    "any other program as CC and CXX in its environment. MPI's compiler wrappers are told by variables of their own which "
	    "compiler to call. Libraries that are not built this way do not count. The program runs without assay as well, a few per "
	    "cent slower than before.",
	.examples = "  assay variance build -- gcc -O2 sort.c -o sort\n"
		    "  assay variance build -- make -j4\n"
		    "  OMPI_CC='assay variance build -- gcc' mpicc -O2 solver.c -o solver\n"
		    "  MPICH_CC='assay variance build -- gcc' mpicc -O2 solver.c -o solver\n"
		    "  assay variance record -- ./sort input\n"
		    "  assay variance show records\n",
	.words = words,
	.flags = CLI_NO_FORMAT,
	.only_x86_64 = "what is added to programs whose loops count is written for x86-64",
	CLI_RUN(struct arguments, CLI_LAB_NONE, variance_build_run),
};
