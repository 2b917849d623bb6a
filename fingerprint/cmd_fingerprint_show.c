#include "base/json.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "fingerprint/catalog/catalog.h"
#include "fingerprint/cmd.h"
#include "fingerprint/counters/counters_print.h"
#include "fingerprint/stored/conditions.h"
#include "fingerprint/stored/fingerprint.h"
#include "fleet/cmd_lab.h"

#include <inttypes.h>

static const char doc[] = "Lists all fingerprints, incomplete ones too; or shows one in full: under which conditions it was taken, and "
			  "every pass. WHICH is a machine "
			  "(its latest complete fingerprint), the id of a fingerprint, or MACHINE@DATE with the beginning of its time."
			  "\vExample:\n"
			  "  assay fingerprint show\n"
			  "  assay fingerprint show node07\n"
			  "  assay fingerprint show node07@2026-11-01 --format json";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const char **word = state->input;

	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (*word)
		cli_refuse(state, "unexpected argument '%s'", arg);
	*word = arg;
	return 0;
}

static const char *label(const struct fingerprint_item *item)
{
	return item->complete ? "" : "incomplete ('assay fingerprint run --resume' goes on within a day)";
}

static void print_list(const struct fingerprint_listing *listing, struct buf *out)
{
	static const char *const headings[] = { "machine", "fingerprint", "taken",   "battery", "stress-ng",
						"passes",  "cells",	  "missing", "origin",	"" };
	struct table table;
	char date[TEXT_DATE_BYTES];

	if (listing->n == 0) {
		buf_text(out, "There are no fingerprints: 'assay fingerprint run' takes some.\n");
		return;
	}
	table_init(&table, "lllllrrrll", headings);
	for (size_t i = 0; i < listing->n; i++) {
		const struct fingerprint_item *item = &listing->items[i];

		table_cell(&table, "%s", item->machine);
		table_cell(&table, "%s", item->id);
		table_cell(&table, "%s", text_from_ms(item->taken_ms, date));
		table_cell(&table, "%s", item->battery);
		table_cell(&table, "%s", item->stress_ng);
		table_cell(&table, "%" PRId64, item->passes);
		table_cell(&table, "%" PRId64, item->measured);
		table_cell(&table, "%" PRId64, item->missing);
		table_cell(&table, "%s%s%s", item->origin, item->profile ? " " : "", item->profile ? item->profile : "");
		table_cell(&table, "%s", label(item));
	}
	table_print(&table, out);
	table_release(&table);
	buf_format(out, "\n%zu fingerprint%s\n", listing->n, text_plural(listing->n));
}

static cJSON *item_json(const struct fingerprint_item *item)
{
	cJSON *object = cJSON_CreateObject();
	char date[TEXT_DATE_BYTES];

	cJSON_AddStringToObject(object, "id", item->id);
	cJSON_AddStringToObject(object, "machine", item->machine);
	cJSON_AddStringToObject(object, "taken", text_from_ms(item->taken_ms, date));
	cJSON_AddNumberToObject(object, "taken_ms", (double)item->taken_ms);
	cJSON_AddStringToObject(object, "battery", item->battery);
	cJSON_AddStringToObject(object, "battery_hash", item->battery_hash);
	cJSON_AddStringToObject(object, "stress_ng", item->stress_ng);
	cJSON_AddStringToObject(object, "architecture", item->architecture);
	cJSON_AddStringToObject(object, "origin", item->origin);
	if (item->profile)
		cJSON_AddStringToObject(object, "profile", item->profile);
	cJSON_AddBoolToObject(object, "emulated", strcmp(item->origin, "emulated") == 0);
	cJSON_AddBoolToObject(object, "complete", item->complete);
	cJSON_AddNumberToObject(object, "passes", (double)item->passes);
	cJSON_AddNumberToObject(object, "measured", (double)item->measured);
	cJSON_AddNumberToObject(object, "missing", (double)item->missing);
	return object;
}

static void print_list_json(const struct fingerprint_listing *listing, struct buf *out)
{
	cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "fingerprints");

	for (size_t i = 0; i < listing->n; i++)
		cJSON_AddItemToArray(list, item_json(&listing->items[i]));
	json_add(out, root);
}

/* One line a stressor, a column a pass. */
static void print_cells(const struct fingerprint_cell *cells, size_t n, struct buf *out)
{
	char number[TEXT_DOUBLE_BYTES];

	for (size_t i = 0; i < n; i++) {
		if (i == 0 || strcmp(cells[i].stressor, cells[i - 1].stressor) != 0)
			buf_format(out, "%s  %-16s", i ? "\n" : "", cells[i].stressor);
		if (cells[i].reason)
			buf_format(out, "  %" PRId64 ": not measured (%s)", cells[i].pass, cells[i].reason);
		else
			buf_format(out, "  %" PRId64 ": %s", cells[i].pass, text_from_double(cells[i].per_s, number));
	}
	if (n)
		buf_char(out, '\n');
}

