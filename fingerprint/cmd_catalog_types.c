#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/catalog/types.h"
#include "fingerprint/cmd.h"
#include "fleet/cmd_lab.h"

static const char doc[] = "Shows the hardware types: machines that are the same to a model, and why. A type that you know goes into "
			  "lab.yaml, or comes with 'assay import quiho DIR --types FILE'."
			  "\vExample:\n"
			  "  assay catalog types";

static int compare_member(const void *a, const void *b)
{
	const struct types_member *x = *(const struct types_member *const *)a, *y = *(const struct types_member *const *)b;
	int order = strcmp(x->machine->id, y->machine->id);

	if (order || x->fingerprint->taken_ms == y->fingerprint->taken_ms)
		return order;
	return x->fingerprint->taken_ms < y->fingerprint->taken_ms ? -1 : 1;
}

/* The members of a type by machine and time into list, without retired machines; returns their number. */
static size_t members_of(const struct types *types, size_t type, const struct types_member **list)
{
	size_t n = 0;

	for (size_t i = 0; i < types->n_members; i++) {
		if (types->members[i].type == type && !types->members[i].machine->retired)
			list[n++] = &types->members[i];
	}
	qsort(list, n, sizeof(struct types_member *), compare_member);
	return n;
}

/* The machine that list[0..n) begins with, on one line; returns the number of its fingerprints. */
static size_t print_machine(const struct types_member **list, size_t n, struct buf *out)
{
	char first[TEXT_DATE_BYTES], last[TEXT_DATE_BYTES];
	size_t same = 1;

	while (same < n && list[same]->machine == list[0]->machine)
		same++;
	text_from_ms(list[0]->fingerprint->taken_ms, first);
	text_from_ms(list[same - 1]->fingerprint->taken_ms, last);
	if (same == 1)
		buf_format(out, "  %s (%.10s)\n", list[0]->machine->id, first);
	else if (strncmp(first, last, 10) == 0)
		buf_format(out, "  %s (%zu fingerprints, %.10s)\n", list[0]->machine->id, same, first);
	else
		buf_format(out, "  %s (%zu fingerprints, %.10s to %.10s)\n", list[0]->machine->id, same, first, last);
	return same;
}

static void print_human(const struct types *types, const struct types_member **list, struct buf *out)
{
	size_t shown = 0, members = 0, of_machine;

	for (size_t t = 0; t < types->n; t++) {
		size_t n = members_of(types, t, list);

		if (n == 0)
			continue;
		shown++;
		members += n;
		buf_format(out, "%s: %s\n", types->types[t].name, types->types[t].why);
		for (size_t i = 0; i < n; i += of_machine)
			of_machine = print_machine(list + i, n - i, out);
	}
	if (types->n == 0)
		buf_text(out, "The catalog is empty: 'assay fingerprint run' measures the hosts of lab.yaml, 'assay import quiho DIR' brings in "
			      "recorded machines.\n");
	else
		buf_format(out, "\n%zu hardware type%s, %zu fingerprint%s\n", shown, text_plural(shown), members, text_plural(members));
	if (members < types->n_members)
		buf_format(out, "%zu of retired machines are left out\n", types->n_members - members);
}

static void print_json(const struct types *types, const struct types_member **list, struct buf *out)
{
	cJSON *root = cJSON_CreateObject();
	cJSON *array = cJSON_AddArrayToObject(root, "types");

	for (size_t t = 0; t < types->n; t++) {
		size_t n = members_of(types, t, list);
		cJSON *object, *members;

		if (n == 0)
			continue;
		object = cJSON_CreateObject();
		cJSON_AddItemToArray(array, object);
		cJSON_AddStringToObject(object, "name", types->types[t].name);
		cJSON_AddStringToObject(object, "why", types->types[t].why);
		members = cJSON_AddArrayToObject(object, "members");
		for (size_t i = 0; i < n; i++) {
			cJSON *member = cJSON_CreateObject();

			cJSON_AddItemToArray(members, member);
			cJSON_AddStringToObject(member, "machine", list[i]->machine->id);
			cJSON_AddStringToObject(member, "fingerprint", list[i]->fingerprint->id);
			cJSON_AddNumberToObject(member, "taken_ms", (double)list[i]->fingerprint->taken_ms);
		}
	}
	json_add(out, root);
}

int cmd_catalog_types(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { NULL, NULL, NULL, doc, NULL, NULL, NULL };
	const struct types_member **list = NULL;
	struct catalog catalog = { 0 };
	struct types types = { 0 };
	struct cmd_lab cmd;
	enum assay_status st = cmd_lab_open(&cmd, &argp, argc, argv, directory, NULL, STORE_READ);

	if (!st)
		st = catalog_load(cmd.lab.machines, NULL, &catalog, &cmd.err);
	if (!st) {
		types_of(&catalog, &cmd.lab.config, &types);
		list = mem_new(types.n_members, sizeof(struct types_member *));
		(cmd.cli.format == CLI_JSON ? print_json : print_human)(&types, list, &cmd.out);
	}
	free(list);
	types_release(&types);
	catalog_release(&catalog);
	return cmd_lab_end(&cmd, st, 0);
}
