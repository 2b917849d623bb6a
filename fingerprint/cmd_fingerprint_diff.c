#include "base/json.h"
#include "base/text.h"
#include "fingerprint/catalog/catalog.h"
#include "fingerprint/cmd.h"
#include "fingerprint/compare/compare.h"
#include "fingerprint/compare/compare_print.h"
#include "fleet/cmd_lab.h"

static const char doc[] =
    "Compares two fingerprints: the stressors that differ beyond the noise of both, with ratio (B / A) and interval, corrected for having "
    "looked at all. A and B are each a machine (its latest fingerprint), the id of a fingerprint, or MACHINE@DATE with the beginning of "
    "its "
    "time. Fingerprints of different batteries, versions of stress-ng or architectures are never compared."
    "\vExample:\n"
    "  assay fingerprint diff node07@2026-11-01 node07\n"
    "  assay fingerprint diff node07 node08 --format json | jq '.stressors[] | select(.differs)'\n"
    "\n"
    "Exit status: 0 compared, whatever was found; 2 they cannot be compared.";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	return cli_words(key, arg, state, state->input, 2, "A and B, each MACHINE, FINGERPRINT or MACHINE@DATE");
}

static void print_human(const struct fingerprint *const both[2], const struct compare *compare, struct buf *out)
{
	char date[TEXT_DATE_BYTES];

	for (int i = 0; i < 2; i++)
		buf_format(out, "%s %s  %s, %s, %s%s%s\n", i ? "after " : "before", both[i]->id, both[i]->machine,
			   text_from_ms(both[i]->taken_ms, date), both[i]->origin, both[i]->profile ? ", profile " : "",
			   both[i]->profile ? both[i]->profile : "");
	buf_char(out, '\n');
	if (compare->differing) {
		compare_print_table(compare, SIZE_MAX, "", out);
		buf_char(out, '\n');
	}
	compare_print_rest(compare, out);
}

static cJSON *fingerprint_json(const struct fingerprint *f)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddStringToObject(object, "id", f->id);
	cJSON_AddStringToObject(object, "machine", f->machine);
	cJSON_AddNumberToObject(object, "taken_ms", (double)f->taken_ms);
	cJSON_AddStringToObject(object, "origin", f->origin);
	if (f->profile)
		cJSON_AddStringToObject(object, "profile", f->profile);
	cJSON_AddNumberToObject(object, "passes", (double)f->n_passes);
	return object;
}

static void print_json(const struct fingerprint *const both[2], const struct compare *compare, struct buf *out)
{
	cJSON *root = cJSON_CreateObject();

	cJSON_AddItemToObject(root, "before", fingerprint_json(both[0]));
	cJSON_AddItemToObject(root, "after", fingerprint_json(both[1]));
	cJSON_AddStringToObject(root, "battery", both[0]->battery);
	cJSON_AddStringToObject(root, "battery_hash", both[0]->battery_hash);
	cJSON_AddStringToObject(root, "stress_ng", both[0]->stress_ng);
	cJSON_AddStringToObject(root, "architecture", both[0]->architecture);
	cJSON_AddNumberToObject(root, "level", COMPARE_LEVEL);
	cJSON_AddNumberToObject(root, "compared", (double)compare->compared);
	cJSON_AddNumberToObject(root, "differing", (double)compare->differing);
	cJSON_AddItemToObject(root, "stressors", compare_rows_json(compare));
	json_add(out, root);
}

int cmd_fingerprint_diff(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { NULL, parse, "A B", doc, NULL, NULL, NULL };
	const struct fingerprint *both[2] = { NULL, NULL };
	const char *words[2] = { NULL, NULL };
	struct fingerprint_set set = { 0 };
	struct compare compare = { 0 };
	struct cmd_lab cmd;
	enum assay_status st = cmd_lab_open(&cmd, &argp, argc, argv, directory, words, STORE_READ);

	if (!st)
		st = fingerprint_load(&cmd.lab.store, &set, &cmd.err);
	for (int i = 0; !st && i < 2; i++)
		st = choose_fingerprint(&set, words[i], &both[i], &cmd.err);
	if (!st)
		st = compare_fingerprints(&set, both[0], both[1], 1, &compare, &cmd.err);
	if (!st)
		(cmd.cli.format == CLI_JSON ? print_json : print_human)(both, &compare, &cmd.out);
	compare_release(&compare);
	fingerprint_set_release(&set);
	return cmd_lab_end(&cmd, st, 0);
}
