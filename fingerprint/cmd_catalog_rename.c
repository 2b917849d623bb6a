#include "base/json.h"
#include "base/text.h"
#include "fingerprint/catalog/rename.h"
#include "fingerprint/cmd.h"
#include "fingerprint/cmd_catalog_edit.h"

#include <inttypes.h>

static const char doc[] =
    "Gives a machine another name: its file, its fingerprints and its runs follow. Where a machine of the new name exists, --merge makes them "
    "one, unless machine-id, board or CPU say that they are two, or, without --force, cores, profile, architecture or type. That is for good: "
    "afterwards nothing tells which of the two was measured. Interrupted, the same command completes it; 'assay catalog check' tells."
    "\vExample:\n"
    "  assay catalog rename node7 node07\n"
    "  assay catalog rename node07-old-name node07 --merge";

enum { OPTION_MERGE = 256, OPTION_FORCE };

static const struct argp_option options[] = {
	{ "merge", OPTION_MERGE, NULL, 0, "NEW exists, and is the same machine; this cannot be undone", 1 },
	{ "force", OPTION_FORCE, NULL, 0, "With --merge: even where the two look different", 1 },
	{ 0 }
};

struct arguments {
	const char *names[2];
	enum rename_merge merge;
	bool force;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	if (key == OPTION_MERGE) {
		a->merge = RENAME_MERGE;
		return 0;
	}
	if (key == OPTION_FORCE) {
		a->force = true;
		return 0;
	}
	if (key == ARGP_KEY_END && a->force && !a->merge)
		cli_refuse(state, "--force has an effect with --merge only");
	return cli_words(key, arg, state, a->names, 2, "OLD and NEW");
}

static void print(const struct arguments *a, const struct rename_result *result, enum cli_format_old format, struct buf *out)
{
	cJSON *root;

	if (format == CLI_JSON) {
		root = cJSON_CreateObject();
		cJSON_AddStringToObject(root, "old", a->names[0]);
		cJSON_AddStringToObject(root, "new", a->names[1]);
		cJSON_AddBoolToObject(root, "merged", result->merged);
		cJSON_AddBoolToObject(root, "completed", result->completed);
		cJSON_AddNumberToObject(root, "fingerprints", (double)result->fingerprints);
		cJSON_AddNumberToObject(root, "runs", (double)result->runs);
		json_add(out, root);
	} else if (result->completed) {
		buf_format(out, "%s is called %s: the renaming that was interrupted is complete\n", a->names[0], a->names[1]);
	} else {
		buf_format(out, "%s %s %s: %" PRId64 " fingerprint%s and %" PRId64 " result%s followed%s\n", a->names[0],
			   result->merged ? "is one with" : "is called", a->names[1], result->fingerprints,
			   text_plural((size_t)result->fingerprints), result->runs, text_plural((size_t)result->runs),
			   result->merged ? "; this cannot be undone" : "");
	}
}

static enum assay_status run(struct cmd_lab *cmd, const struct arguments *a)
{
	const char *from = a->names[0], *to = a->names[1];
	struct rename_result result = { 0 };
	struct catalog catalog = { 0 };
	struct assay_error *err = &cmd->err;
	enum assay_status st = catalog_load(cmd->lab.machines, NULL, &catalog, err);

	if (!st)
		st = rename_check(&cmd->lab.store, &catalog, from, to, a->force ? RENAME_FORCE : a->merge, &result, err);
	if (!st)
		st = rename_store(&cmd->lab.store, from, to, &result, err);
	if (!st)
		st = rename_files(&catalog, from, to, err);
	if (!st) {
		const char *host = cmd_catalog_host(&cmd->lab, from);

		if (host && strcmp(host, from) == 0)
			cli_note(&cmd->cli, "lab.yaml still calls it '%s': give that host 'id: %s' there before it is measured again", from, to);
		else if (host)
			cli_note(&cmd->cli, "lab.yaml still calls it '%s': change the id of the host '%s' there to '%s' before it is measured again",
				 from, host, to);
		print(a, &result, cmd->cli.format, &cmd->out);
	}
	catalog_release(&catalog);
	return st;
}

int cmd_catalog_rename(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, "OLD NEW", doc, NULL, NULL, NULL };
	struct arguments a = { 0 };
	struct cmd_lab cmd;
	enum assay_status st = cmd_lab_open(&cmd, &argp, argc, argv, directory, &a, STORE_WRITE);

	if (!st)
		st = run(&cmd, &a);
	return cmd_lab_end(&cmd, st, 0);
}
