#include "base/json.h"
#include "fingerprint/catalog/catalog.h"
#include "fingerprint/cmd.h"
#include "fingerprint/cmd_catalog_edit.h"

static const char doc[] = "Marks a machine as in use no more. Its fingerprints and runs stay, and results that have it stay valid; it is "
			  "left out of 'catalog types', "
			  "of drift and of suggestions. Date and reason are kept in its file."
			  "\vExample:\n"
			  "  assay catalog retire node07 --reason 'sold'\n"
			  "  assay catalog retire node07 --undo";

enum { OPTION_REASON = 256, OPTION_UNDO };

static const struct argp_option options[] = { { "reason", OPTION_REASON, "TEXT", 0, "Why: one line, kept with the machine", 1 },
					      { "undo", OPTION_UNDO, NULL, 0, "It is in use again", 1 },
					      { 0 } };

struct arguments {
	const char *machine, *reason;
	bool undo;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	struct assay_error err;

	switch (key) {
	case OPTION_REASON:
		if (machine_check_reason(arg, &err))
			cli_refuse(state, "--reason: %s", err.text);
		a->reason = arg;
		return 0;
	case OPTION_UNDO:
		a->undo = true;
		return 0;
	case ARGP_KEY_END:
		if (a->undo && a->reason)
			cli_refuse(state, "--undo and --reason do not go together");
		break;
	default:
		break;
	}
	return cli_words(key, arg, state, &a->machine, 1, "MACHINE");
}

static void print(const struct machine *machine, enum cli_format_old format, struct buf *out)
{
	cJSON *root;

	if (format == CLI_JSON) {
		root = cJSON_CreateObject();
		cJSON_AddStringToObject(root, "machine", machine->id);
		cJSON_AddBoolToObject(root, "retired", machine->retired);
		if (machine->retired_reason)
			cJSON_AddStringToObject(root, "reason", machine->retired_reason);
		json_add(out, root);
	} else {
		buf_format(out, machine->retired ? "%s is retired; its fingerprints and runs stay\n" : "%s is in use again\n", machine->id);
	}
}

static enum assay_status run(struct cmd_lab *cmd, const struct arguments *a)
{
	struct catalog catalog = { 0 };
	struct machine *machine = NULL;
	struct assay_error *err = &cmd->err;
	size_t written = 0;
	enum assay_status st = catalog_load(cmd->lab.machines, NULL, &catalog, err);

	if (!st)
		st = choose_machine(&catalog, a->machine, &machine, err);
	if (!st && machine->retired == !a->undo)
		st = assay_fail(err, ASSAY_E_USAGE, a->undo ? "'%s' is not retired" : "'%s' is retired already", machine->id);
	if (!st) {
		machine_retire(machine, !a->undo, cmd_catalog_now_ms(), a->reason);
		st = catalog_save(&catalog, &written, err);
	}
	if (!st) {
		if (machine->retired && cmd_catalog_host(&cmd->lab, machine->id))
			cli_note(&cmd->cli, "lab.yaml still has '%s': 'assay fingerprint run' goes on measuring it",
				 cmd_catalog_host(&cmd->lab, machine->id));
		print(machine, cmd->cli.format, &cmd->out);
	}
	catalog_release(&catalog);
	return st;
}

int cmd_catalog_retire(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, "MACHINE", doc, NULL, NULL, NULL };
	struct arguments a = { 0 };
	struct cmd_lab cmd;
	enum assay_status st = cmd_lab_open(&cmd, &argp, argc, argv, directory, &a, STORE_WRITE);

	if (!st)
		st = run(&cmd, &a);
	return cmd_lab_end(&cmd, st, 0);
}
