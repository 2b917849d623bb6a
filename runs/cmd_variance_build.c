/* assay variance build */
#include "base/command.h"
#include "runs/cmd.h"
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
	.about = "Compiles or links with the command that follows --, so that each thread of the program counts the statements that it "
		 "executes. 'assay variance record' keeps how many there were between two calls, and 'assay variance show' knows then that "
		 "computation took longer for the same work, where it would have to say that its work is unverified.\n\n"
		 "The command is gcc or g++, or what calls them: make gets this as its CC and CXX, cmake as its launchers, any other "
		 "program as CC and CXX in its environment. The compilers of MPI libraries are told by their own variables which one they "
		 "call. Libraries that are not built so do not count. Unrecorded such a program runs as any other, a few per cent slower.",
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
