/* assay host list */
#include "base/mem.h"
#include "base/secret.h"
#include "fleet/commands/fleet_commands.h"
#include "fleet/commands/cmd_fleet.h"
#include "fleet/lab/lab.h"

struct arguments {
	struct host_choice choice;
};

/* ADDRESS:PORT, with brackets around an address of IPv6. free() it. */
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

		doc_set(d, name, secret_name(name) ? SECRET_MASK : value + 1);
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
	doc_set(d, "port", host->port ? doc_value_integer(host->port) : DOC_NOTHING);
	doc_show(d, "user", "user", host->user);
	doc_set(d, "identity_file", host->identity_file);
	add_groups(host, d);
	doc_showf(d, "type", "type", host->type, "%s%s", host->type ? host->type : "-", host->profile ? " (emulated)" : "");
	doc_set(d, "profile", host->profile);
	doc_set_bool(d, "emulated", host->profile != NULL);
	doc_show(d, "box", "box", host->box);
	doc_set(d, "out_of_use", host->aside);
	add_environment(host, d);
	free(address);
}

static enum assay_status host_list_run(struct lab *lab, void *input, struct document *d, struct assay_error *err)
{
	const struct arguments *arguments = input;
	const struct inventory *inventory = &lab->config.inventory;
	const struct host **hosts = NULL;
	size_t n = 0;
	enum assay_status st = host_choice_hosts(inventory, &arguments->choice, &hosts, &n, NULL, err);
	char *folded;

	if (st)
		return st;
	folded = host_choice_fold(hosts, n);
	if (n < inventory->n)
		doc_line(d, "%zu of %zu hosts: %s\n", n, inventory->n, folded);
	else
		doc_line(d, "%zu %s: %s\n", n, n == 1 ? "host" : "hosts", folded);
	doc_table(d, "hosts");
	for (size_t i = 0; i < n; i++)
		add_host(hosts[i], d);
	doc_end(d);
	for (size_t i = 0; i < n; i++)
		if (hosts[i]->aside)
			doc_line(d, "%s is not measured: %s", hosts[i]->name, hosts[i]->aside);
	doc_set(d, "n", n);
	doc_set(d, "names", folded);
	mem_free(folded, hosts);
	return ASSAY_OK;
}

static const struct cli_option options[] = { CMD_FLEET_HOSTS(struct arguments, choice), CLI_END };

const struct command host_list_command = {
	.name = "host list",
	.summary = "list the hosts of lab.yaml, ranges expanded",
	.about = "Lists the hosts of lab.yaml, ranges expanded, as commands will see them. The hosts themselves are not contacted: that is "
		 "'assay host check'.",
	.examples = "  assay host list\n"
		    "  assay host list -w node[01-08],@big -x node03\n"
		    "  assay host list --format json | jq -r '.hosts[].address'\n",
	.options = options,
	CLI_RUN(struct arguments, CLI_LAB_READ, host_list_run),
};
