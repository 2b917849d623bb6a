/* The command assay host list. */
#include "base/command.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/text.h"
#include "fingerprint/catalog/types.h"
#include "fingerprint/commands/fingerprint_commands.h"
#include "fleet/commands/cmd_fleet.h"
#include "fleet/lab/lab.h"
#include "gate/commands/gate_commands.h"
#include "gate/page/document_html.h"

struct arguments {
	struct host_choice choice;
	bool types, fingerprints;
};

/* Returns "ADDRESS:PORT", with brackets around an IPv6 address; or how a local or launched host is reached. free() it. */
static char *address_text(const struct host *host)
{
	bool brackets = host->port && strchr(host->address, ':');

	if (host->local)
		return mem_string("this machine");
	if (host->launcher.n)
		return mem_format("%s by %s", host->address, host->launcher.slurm ? "Slurm" : host->launcher.words[0]);
	if (!host->port)
		return mem_string(host->address);
	return mem_format("%s%s%s:%d", brackets ? "[" : "", host->address, brackets ? "]" : "", host->port);
}

static void add_groups(const struct host *host, struct document *d)
{
	struct buf text = BUF_INIT;

	doc_list(d, "groups");
	doc_hide(d);
	for (size_t i = 0; i < host->n_groups; i++) {
		doc_set(d, NULL, host->groups[i]);
		buf_format(&text, "%s%s", i ? "," : "", host->groups[i]);
	}
	doc_end(d);
	doc_show(d, NULL, "groups", text.bytes);
	buf_release(&text);
}

static void add_environment(const struct host *host, struct document *d)
{
	doc_object(d, "env");
	doc_hide(d);
	for (size_t i = 0; i < host->n_environment; i++) {
		const char *value = strchr(host->environment[i], '=');
		char *name = mem_bytes(host->environment[i], (size_t)(value - host->environment[i]));

		doc_set(d, name, secret_is_name(name) ? SECRET_MASK : value + 1);
		free(name);
	}
	doc_end(d);
}

static void add_host(const struct host *host, struct document *d)
{
	char *address = address_text(host);

	doc_row(d);
	doc_show(d, "name", "name", host->name);
	doc_show(d, "id", "id", host->id);
	doc_set(d, "transport", host->local ? "local" : host->launcher.slurm ? "slurm" : host->launcher.n ? "command" : "ssh");
	doc_set(d, "address", host->local ? NULL : host->address);
	doc_show(d, NULL, "address", address);
	doc_set(d, "port", host->port ? doc_value_integer(host->port) : DOC_NULL_VALUE);
	doc_show(d, "user", "user", host->user);
	doc_set(d, "identity_file", host->identity_file);
	add_groups(host, d);
	doc_showf(d, "type", "type", host->type, "%s%s", host->type ? host->type : "-", host->profile ? " (emulated)" : "");
	doc_set(d, "profile", host->profile);
	doc_set_bool(d, "emulated", host->profile != NULL);
	doc_show(d, "box", "box", host->box);
	doc_set(d, "out_of_use", host->exclusion_reason);
	add_environment(host, d);
	free(address);
}

/* Returns the hardware types of a machine's fingerprints, in the order of the fingerprints, without duplicates. free() it. */
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
		doc_set(d, "taken", TEXT_DATE(f->taken_ms));
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

static bool is_chosen(const char *id, const struct host *const *chosen, size_t n)
{
	for (size_t i = 0; chosen && i < n; i++) {
		if (strcmp(chosen[i]->id, id) == 0)
			return true;
	}
	return !chosen;
}

/* Adds the machines of the catalog. If `chosen` is not NULL, adds only the machines of these n hosts. */
static void add_machines(struct lab *lab, const struct catalog *catalog, const struct host *const *chosen, size_t n, struct document *d)
{
	struct types types = { 0 };

	types_compute(catalog, &lab->config, &types);
	if (catalog->n == 0)
		doc_line(d, "The catalog is empty: 'assay host measure' measures the hosts of lab.yaml, 'assay host import FILE' imports "
			    "recorded machines.");
	else
		doc_line(d, "%zu machine%s, %zu fingerprint%s, %zu hardware type%s\n", catalog->n, text_plural(catalog->n), types.n_members,
			 text_plural(types.n_members), types.n, text_plural(types.n));
	doc_table(d, "machines");
	for (size_t i = 0; i < catalog->n; i++) {
		if (is_chosen(catalog->machines[i].id, chosen, n))
			add_machine(&catalog->machines[i], &types, d);
	}
	doc_end(d);
	types_release(&types);
}

/* Fills list[] with a type's fingerprints, sorted by machine and time. Excludes retired machines. Returns the number of fingerprints. */
static size_t list_members(const struct catalog *catalog, const struct types *types, size_t type, struct types_member *list)
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

/* Adds a line for the machine of list[0]. Returns the number of fingerprints at the start of the list that belong to this machine. */
static size_t add_member(const struct types_member *list, size_t n, struct document *d)
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

