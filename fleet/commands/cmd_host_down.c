/* assay host down */
#include "fleet/commands/fleet_commands.h"
#include "fleet/emulate/emulate.h"

struct arguments {
	const char *directory;
};

static void show_step(struct emulate_listener *listener, const char *line)
{
	(void)listener;
	cli_remark("%s", line);
}

static enum assay_status host_down_run(struct lab *lab, void *input, struct document *d, struct assay_error *err)
{
	const struct arguments *arguments = input;
	const char *directory = arguments->directory ? arguments->directory : cli_directory();
	struct emulate_listener listener = { show_step, NULL };
	bool found = false;
	enum assay_status st = emulate_down(directory, &listener, &found, err);

	(void)lab;
	if (st)
		return st;
	doc_line(d, found ? "The emulated fleet of '%s' is down." : "No emulated fleet of '%s' stands.", directory);
	doc_set(d, "laboratory", directory);
	doc_set_bool(d, "found", found);
	return ASSAY_OK;
}

static const struct cli_option words[] = { CLI_OPTIONAL_WORD("DIR", struct arguments, directory), CLI_END };

const struct command host_down_command = {
	.name = "host down",
	.summary = "end the emulated hosts",
	.about = "Ends the emulated fleet of DIR (default: the current directory): every process of its hosts, their networks, limits and "
		 "homes, also when the 'assay host up' that made them was killed. Measurements, lab.yaml and keys stay. Where none stands "
		 "it does nothing.",
	.examples = "  assay host up lab\n"
		    "  assay host down lab\n",
	.words = words,
	CLI_RUN(struct arguments, CLI_LAB_LATER, host_down_run),
};
