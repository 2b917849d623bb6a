#include "base/cancel.h"
#include "base/cli.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "fleet/agent/shell.h"
#include "fleet/cmd.h"
#include "fleet/emulate/emulate.h"

static const char doc[] =
    "Brings up hosts on this machine, each with its own sshd, host key and environment, made different by profiles, and makes "
    "DIR a "
    "laboratory of them. As root each host has its own network address, host name, tmpfs and limits; otherwise they are sshd's "
    "of yours on "
    "ports of 127.0.0.1 from 22001 on. Needs openssh-server. What an earlier one left is taken away first, however it ended."
    "\vThe fleet stands until 'assay fleet down DIR', or until the machine is started anew. All hosts share this machine: they "
    "measure one "
    "after another. lab.yaml and known_hosts of DIR are replaced each time; a DIR with a lab.yaml of yours is refused.\n"
    "Profiles: base, vm, io, str, sort, bw, vm+str, io+sort, vm+sort, io+vm, malloc+bw, str+io; yours are YAML files of the same "
    "kind "
    "(machines/emulated/base.yaml explains the keys).\n\n"
    "Example:\n"
    "  assay fleet up lab --hosts 4 --profiles base,vm,str\n"
    "  assay -C lab fleet exec -w @all -- hostname\n"
    "  assay fleet down lab";

static const struct argp_option options[] = {
	{ "hosts", 'n', "N", 0, "How many (default 12, or one a profile of --profiles)", 0 },
	{ "profiles", 'p', "NAME,...", 0, "Their profiles, from the first again when there are more hosts (default: all)", 0 },
	{ "profile-dir", 1, "PATH", 0, "Take profiles from the files NAME.yaml there, not from the program", 0 },
	{ "no-root", 2, NULL, 0, "No namespaces and limits, whatever the rights", 0 },
	{ 0 }
};

struct up {
	struct emulate_options options;
	const char *named;
};

static size_t parse_number(const char *arg, struct argp_state *state)
{
	int64_t n;

	if (!text_int64(arg, &n) || n < 1 || n > EMULATE_HOSTS_MAX)
		cli_refuse(state, "--hosts takes a number from 1 to %d, not '%s'", EMULATE_HOSTS_MAX, arg);
	return (size_t)n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct up *up = state->input;

	switch (key) {
	case 'n':
		up->options.n_hosts = parse_number(arg, state);
		return 0;
	case 'p':
		up->options.profiles = arg;
		return 0;
	case 1:
		up->options.profile_directory = arg;
		return 0;
	case 2:
		up->options.no_root = true;
		return 0;
	case ARGP_KEY_ARG:
		return cli_directory_old(key, arg, state, &up->named);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Where nothing is said: twelve, or one for each profile named. */
static size_t default_hosts(const char *profiles)
{
	size_t n = 1;

	for (; profiles && *profiles; profiles++)
		n += *profiles == ',';
	return profiles && n <= EMULATE_HOSTS_MAX ? n : EMULATE_HOSTS_DEFAULT;
}

/* ---- output ---- */

static void print_human(const struct emulate_fleet *fleet, const char *directory, struct buf *out)
{
	static const char *const headings[] = { "HOST", "ADDRESS", "PORT", "PROFILE" };
	struct table t;
	char *word;

	table_init(&t, "llrl", headings);
	for (size_t i = 0; i < fleet->n; i++) {
		table_cell(&t, "%s", fleet->hosts[i].name);
		table_cell(&t, "%s", fleet->hosts[i].address);
		table_cell(&t, "%d", fleet->hosts[i].port);
		table_cell(&t, "%s", fleet->hosts[i].profile);
	}
	table_print(&t, out);
	table_release(&t);
	word = shell_line((const char *const[]){ directory, NULL });
	buf_format(out, "%zu emulated host%s up. Try 'assay -C %s fleet exec -w @all -- hostname'; 'assay fleet down %s' ends them.\n", fleet->n,
		   fleet->n == 1 ? " is" : "s are", word, word);
	free(word);
}

static void print_json(const struct emulate_fleet *fleet, const char *directory, struct buf *out)
{
	cJSON *root = cJSON_CreateObject(), *hosts;

	(void)directory;
	cJSON_AddStringToObject(root, "laboratory", fleet->directory);
	cJSON_AddBoolToObject(root, "emulated", true);
	cJSON_AddBoolToObject(root, "namespaces", fleet->namespaces);
	cJSON_AddStringToObject(root, "user", fleet->user);
	hosts = cJSON_AddArrayToObject(root, "hosts");
	for (size_t i = 0; i < fleet->n; i++) {
		cJSON *host = cJSON_CreateObject();

		cJSON_AddStringToObject(host, "name", fleet->hosts[i].name);
		cJSON_AddStringToObject(host, "address", fleet->hosts[i].address);
		cJSON_AddNumberToObject(host, "port", fleet->hosts[i].port);
		cJSON_AddStringToObject(host, "profile", fleet->hosts[i].profile);
		cJSON_AddItemToArray(hosts, host);
	}
	json_add(out, root);
}

/* ---- the command ---- */

static volatile sig_atomic_t cancelled;

struct steps {
	struct emulate_listener listener; /* first */
	const struct cli *cli;
};

static void tell(struct emulate_listener *listener, const char *line)
{
	const struct steps *steps = (const struct steps *)listener;

	cli_note(steps->cli, "%s", line);
}

int cmd_fleet_up(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, "[DIR]", doc, NULL, NULL, NULL };
	struct up up = { .named = NULL };
	struct emulate_fleet fleet;
	struct assay_error err;
	struct buf out = BUF_INIT;
	enum assay_status st;
	struct cli cli;
	struct steps steps = { { tell, &cancelled }, &cli };

	cli_parse(&cli, &argp, argc, argv, directory, &up);
	if (!up.named)
		up.named = cli.directory;
	up.options.directory = up.named;
	if (!up.options.n_hosts)
		up.options.n_hosts = default_hosts(up.options.profiles);
	cancel_on_signals(&cancelled); /* takes away what stands so far */
	st = emulate_up(&up.options, &steps.listener, &fleet, &err);
	if (!st) {
		(cli.format == CLI_JSON ? print_json : print_human)(&fleet, up.named, &out);
		st = cli_print(&out, &err);
	}
	emulate_fleet_release(&fleet);
	buf_release(&out);
	return cli_end(&cli, st, &err, 0);
}