static void print_conditions(const char *text, struct buf *out)
{
	cJSON *root = cJSON_Parse(text);
	const cJSON *item;
	char number[TEXT_DOUBLE_BYTES];

	cJSON_ArrayForEach(item, root)
	{
		if (cJSON_IsString(item))
			buf_format(out, "  %-22s  %s\n", item->string, conditions_shown(item->valuestring));
		else if (cJSON_IsNumber(item))
			buf_format(out, "  %-22s  %s\n", item->string, text_from_double(item->valuedouble, number));
	}
	cJSON_Delete(root);
}

static void print_one(const struct fingerprint_item *item, const struct fingerprint_cell *cells, size_t n, struct buf *out)
{
	char date[TEXT_DATE_BYTES];

	buf_format(out, "fingerprint %s of %s, %s, %s\n", item->id, item->machine, text_from_ms(item->taken_ms, date), item->origin);
	if (item->profile)
		buf_format(out, "emulated host, profile %s\n", item->profile);
	buf_format(out, "battery %s (%s), stress-ng %s, architecture %s\n", item->battery, item->battery_hash, item->stress_ng,
		   item->architecture);
	if (!item->complete)
		buf_format(out, "%s\n", label(item));
	if (item->conditions) {
		buf_text(out, "\nconditions\n");
		print_conditions(item->conditions, out);
	}
	buf_format(out, "\nbogo-operations per second of user and system time, by pass (%" PRId64 " measured, %" PRId64 " not)\n",
		   item->measured, item->missing);
	print_cells(cells, n, out);
}

/* counters: becomes part of it. */
static void print_one_json(const struct fingerprint_item *item, const struct fingerprint_cell *cells, size_t n, cJSON *counters, struct buf *out)
{
	cJSON *root = item_json(item), *list;

	if (item->conditions)
		cJSON_AddItemToObject(root, "conditions", cJSON_Parse(item->conditions));
	list = cJSON_AddArrayToObject(root, "cells");
	for (size_t i = 0; i < n; i++) {
		cJSON *object = cJSON_CreateObject();

		cJSON_AddItemToArray(list, object);
		cJSON_AddStringToObject(object, "stressor", cells[i].stressor);
		cJSON_AddNumberToObject(object, "pass", (double)cells[i].pass);
		json_add_number(object, "per_s", cells[i].per_s);
		json_add_number(object, "real_per_s", cells[i].real_per_s);
		if (cells[i].reason)
			cJSON_AddStringToObject(object, "not_measured", cells[i].reason);
	}
	cJSON_AddItemToObject(root, "counters", counters);
	json_add(out, root);
}

/* Incomplete ones can be named by id only. */
static enum assay_status choose(struct store *store, const struct fingerprint_listing *listing, const char *word, const struct fingerprint_item **out,
				struct assay_error *err)
{
	const struct fingerprint *chosen = NULL;
	struct fingerprint_set set = { 0 };
	enum assay_status st = ASSAY_OK;
	const char *id = word;

	*out = NULL;
	for (size_t i = 0; i < listing->n; i++) {
		if (strcmp(listing->items[i].id, word) == 0 && !listing->items[i].complete)
			*out = &listing->items[i];
	}
	if (*out)
		return ASSAY_OK;
	st = fingerprint_load(store, &set, err);
	if (!st)
		st = choose_fingerprint(&set, word, &chosen, err);
	if (!st)
		id = chosen->id;
	for (size_t i = 0; !st && i < listing->n; i++) {
		if (strcmp(listing->items[i].id, id) == 0)
			*out = &listing->items[i];
	}
	fingerprint_set_release(&set);
	return st;
}

static enum assay_status show_one(struct cmd_lab *cmd, const struct fingerprint_listing *listing, const char *word)
{
	struct store *store = &cmd->lab.store;
	struct assay_error *err = &cmd->err;
	const struct fingerprint_item *item = NULL;
	struct fingerprint_cell *cells = NULL;
	cJSON *counters = NULL;
	size_t n = 0;
	enum assay_status st = choose(store, listing, word, &item, err);

	if (!st)
		st = fingerprint_cells(store, item->id, &cells, &n, err);
	if (!st && cmd->cli.format == CLI_JSON) {
		st = counters_json(store, item->id, &counters, err);
		if (!st)
			print_one_json(item, cells, n, counters, &cmd->out);
	} else if (!st) {
		print_one(item, cells, n, &cmd->out);
		st = counters_print(store, item->id, &cmd->out, err);
	}
	fingerprint_cells_free(cells, n);
	return st;
}

int cmd_fingerprint_show(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { NULL, parse, "[WHICH]", doc, NULL, NULL, NULL };
	struct fingerprint_listing listing = { 0 };
	const char *word = NULL;
	struct cmd_lab cmd;
	enum assay_status st = cmd_lab_open(&cmd, &argp, argc, argv, directory, &word, STORE_READ);

	if (!st)
		st = fingerprint_listing_load(&cmd.lab.store, &listing, &cmd.err);
	if (!st && word)
		st = show_one(&cmd, &listing, word);
	else if (!st)
		(cmd.cli.format == CLI_JSON ? print_list_json : print_list)(&listing, &cmd.out);
	fingerprint_listing_release(&listing);
	return cmd_lab_end(&cmd, st, 0);
}
