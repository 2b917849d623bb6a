/* assay host down */
#include "fleet/commands/fleet_commands.h"
#include "fleet/emulate/emulate.h"

struct arguments {
	const char *directory;
};

static void show_step(struct emulate_listener *listener, const char *line)
{
	(void)listener;
	cli_note("%s", line);
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
	doc_line(d, found ? "The emulated fleet of '%s' is down." : "There is no emulated fleet of '%s'.", directory);
	doc_set(d, "laboratory", directory);
	doc_set_bool(d, "found", found);
	return ASSAY_OK;
}

static const struct cli_option words[] = { CLI_OPTIONAL_ARGUMENT("DIR", struct arguments, directory), CLI_END };

const struct command host_down_command = {
	.name = "host down",
	.summary = "stop the emulated hosts",
	.about = "Stops the emulated fleet of DIR (default: the current directory): ends all processes of its hosts, and removes their "
		 "networks, limits and homes, also if 'assay host up' was killed. Measurements, lab.yaml and keys remain. Without a fleet "
		 "it does nothing.",
	.examples = "  assay host up lab\n"
		    "  assay host down lab\n",
	.words = words,
	CLI_RUN(struct arguments, CLI_LAB_DEFERRED, host_down_run),
};
