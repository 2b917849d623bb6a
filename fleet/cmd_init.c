#include "base/cli.h"
#include "base/json.h"
#include "base/mem.h"
#include "fleet/agent/shell.h"
#include "fleet/cmd.h"
#include "fleet/lab/lab.h"

static const char doc[] = "Makes a laboratory in DIR (default: the current directory): lab.yaml with examples as comments, a folder "
			  "for the catalog of machines, one for manifests of applications."
			  "\vExample:\n"
			  "  assay init lab\n"
			  "  assay -C lab import quiho ../quiho-data\n"
			  "  assay -C lab runs list";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	return cli_directory_old(key, arg, state, state->input);
}

static void print_human(const char *directory, struct buf *out)
{
	bool here = strcmp(directory, ".") == 0;
	char *command = shell_line(here ? (const char *const[]){ "assay", NULL } : (const char *const[]){ "assay", "-C", directory, NULL });

	buf_format(out,
		   "Made the laboratory '%s'. Write your machines into its lab.yaml, which explains itself, and try '%s fleet check'; or "
		   "'%s import quiho DIR' brings in recorded machines.\n",
		   directory, command, command);
	free(command);
}

static void print_json(const char *directory, struct buf *out)
{
	cJSON *root = cJSON_CreateObject();

	cJSON_AddStringToObject(root, "laboratory", directory);
	json_add(out, root);
}

int cmd_init(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { NULL, parse, "[DIR]", doc, NULL, NULL, NULL };
	const char *named = NULL;
	struct assay_error err;
	struct buf out = BUF_INIT;
	enum assay_status st;
	struct cli cli;

	cli_parse(&cli, &argp, argc, argv, directory, &named);
	if (!named)
		named = cli.directory;
	st = lab_create(named, &err);
	if (!st) {
		(cli.format == CLI_JSON ? print_json : print_human)(named, &out);
		st = cli_print(&out, &err);
	}
	buf_release(&out);
	return cli_end(&cli, st, &err, 0);
}
