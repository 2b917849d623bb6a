#include "base/json.h"
#include "base/text.h"
#include "fingerprint/choose.h"
#include "fingerprint/cmd.h"
#include "fingerprint/cmd_catalog_edit.h"
#include "fingerprint/drift.h"

static const char doc[] =
    "Takes what a machine is now for its new normal: 'assay catalog drift' compares with its latest fingerprint from now on (of each battery, "
    "version of stress-ng and architecture). The reason is kept, with the date, in the machine's file; nothing is deleted."
    "\vExample:\n"
    "  assay catalog accept-drift node07 --reason 'memory replaced, ticket 4711'";

enum { OPTION_REASON = 256 };

static const struct argp_option options[] = { { "reason", OPTION_REASON, "TEXT", 0, "Why: one line, kept with the machine (needed)", 1 }, { 0 } };

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

		if (!drift_is_latest(machine, f) || (drift_reference(machine, f, &acceptance) == f && acceptance))
			continue;
		machine_accept(machine, f->id, now, reason);
		cJSON_AddItemToArray(accepted, cJSON_CreateString(f->id));
		n++;
	}
	return n;
}

static void print(const struct cli *cli, const struct arguments *a, cJSON *accepted, struct buf *out)
{
	const cJSON *item;
	cJSON *root;

	if (cli->format == CLI_JSON) {
		root = cJSON_CreateObject();
		cJSON_AddStringToObject(root, "machine", a->machine);
		cJSON_AddStringToObject(root, "reason", a->reason);
		cJSON_AddItemToObject(root, "accepted", cJSON_Duplicate(accepted, true));
		json_add(out, root);
		return;
	}
	cJSON_ArrayForEach(item, accepted)
		buf_format(out, "%s: fingerprint %s is the reference now\n", a->machine, item->valuestring);
}

static enum assay_status run(struct lab *lab, const struct cli *cli, const struct arguments *a, struct assay_error *err)
{
	cJSON *accepted = cJSON_CreateArray();
	struct catalog catalog = { 0 };
	struct machine *machine = NULL;
	struct buf out = BUF_INIT;
	size_t written = 0;
	enum assay_status st = catalog_load(lab->machines, NULL, &catalog, err);

	if (!st)
		st = choose_machine(&catalog, a->machine, &machine, err);
	if (!st && machine->n_fingerprints == 0)
		st = assay_fail(err, ASSAY_E_USAGE, "'%s' has no fingerprint that could be accepted", a->machine);
	if (!st && !accept(machine, a->reason, accepted))
		st = assay_fail(err, ASSAY_E_USAGE, "'%s' has no fingerprint that is newer than what was accepted", a->machine);
	if (!st)
		st = catalog_save(&catalog, &written, err);
	if (!st) {
		print(cli, a, accepted, &out);
		st = cli_print(&out, err);
	}
	cJSON_Delete(accepted);
	catalog_release(&catalog);
	buf_release(&out);
	return st;
}

int cmd_catalog_accept_drift(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, "MACHINE", doc, NULL, NULL, NULL };
	struct lab lab = { .lock_fd = -1 };
	struct arguments a = { 0 };
	struct assay_error err;
	enum assay_status st;
	struct cli cli;

	cli_parse(&cli, &argp, argc, argv, directory, &a);
	st = lab_open(cli.directory, STORE_WRITE, &lab, &err);
	if (!st)
		st = run(&lab, &cli, &a, &err);
	lab_close(&lab);
	return cli_end(&cli, st, &err, 0);
}
