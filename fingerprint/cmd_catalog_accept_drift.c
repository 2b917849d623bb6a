#include "base/json.h"
#include "base/text.h"
#include "fingerprint/catalog/catalog.h"
#include "fingerprint/cmd.h"
#include "fingerprint/cmd_catalog_edit.h"
#include "fingerprint/compare/drift.h"

static const char doc[] =
    "Takes what a machine is now for its new normal: 'assay catalog drift' compares with its latest fingerprint from now on (of each "
    "battery, "
    "version of stress-ng and architecture). The reason is kept, with the date, in the machine's file; nothing is deleted."
    "\vExample:\n"
    "  assay catalog accept-drift node07 --reason 'memory replaced, ticket 4711'";

enum { OPTION_REASON = 256 };

static const struct argp_option options[] = { { "reason", OPTION_REASON, "TEXT", 0, "Why: one line, kept with the machine (needed)", 1 },
					      { 0 } };

struct arguments {
	const char *machine, *reason;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	struct assay_error err;

	if (key == OPTION_REASON) {
		if (machine_check_reason(arg, &err))
			cli_refuse(state, "--reason: %s", err.text);
		a->reason = arg;
		return 0;
	}
	if (key == ARGP_KEY_END && a->machine && !a->reason)
		cli_refuse(state, "wanted is --reason TEXT: a change that nobody can explain is not accepted");
	return cli_words(key, arg, state, &a->machine, 1, "MACHINE");
}

/* Accepts what is not the reference already; their ids go into the array. */
static size_t accept(struct machine *machine, const char *reason, cJSON *accepted)
{
	int64_t now = cmd_catalog_now_ms();
	size_t n = 0;

	for (size_t i = 0; i < machine->n_fingerprints; i++) {
		const struct machine_fingerprint *f = &machine->fingerprints[i];
		const struct machine_acceptance *acceptance;

		if (!drift_is_latest(machine, f, now) || (drift_reference(machine, f, &acceptance) == f && acceptance))
			continue;
		machine_accept(machine, f->id, now, reason);
		cJSON_AddItemToArray(accepted, cJSON_CreateString(f->id));
		n++;
	}
	return n;
}

static void print(const struct arguments *a, cJSON *accepted, enum cli_format_old format, struct buf *out)
{
	const cJSON *item;
	cJSON *root;

	if (format == CLI_JSON) {
		root = cJSON_CreateObject();
		cJSON_AddStringToObject(root, "machine", a->machine);
		cJSON_AddStringToObject(root, "reason", a->reason);
		cJSON_AddItemToObject(root, "accepted", cJSON_Duplicate(accepted, true));
		json_add(out, root);
		return;
	}
	cJSON_ArrayForEach(item, accepted) buf_format(out, "%s: fingerprint %s is the reference now\n", a->machine, item->valuestring);
}

static enum assay_status run(struct cmd_lab *cmd, const struct arguments *a)
{
	cJSON *accepted = cJSON_CreateArray();
	struct catalog catalog = { 0 };
	struct machine *machine = NULL;
	struct assay_error *err = &cmd->err;
	size_t written = 0;
	enum assay_status st = catalog_load(cmd->lab.machines, NULL, &catalog, err);

	if (!st)
		st = choose_machine(&catalog, a->machine, &machine, err);
	if (!st && machine->n_fingerprints == 0)
		st = assay_fail(err, ASSAY_E_USAGE, "'%s' has no fingerprint that could be accepted", a->machine);
	if (!st && !accept(machine, a->reason, accepted))
		st = assay_fail(err, ASSAY_E_USAGE, "'%s' has no fingerprint that is newer than what was accepted", a->machine);
	if (!st)
		st = catalog_save(&catalog, &written, err);
	if (!st)
		print(a, accepted, cmd->cli.format, &cmd->out);
	cJSON_Delete(accepted);
	catalog_release(&catalog);
	return st;
}

int cmd_catalog_accept_drift(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, "MACHINE", doc, NULL, NULL, NULL };
	struct arguments a = { 0 };
	struct cmd_lab cmd;
	enum assay_status st = cmd_lab_open(&cmd, &argp, argc, argv, directory, &a, STORE_WRITE);

	if (!st)
		st = run(&cmd, &a);
	return cmd_lab_end(&cmd, st, 0);
}
