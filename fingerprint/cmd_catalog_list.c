#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "fingerprint/catalog/types.h"
#include "fingerprint/cmd.h"
#include "fleet/cmd_lab.h"

#include <inttypes.h>

static const char doc[] = "Lists the machines of the catalog: their fingerprints and hardware types."
			  "\vExample:\n"
			  "  assay catalog list\n"
			  "  assay catalog list --format json | jq -r '.machines[].id'";

/* The names of the hardware types that a machine had, in the order of its fingerprints, each once. free() it. */
static char *types_text(const struct types *types, const struct machine *machine)
{
	bool *seen = mem_new(types->n, sizeof(bool));
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < machine->n_fingerprints; i++) {
		size_t type = types_find(types, machine->fingerprints[i].id);

		if (seen[type])
			continue;
		seen[type] = true;
		buf_format(&text, "%s%s", text.size ? ", " : "", types->types[type].name);
	}
	free(seen);
	return buf_take(&text);
}

static void print_human(const struct catalog *catalog, const struct types *types, struct buf *out)
{
	static const char *const headings[] = { "machine", "fingerprints", "latest", "battery", "stressors", "type" };
	struct table table;

	if (catalog->n == 0) {
		buf_text(out, "The catalog is empty: 'assay fingerprint run' measures the hosts of lab.yaml, 'assay import quiho DIR' brings in "
			      "recorded machines.\n");
		return;
	}
	table_init(&table, "lrllrl", headings);
	for (size_t i = 0; i < catalog->n; i++) {
		const struct machine *machine = &catalog->machines[i];
		const struct machine_fingerprint *last =
		    machine->n_fingerprints ? &machine->fingerprints[machine->n_fingerprints - 1] : NULL;
		char date[TEXT_DATE_BYTES];
		char *names = types_text(types, machine);

		table_cell(&table, "%s", machine->id);
		table_cell(&table, "%zu", machine->n_fingerprints);
		table_cell(&table, "%.10s", last ? text_from_ms(last->taken_ms, date) : "-");
		table_cell(&table, "%s", last ? last->battery : "-");
		table_cell(&table, "%zu", last ? last->n_rates : 0);
		table_cell(&table, "%s%s", *names ? names : "-", machine->retired ? " (retired)" : "");
		free(names);
	}
	table_print(&table, out);
	table_release(&table);
	buf_format(out, "\n%zu machine%s, %zu fingerprint%s, %zu hardware type%s\n", catalog->n, text_plural(catalog->n), types->n_members,
		   text_plural(types->n_members), types->n, text_plural(types->n));
}

static void print_json(const struct catalog *catalog, const struct types *types, struct buf *out)
{
	cJSON *root = cJSON_CreateObject();
	cJSON *list = cJSON_AddArrayToObject(root, "machines");

	for (size_t i = 0; i < catalog->n; i++) {
		const struct machine *machine = &catalog->machines[i];
		cJSON *object = cJSON_CreateObject();
		cJSON *fingerprints;

		cJSON_AddItemToArray(list, object);
		cJSON_AddStringToObject(object, "id", machine->id);
		cJSON_AddBoolToObject(object, "retired", machine->retired);
		fingerprints = cJSON_AddArrayToObject(object, "fingerprints");
		for (size_t k = 0; k < machine->n_fingerprints; k++) {
			const struct machine_fingerprint *f = &machine->fingerprints[k];
			cJSON *item = cJSON_CreateObject();
			char date[TEXT_DATE_BYTES];

			cJSON_AddItemToArray(fingerprints, item);
			cJSON_AddStringToObject(item, "id", f->id);
			cJSON_AddStringToObject(item, "taken", text_from_ms(f->taken_ms, date));
			cJSON_AddStringToObject(item, "battery", f->battery);
			cJSON_AddNumberToObject(item, "stressors", (double)f->n_rates);
			cJSON_AddNumberToObject(item, "passes", (double)f->passes);
			cJSON_AddStringToObject(item, "type", types->types[types_find(types, f->id)].name);
		}
	}
	json_add(out, root);
}

int cmd_catalog_list(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { NULL, NULL, NULL, doc, NULL, NULL, NULL };
	struct catalog catalog = { 0 };
	struct types types = { 0 };
	struct cmd_lab cmd;
	enum assay_status st = cmd_lab_open(&cmd, &argp, argc, argv, directory, NULL, STORE_READ);

	if (!st)
		st = catalog_load(cmd.lab.machines, NULL, &catalog, &cmd.err);
	if (!st) {
		types_of(&catalog, &cmd.lab.config, &types);
		(cmd.cli.format == CLI_JSON ? print_json : print_human)(&catalog, &types, &cmd.out);
	}
	types_release(&types);
	catalog_release(&catalog);
	return cmd_lab_end(&cmd, st, 0);
}
