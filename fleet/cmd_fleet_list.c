#include "base/json.h"
#include "base/mem.h"
#include "base/table.h"
#include "fleet/cmd.h"
#include "fleet/cmd_fleet.h"
#include "fleet/cmd_lab.h"

static const char doc[] = "Lists the hosts of lab.yaml, ranges expanded, as commands will meet them. Nothing is asked of the hosts "
			  "themselves: that is 'assay fleet check'."
			  "\vExample:\n"
			  "  assay fleet list\n"
			  "  assay fleet list -w node[01-08],@big -x node03\n"
			  "  assay fleet list --format json | jq -r '.hosts[].address'";

static const struct argp_option options[] = { CMD_FLEET_OPTIONS, { 0 } };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	return cmd_fleet_parse(key, arg, state, state->input);
}

/* ---- for people ---- */

static void add_address(struct table *table, const struct host *host)
{
	bool brackets = host->port && strchr(host->address, ':');

	if (host->local)
		table_cell(table, "this machine");
	else if (host->port)
		table_cell(table, "%s%s%s:%d", brackets ? "[" : "", host->address, brackets ? "]" : "", host->port);
	else
		table_cell(table, "%s", host->address);
}

static void add_groups(struct table *table, const struct host *host)
{
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < host->n_groups; i++)
		buf_format(&text, "%s%s", i ? "," : "", host->groups[i]);
	table_cell(table, "%s", text.size ? text.bytes : "-");
	buf_release(&text);
}

static void add_row(struct table *table, const struct host *host)
{
	table_cell(table, "%s", host->name);
	table_cell(table, "%s", host->id);
	add_address(table, host);
	table_cell(table, "%s", host->user ? host->user : "-");
	add_groups(table, host);
	table_cell(table, "%s%s", host->type ? host->type : "-", host->profile ? " (emulated)" : "");
	table_cell(table, "%s", host->box);
}

static void print_human(const struct inventory *inventory, const struct host *const *hosts, size_t n, struct buf *out)
{
	static const char *const headings[] = { "name", "id", "address", "user", "groups", "type", "box" };
	char *folded = cmd_fleet_fold(hosts, n);
	struct table table;

	table_init(&table, "lllllll", headings);
	for (size_t i = 0; i < n; i++)
		add_row(&table, hosts[i]);
	table_print(&table, out);
	table_release(&table);
	if (n < inventory->n)
		buf_format(out, "\n%zu of %zu hosts: %s\n", n, inventory->n, folded);
	else
		buf_format(out, "\n%zu %s: %s\n", n, n == 1 ? "host" : "hosts", folded);
	free(folded);
}

/* ---- for programs ---- */

static void add_text(cJSON *object, const char *key, const char *text)
{
	if (text)
		cJSON_AddStringToObject(object, key, text);
	else
		cJSON_AddNullToObject(object, key);
}

static void add_environment(cJSON *object, const struct host *host)
{
	cJSON *environment = cJSON_AddObjectToObject(object, "env");

	for (size_t i = 0; i < host->n_environment; i++) {
		const char *value = strchr(host->environment[i], '=');
		char *name = mem_bytes(host->environment[i], (size_t)(value - host->environment[i]));

		cJSON_AddStringToObject(environment, name, value + 1);
		free(name);
	}
}

static void add_host(cJSON *list, const struct host *host)
{
	cJSON *object = cJSON_CreateObject(), *groups;

	cJSON_AddItemToArray(list, object);
	cJSON_AddStringToObject(object, "name", host->name);
	cJSON_AddStringToObject(object, "id", host->id);
	cJSON_AddStringToObject(object, "transport", host->local ? "local" : "ssh");
	add_text(object, "address", host->local ? NULL : host->address);
	if (host->port)
		cJSON_AddNumberToObject(object, "port", host->port);
	else
		cJSON_AddNullToObject(object, "port");
	add_text(object, "user", host->user);
	add_text(object, "identity_file", host->identity_file);
	groups = cJSON_AddArrayToObject(object, "groups");
	for (size_t i = 0; i < host->n_groups; i++)
		cJSON_AddItemToArray(groups, cJSON_CreateString(host->groups[i]));
	add_text(object, "type", host->type);
	add_text(object, "profile", host->profile);
	cJSON_AddBoolToObject(object, "emulated", host->profile != NULL);
	cJSON_AddStringToObject(object, "box", host->box);
	add_environment(object, host);
}

static void print_json(const struct host *const *hosts, size_t n, struct buf *out)
{
	cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "hosts");
	char *folded = cmd_fleet_fold(hosts, n);

	for (size_t i = 0; i < n; i++)
		add_host(list, hosts[i]);
	cJSON_AddNumberToObject(root, "n", (double)n);
	cJSON_AddStringToObject(root, "names", folded);
	json_add(out, root);
	free(folded);
}

int cmd_fleet_list(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, NULL, doc, NULL, NULL, NULL };
	struct cmd_fleet_choice choice = { 0 };
	const struct host **hosts = NULL;
	struct cmd_lab cmd;
	enum assay_status st = cmd_lab_open(&cmd, &argp, argc, argv, directory, &choice, STORE_READ);
	size_t n = 0;

	if (!st)
		st = cmd_fleet_hosts(&cmd.lab.config.inventory, &choice, &hosts, &n, &cmd.err);
	if (!st && cmd.cli.format == CLI_JSON)
		print_json(hosts, n, &cmd.out);
	else if (!st)
		print_human(&cmd.lab.config.inventory, hosts, n, &cmd.out);
	free(hosts);
	cmd_fleet_release(&choice);
	return cmd_lab_end(&cmd, st, 0);
}
