/* assay host up */
#include "base/cancel.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/commands/fleet_commands.h"
#include "fleet/emulate/emulate.h"

struct arguments {
	const char *directory, *profiles, *profile_directory;
	int64_t hosts;
	bool no_root;
};

/* Returns the default number of hosts: one per profile in `profiles`, or twelve if it is NULL. */
static size_t default_hosts(const char *profiles)
{
	size_t n = 1;

	for (; profiles && *profiles; profiles++)
		n += *profiles == ',';
	return profiles && n <= EMULATE_HOSTS_MAX ? n : EMULATE_HOSTS_DEFAULT;
}

static void add_fleet(const struct emulate_fleet *fleet, const char *directory, struct document *d)
{
	char *use = text_format_command((const char *const[]){ "-C", directory, "host", "exec", "-w", "@all", "--", "hostname", NULL });
	char *end = text_format_command((const char *const[]){ "host", "down", directory, NULL });

	doc_set(d, "laboratory", fleet->directory);
	doc_set_bool(d, "emulated", true);
	doc_set_bool(d, "namespaces", fleet->namespaces);
	doc_set(d, "user", fleet->user);
	doc_table(d, "hosts");
	for (size_t i = 0; i < fleet->n; i++) {
		const struct emulated_host *host = &fleet->hosts[i];

		doc_row(d);
		doc_show(d, "name", "host", host->name);
		doc_show(d, "address", "address", host->address);
		doc_show(d, "port", "port", host->port);
		doc_show(d, "profile", "profile", host->profile);
	}
	doc_end(d);
	doc_line(d, "%zu emulated host%s up. Try %s; %s ends them.", fleet->n, fleet->n == 1 ? " is" : "s are", use, end);
	mem_free(use, end);
}

static volatile sig_atomic_t cancelled;

static void show_step(struct emulate_listener *listener, const char *line)
{
	(void)listener;
	cli_note("%s", line);
}

static enum assay_status host_up_run(struct lab *lab, void *input, struct document *d, struct assay_error *err)
{
	const struct arguments *arguments = input;
	struct emulate_listener listener = { show_step, &cancelled };
	const struct emulate_options options = {
		.directory = arguments->directory ? arguments->directory : cli_directory(),
		.n_hosts = arguments->hosts ? (size_t)arguments->hosts : default_hosts(arguments->profiles),
		.profiles = arguments->profiles,
		.profile_directory = arguments->profile_directory,
		.no_root = arguments->no_root,
	};
	struct emulate_fleet fleet = { 0 };
	enum assay_status st;

	(void)lab;
	cancel_on_signals(&cancelled); /* once cancelled, emulate_up() removes everything that it has made */
	st = emulate_up(&options, &listener, &fleet, err);
	if (!st)
		add_fleet(&fleet, options.directory, d);
	emulate_fleet_release(&fleet);
	return st;
}

static const struct cli_option words[] = { CLI_OPTIONAL_ARGUMENT("DIR", struct arguments, directory), CLI_END };

static const struct cli_option options[] = {
	CLI_OPTION(INTEGER, "hosts", "N", struct arguments, hosts, "Number of hosts (default: 12, or one for each profile of --profiles)",
		   .letter = 'n', .low = 1, .high = EMULATE_HOSTS_MAX),
	CLI_OPTION(TEXT, "profiles", "NAME,...", struct arguments, profiles,
		   "Profiles of the hosts, used repeatedly if there are more hosts (default: all)", .letter = 'p'),
	CLI_TEXT("profile-dir", "PATH", struct arguments, profile_directory,
		 "Directory with profiles NAME.yaml (default: built-in profiles)"),
	CLI_FLAG("no-root", struct arguments, no_root, "Use no namespaces and limits, even if they are available"),
	CLI_END,
};

const struct command host_up_command = {
	.name = "host up",
	.summary = "start emulated hosts on this machine, to try assay",
	.about = "Starts hosts on this machine, each with its own sshd, host key and environment, with different profiles, and makes DIR "
		 "their laboratory. As root, each host has its own network address, host name, tmpfs and limits; otherwise the hosts are "
		 "sshd processes on ports of 127.0.0.1 from 22001 on. Needs openssh-server, and iproute2 for the network. Remains of an "
		 "earlier fleet are removed first.\n\nThe fleet runs until 'assay host down DIR', or until the machine restarts. All hosts "
		 "share this machine: they measure one after another, and share /dev/shm, CPUs and memory. lab.yaml and known_hosts of DIR "
		 "are replaced each time; a DIR with your own lab.yaml is refused.\n\nThe twelve default hosts are this machine and eleven "
		 "slower versions, each with three expensive operations: reading and writing (io), file names (meta), mapping memory (vm), "
		 "page faults (fault), page walks (walk), string functions (str), comparators (sort), allocation (malloc), the CPU "
		 "(clock). There is also a profile for each operation alone, and bw (memory bandwidth used by others), process, sync, net "
		 "and time. Your own profiles are YAML files (machines/emulated/base.yaml explains the keys).",
	.examples = "  assay host up lab --hosts 4 --profiles base,vm,str,clock\n"
		    "  assay -C lab host exec -w @all -- hostname\n"
		    "  assay host down lab\n",
	.words = words,
	.options = options,
	CLI_RUN(struct arguments, CLI_LAB_DEFERRED, host_up_run),
};
