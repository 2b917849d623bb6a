/* assay catalog types */
#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/catalog/types.h"
#include "fingerprint/commands/fingerprint_commands.h"

/* The members of a type by machine and time into list, without retired machines; returns their number. */
static size_t members_of(const struct catalog *catalog, const struct types *types, size_t type, struct types_member *list)
{
	size_t n = 0;

	for (size_t i = 0; i < catalog->n; i++) {
		const struct machine *m = &catalog->machines[i];

		for (size_t k = 0; !m->retired && k < m->n_fingerprints; k++) {
			if (types_find(types, m->fingerprints[k].id) == type)
				list[n++] = (struct types_member){ m, &m->fingerprints[k], type };
		}
	}
	return n;
}

/* The machine that list[0..n) starts with, on one line; returns the number of its fingerprints. */
static size_t add_machine(const struct types_member *list, size_t n, struct document *d)
{
	char first[TEXT_DATE_BYTES], last[TEXT_DATE_BYTES];
	size_t same = 1;

	while (same < n && list[same].machine == list[0].machine)
		same++;
	text_from_ms(list[0].fingerprint->taken_ms, first);
	text_from_ms(list[same - 1].fingerprint->taken_ms, last);
	if (same == 1)
		doc_line(d, "  %s (%.10s)", list[0].machine->id, first);
	else if (strncmp(first, last, 10) == 0)
		doc_line(d, "  %s (%zu fingerprints, %.10s)", list[0].machine->id, same, first);
	else
		doc_line(d, "  %s (%zu fingerprints, %.10s to %.10s)", list[0].machine->id, same, first, last);
	return same;
}

static void add_type(const struct types_type *type, const struct types_member *list, size_t n, struct document *d)
{
	size_t of_machine;

	doc_object(d, NULL);
	doc_line(d, "%s: %s", type->name, type->why);
	doc_set(d, "name", type->name);
	doc_set(d, "why", type->why);
	for (size_t i = 0; i < n; i += of_machine)
		of_machine = add_machine(list + i, n - i, d);
	doc_list(d, "members");
	for (size_t i = 0; i < n; i++) {
		doc_object(d, NULL);
		doc_set(d, "machine", list[i].machine->id);
		doc_set(d, "fingerprint", list[i].fingerprint->id);
		doc_set(d, "taken_ms", list[i].fingerprint->taken_ms);
		doc_end(d);
	}
	doc_end(d);
	doc_end(d);
}

static void add_types(const struct catalog *catalog, const struct types *types, struct document *d)
{
	struct types_member *list = mem_new(types->n_members, sizeof(*list));
	size_t shown = 0, members = 0;

	for (size_t t = 0; t < types->n; t++) {
		size_t n = members_of(catalog, types, t, list);

		shown += n > 0;
		members += n;
	}
	if (types->n == 0)
		doc_line(d, "The catalog is empty: 'assay host measure' measures the hosts of lab.yaml, 'assay import machines FILE' "
			    "imports recorded machines.");
	else
		doc_line(d, "%zu hardware type%s, %zu fingerprint%s", shown, text_plural(shown), members, text_plural(members));
	if (members < types->n_members)
		doc_line(d, "(%zu of retired machines are excluded)", types->n_members - members);
	if (shown)
		doc_line(d, "%s", "");
	doc_list(d, "types");
	for (size_t t = 0; t < types->n; t++) {
		size_t n = members_of(catalog, types, t, list);

		if (n)
			add_type(&types->types[t], list, n, d);
	}
	doc_end(d);
	free(list);
}

static enum assay_status catalog_types_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	struct catalog catalog = { 0 };
	struct types types = { 0 };
	enum assay_status st = catalog_load(lab->machines, NULL, &catalog, err);

	(void)arguments;
	if (!st) {
		types_of(&catalog, &lab->config, &types);
		add_types(&catalog, &types, d);
	}
	types_release(&types);
	catalog_release(&catalog);
	return st;
}

const struct command catalog_types_command = {
	.name = "catalog types",
	.summary = "list hardware types with their members, and why",
	.about = "Lists the hardware types: machines that are the same to a model, and why. A type that you know goes into lab.yaml, or "
		 "comes in the column 'type' of 'assay import machines FILE'.",
	.examples = "  assay catalog types\n",
	.lab = CLI_LAB_READ,
	.run = catalog_types_run,
};
