#include "base/cli.h"
#include "base/json.h"
#include "fleet/cmd.h"
#include "fleet/emulate/emulate.h"

static const char doc[] =
    "Ends the emulated fleet of DIR (default: the current directory): every process of its hosts, their networks, limits and "
    "homes, also when the 'assay fleet up' that made them was killed. Measurements, lab.yaml and keys stay. Where none "
    "stands it does nothing."
    "\vExample:\n"
    "  assay fleet up lab\n"
    "  assay fleet down lab";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	return cli_directory_old(key, arg, state, state->input);
}

struct steps {
	struct emulate_listener listener; /* first */
	const struct cli *cli;
};

static void tell(struct emulate_listener *listener, const char *line)
{
	const struct steps *steps = (const struct steps *)listener;

	cli_note(steps->cli, "%s", line);
}

static void print_result(enum cli_format_old format, const char *directory, bool found, struct buf *out)
{
	cJSON *root;

	if (format != CLI_JSON) {
		buf_format(out, found ? "The emulated fleet of '%s' is down.\n" : "No emulated fleet of '%s' stands.\n",
			   directory);
		return;
	}
	root = cJSON_CreateObject();
	cJSON_AddStringToObject(root, "laboratory", directory);
	cJSON_AddBoolToObject(root, "found", found);
	json_add(out, root);
}

int cmd_fleet_down(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { NULL, parse, "[DIR]", doc, NULL, NULL, NULL };
	const char *named = NULL;
	struct assay_error err;
	struct buf out = BUF_INIT;
	enum assay_status st;
	struct cli cli;
	struct steps steps = { { tell, NULL }, &cli };
	bool found;

	cli_parse(&cli, &argp, argc, argv, directory, &named);
	if (!named)
		named = cli.directory;
	st = emulate_down(named, &steps.listener, &found, &err);
	if (!st) {
		print_result(cli.format, named, found, &out);
		st = cli_print(&out, &err);
	}
	buf_release(&out);
	return cli_end(&cli, st, &err, 0);
}