static void add_type(const struct hardware_type_entry *type, const struct types_member *list, size_t n, struct document *d)
{
	size_t of_machine;

	doc_object(d, NULL);
	doc_line(d, "%s: %s", type->name, type->reason);
	doc_set(d, "name", type->name);
	doc_set(d, "why", type->reason);
	for (size_t i = 0; i < n; i += of_machine)
		of_machine = add_member(list + i, n - i, d);
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
		size_t n = list_members(catalog, types, t, list);

		shown += n > 0;
		members += n;
	}
	if (types->n == 0)
		doc_line(d, "The catalog is empty: 'assay host measure' measures the hosts of lab.yaml, 'assay host import FILE' "
			    "imports recorded machines.");
	else
		doc_line(d, "%zu hardware type%s, %zu fingerprint%s", shown, text_plural(shown), members, text_plural(members));
	if (members < types->n_members)
		doc_line(d, "(%zu of retired machines are excluded)", types->n_members - members);
	if (shown)
		doc_line(d, "%s", "");
	doc_list(d, "types");
	for (size_t t = 0; t < types->n; t++) {
		size_t n = list_members(catalog, types, t, list);

		if (n)
			add_type(&types->types[t], list, n, d);
	}
	doc_end(d);
	free(list);
}

static enum assay_status catalog_types_show(struct lab *lab, struct document *d, struct assay_error *err)
{
	struct catalog catalog = { 0 };
	struct types types = { 0 };
	enum assay_status st = catalog_load(lab->machines, NULL, &catalog, err);

	if (!st) {
		types_compute(&catalog, &lab->config, &types);
		add_types(&catalog, &types, d);
	}
	types_release(&types);
	catalog_release(&catalog);
	return st;
}

static void add_hosts(const struct inventory *inventory, const struct host *const *hosts, size_t n, struct document *d)
{
	char *folded = host_choice_fold(hosts, n);

	if (n < inventory->n)
		doc_line(d, "%zu of %zu hosts: %s\n", n, inventory->n, folded);
	else if (n)
		doc_line(d, "%zu %s: %s\n", n, n == 1 ? "host" : "hosts", folded);
	doc_table(d, "hosts");
	for (size_t i = 0; i < n; i++)
		add_host(hosts[i], d);
	doc_end(d);
	for (size_t i = 0; i < n; i++)
		if (hosts[i]->exclusion_reason)
			doc_line(d, "%s is not measured: %s", hosts[i]->name, hosts[i]->exclusion_reason);
	if (n)
		doc_line(d, "%s", "");
	doc_set(d, "n", n);
	doc_set(d, "names", folded);
	free(folded);
}

static enum assay_status host_list_run(struct lab *lab, void *input, struct document *d, struct assay_error *err)
{
	const struct arguments *a = input;
	const struct inventory *inventory = &lab->config.inventory;
	const struct host **hosts = NULL;
	struct catalog catalog = { 0 };
	enum assay_status st;
	size_t n = 0;

	if (a->types)
		return catalog_types_show(lab, d, err);
	if (a->fingerprints)
		return fingerprint_passes_show(lab, NULL, d, err);
	if (cli_renderer() == document_html)
		return explore_show(lab, d, err);
	st = catalog_load(lab->machines, NULL, &catalog, err);
	if (!st)
		st = catalog_exclude_retired(lab, err);
	if (!st && (inventory->n || a->choice.hosts || a->choice.exclude))
		st = host_choice_hosts(inventory, &a->choice, &hosts, &n, NULL, err);
	if (!st && !inventory->n && !catalog.n)
		doc_line(d, "lab.yaml has no hosts yet: add them as in its example.");
	if (!st) {
		add_hosts(inventory, hosts, n, d);
		add_machines(lab, &catalog, n < inventory->n ? hosts : NULL, n, d);
	}
	catalog_release(&catalog);
	free(hosts);
	return st;
}

static enum assay_status host_list_check(void *input, struct assay_error *err)
{
	const struct arguments *a = input;

	return a->types && a->fingerprints ? assay_fail(err, ASSAY_E_USAGE, "--types and --fingerprints exclude each other") : ASSAY_OK;
}

static const struct cli_option options[] = {
	CMD_FLEET_HOSTS(struct arguments, choice),
	CLI_FLAG("types", struct arguments, types, "List hardware types instead, with their members and the reason"),
	CLI_FLAG("fingerprints", struct arguments, fingerprints, "List all fingerprints instead, including incomplete ones"),
	CLI_END,
};

const struct command host_list_command = {
	.name = "host list",
	.summary = "list the hosts of lab.yaml and the machines of the catalog",
	.about = "Lists the hosts of lab.yaml with ranges expanded, and the machines of the catalog with their fingerprints and hardware "
		 "types. Machines of one hardware type are alike for a model. To set a type yourself, write it into lab.yaml or into "
		 "column 'type' of 'assay host import FILE'. The command does not contact the hosts; 'assay host check' does.\n\n--format "
		 "html writes a page about the machines of the catalog, one file that loads nothing else: variation and repeatability of "
		 "each stressor, correlated stressors, and in how many independent ways the machines differ (principal components, "
		 "effective rank). The page has only fingerprints of one battery, version of stress-ng and architecture, those that most "
		 "machines have. It lists the excluded ones.",
	.examples = "  assay host list\n"
		    "  assay host list -w node[01-08],@big -x node03\n"
		    "  assay host list --format json | jq -r '.hosts[].address, .machines[].id'\n"
		    "  assay host list --types\n"
		    "  assay host list --format html >machines.html\n",
	.options = options,
	.check = host_list_check,
	CLI_RUN(struct arguments, CLI_LAB_READ, host_list_run),
};
