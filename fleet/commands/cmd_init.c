/* assay init */
#include "base/text.h"
#include "fleet/commands/fleet_commands.h"
#include "fleet/lab/lab.h"

#include <stdlib.h>
#include <string.h>

struct arguments {
	const char *directory;
};

static enum assay_status init_run(struct lab *lab, void *input, struct document *d, struct assay_error *err)
{
	const struct arguments *arguments = input;
	const char *directory = arguments->directory ? arguments->directory : cli_directory();
	const char *const words[] = { "assay", strcmp(directory, ".") == 0 ? NULL : "-C", directory, NULL };
	enum assay_status st = lab_create(directory, err);
	char *command;

	(void)lab;
	if (st)
		return st;
	command = text_shell_line(words);
	doc_set(d, "laboratory", directory);
	doc_line(d,
		 "Made the laboratory '%s'. Add your machines to its lab.yaml, which has examples, and try '%s host check'; or '%s host "
		 "import FILE' imports recorded machines.",
		 directory, command, command);
	free(command);
	return ASSAY_OK;
}

static const struct cli_option words[] = { CLI_OPTIONAL_ARGUMENT("DIR", struct arguments, directory), CLI_END };

const struct command init_command = {
	.name = "init",
	.summary = "create a laboratory directory",
	.about = "Creates a laboratory in DIR (default: the current directory): lab.yaml with examples as comments, a folder for the "
		 "catalog of machines, and one for manifests of applications.",
	.examples = "  assay init lab\n"
		    "  assay -C lab host import machines.csv\n"
		    "  assay -C lab result list\n",
	.words = words,
	CLI_RUN(struct arguments, CLI_LAB_DEFERRED, init_run),
};
