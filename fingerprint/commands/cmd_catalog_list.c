/* assay catalog list */
#include "base/command.h"
#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/catalog/types.h"
#include "fingerprint/commands/fingerprint_commands.h"
#include "fleet/lab/lab.h"

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

static void add_fingerprints(const struct machine *machine, const struct types *types, struct document *d)
{
	doc_list(d, "fingerprints");
	for (size_t i = 0; i < machine->n_fingerprints; i++) {
		const struct machine_fingerprint *f = &machine->fingerprints[i];

		doc_object(d, NULL);
		doc_set(d, "id", f->id);
		doc_set(d, "taken", TEXT_MS(f->taken_ms));
		doc_set(d, "battery", f->battery);
		doc_set(d, "stressors", f->n_rates);
		doc_set(d, "passes", f->passes);
		doc_set(d, "type", types->types[types_find(types, f->id)].name);
		doc_end(d);
	}
	doc_end(d);
}

static void add_machine(const struct machine *machine, const struct types *types, struct document *d)
{
	const struct machine_fingerprint *last = machine->n_fingerprints ? &machine->fingerprints[machine->n_fingerprints - 1] : NULL;
	char *names = types_text(types, machine);
	char date[TEXT_DATE_BYTES];

	doc_row(d);
	doc_show(d, "id", "machine", machine->id);
	doc_set_bool(d, "retired", machine->retired);
	doc_show(d, NULL, "fingerprints", machine->n_fingerprints);
	doc_showf(d, NULL, "latest", last ? text_from_ms(last->taken_ms, date) : NULL, "%.10s", date);
	doc_show(d, NULL, "battery", last ? last->battery : NULL);
	doc_show(d, NULL, "stressors", last ? last->n_rates : 0);
	doc_showf(d, NULL, "type", names, "%s%s", *names ? names : "-", machine->retired ? " (retired)" : "");
	add_fingerprints(machine, types, d);
	free(names);
}

static enum assay_status catalog_list_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	struct catalog catalog = { 0 };
	struct types types = { 0 };
	enum assay_status st = catalog_load(lab->machines, NULL, &catalog, err);

	(void)arguments;
	if (!st) {
		types_of(&catalog, &lab->config, &types);
		if (catalog.n == 0)
			doc_line(d, "The catalog is empty: 'assay host measure' measures the hosts of lab.yaml, 'assay import machines "
				    "FILE' imports recorded machines.");
		else
			doc_line(d, "%zu machine%s, %zu fingerprint%s, %zu hardware type%s\n", catalog.n, text_plural(catalog.n),
				 types.n_members, text_plural(types.n_members), types.n, text_plural(types.n));
		doc_table(d, "machines");
		for (size_t i = 0; i < catalog.n; i++)
			add_machine(&catalog.machines[i], &types, d);
		doc_end(d);
	}
	types_release(&types);
	catalog_release(&catalog);
	return st;
}

const struct command catalog_list_command = {
	.name = "catalog list",
	.summary = "list machines with their fingerprints and hardware types",
	.about = "Lists the machines of the catalog, with their fingerprints and hardware types.",
	.examples = "  assay catalog list\n"
		    "  assay catalog list --format json | jq -r '.machines[].id'\n",
	.lab = CLI_LAB_READ,
	.run = catalog_list_run,
};
