#include "fleet/emulate/emulate_site.h"
#include "fleet/emulate/emulate_data.h"
#include "fleet/emulate/emulate_key.h"
#include "fleet/emulate/emulate_net.h"

#include "base/file.h"
#include "base/mem.h"
#include "fleet/lab/lab.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_MS      10000 /* until all answer, and so much more for each */
#define ANSWER_HOST_MS 200

/* All of a fleet that is being brought up. */
struct bringup {
	const struct emulate_options *options;
	struct emulate_listener *listener;
	struct emulate_site site;
	struct emulate_profile *profiles; /* [n_profiles] */
	size_t n_profiles;
	struct emulate_host *hosts; /* [n_hosts] of the options */
};

/* ---- profiles ---- */

static enum assay_status load_one(struct bringup *b, const char *name, size_t *capacity, struct assay_error *err)
{
	enum assay_status st;

	b->profiles = mem_grow(b->profiles, b->n_profiles, capacity, sizeof(*b->profiles));
	st = emulate_profile_load(b->options->profile_directory, name, &b->profiles[b->n_profiles], err);
	if (!st)
		b->n_profiles++;
	return st;
}

static enum assay_status load_named(struct bringup *b, struct assay_error *err)
{
	const char *at = b->options->profiles;
	size_t capacity = 0;
	enum assay_status st = ASSAY_OK;

	for (bool more = true; !st && more;) {
		size_t n = strcspn(at, ",");
		char *name = mem_bytes(at, n);

		st = load_one(b, name, &capacity, err);
		free(name);
		more = at[n] == ',';
		at += n + more;
	}
	return st;
}

static enum assay_status load_profiles(struct bringup *b, struct assay_error *err)
{
	char **names = NULL;
	size_t n = 0, capacity = 0;
	enum assay_status st;

	if (b->options->profiles)
		return load_named(b, err);
	st = emulate_profile_names(b->options->profile_directory, &names, &n, err);
	for (size_t i = 0; i < n; i++) {
		if (!st)
			st = load_one(b, names[i], &capacity, err);
		free(names[i]);
	}
	free(names);
	return st;
}

/* ---- files that all hosts share ---- */

static enum assay_status make_folders(const struct emulate_site *site, struct assay_error *err)
{
	static const struct {
		const char *name;
		mode_t mode;
	} folders[] = { { "run", 0711 }, { "lib", 0755 }, { "keys", 0700 } };
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < sizeof(folders) / sizeof(folders[0]); i++) {
		char *path = mem_format("%s/%s", site->base, folders[i].name);

		st = file_make_directory(path, folders[i].mode, err);
		free(path);
	}
	return st;
}

static enum assay_status write_libraries(const struct emulate_site *site, struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < emulate_data_n; i++) {
		const char *dot = strrchr(emulate_data[i].name, '.');
		char *path = mem_format("%s/lib/%s", site->base, emulate_data[i].name);

		if (dot && strcmp(dot, ".so") == 0)
			st = emulate_write(path, emulate_data[i].bytes, (size_t)(emulate_data[i].end - emulate_data[i].bytes),
					   0755, err);
		free(path);
	}
	return st;
}

static enum assay_status write_client_key(const struct emulate_site *site, struct assay_error *err)
{
	char *path = mem_format("%s/id_ed25519", site->base), *authorized = mem_format("%s/authorized_keys", site->base);
	char *line = NULL, *text = NULL;
	enum assay_status st = emulate_key_make(path, "assay", &line, err);

	if (!st) {
		text = mem_format("%s assay\n", line);
		st = emulate_write(authorized, text, strlen(text), 0644, err);
	}
	free(text);
	free(line);
	free(authorized);
	free(path);
	return st;
}

static enum assay_status make_laboratory(const struct emulate_site *site, struct assay_error *err)
{
	char *path = mem_format("%s/lab.yaml", site->directory);
	enum assay_status st = access(path, F_OK) == 0 ? ASSAY_OK : lab_create(site->directory, err);

	free(path);
	if (!st)
		st = make_folders(site, err);
	if (!st)
		st = write_libraries(site, err);
	return st ? st : write_client_key(site, err);
}

/* ---- network and limits ---- */

static enum assay_status make_network(struct emulate_site *site, struct assay_error *err)
{
	enum assay_status st = emulate_net_open(&site->netlink, err);

	snprintf(site->bridge, sizeof(site->bridge), "as%s", site->tag);
	if (!st)
		st = emulate_net_choose(site->netlink, (uint32_t)strtoul(site->tag, NULL, 16), &site->network, err);
	if (!st)
		st = emulate_state_link(site->state, site->bridge, err);
	if (!st)
		st = emulate_net_bridge(site->netlink, site->bridge, err);
	return st ? st : emulate_net_up(site->netlink, site->bridge, site->network + 1, err);
}

/* Falls back to loopback where namespaces or the network cannot be had, and says so. */
static void choose_network(struct bringup *b)
{
	struct assay_error why;
	const char *reason = "--no-root";

	b->site.namespaces = !b->options->no_root && emulate_site_may_unshare(&reason);
	if (b->site.namespaces && make_network(&b->site, &why)) {
		b->site.namespaces = false;
		reason = why.text;
	}
	if (b->site.namespaces)
		emulate_step(b->listener, "each host has its own network address, host name and tmpfs of %llu MiB",
			     EMULATE_TMPFS_BYTES >> 20);
	else
		emulate_step(b->listener,
			     "no namespaces (%s): hosts are sshd's on ports of 127.0.0.1 and share this machine's name and disk",
			     reason);
}

static enum assay_status make_group(const struct emulate_site *site, const char *path, struct assay_error *err)
{
	enum assay_status st = emulate_state_cgroup(site->state, path, err);

	return st ? st : emulate_cgroup_make(path, err);
}

/* A machine that has control groups and does not let us make any counts as one that has none. */
static enum assay_status choose_groups(struct bringup *b, struct assay_error *err)
{
	struct emulate_cgroups *groups = &b->site.groups;
	enum assay_status st = ASSAY_OK;

	if (b->site.namespaces)
		emulate_cgroups_find(b->site.tag, groups);
	if (groups->memory)
		st = make_group(&b->site, groups->memory, err);
	if (!st && groups->pids)
		st = make_group(&b->site, groups->pids, err);
	if (st)
		return st;
	if (groups->memory && groups->pids)
		emulate_step(b->listener, "each host is limited to %llu MiB of memory and %d processes",
			     EMULATE_MEMORY_BYTES >> 20, EMULATE_PROCESSES);
	else
		emulate_step(b->listener, "%s not limited: %s",
			     groups->memory ? "processes of hosts are" :
			     groups->pids   ? "memory of hosts is" :
					      "memory and processes of hosts are",
			     b->site.namespaces ? "this machine has no control group for it that we may use" :
			     geteuid() == 0		  ? "that needs namespaces" :
							    "that needs root");
	return ASSAY_OK;
}

/* ---- hosts ---- */

/* A free port of loopback, kept until its sshd listens by a socket that is bound to it. A socket that shares the address may be bound
 * beside this one, as sshd's does; one that does not may not, as those of other fleets' searches. So the search is made without
 * sharing, and sharing allowed behind it: no other fleet can take the port while sshd starts. */
static enum assay_status reserve_port(struct emulate_host *host, int *next, struct assay_error *err)
{
	static const int yes = 1;
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };

	host->reserved = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (host->reserved < 0)
		return assay_fail_errno(err, errno, "cannot make a socket");
	while (*next <= EMULATE_PORT_LAST) {
		host->port = (*next)++;
		address.sin_port = htons((unsigned short)host->port);
		if (bind(host->reserved, (const struct sockaddr *)&address, sizeof(address)))
			continue;
		if (setsockopt(host->reserved, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)))
			return assay_fail_errno(err, errno, "cannot share port %d of 127.0.0.1", host->port);
		return ASSAY_OK;
	}
	return assay_fail(err, ASSAY_E_IO,
			  "no free port of 127.0.0.1 between %d and %d is left: take other fleets down ('assay fleet down DIR'), "
			  "or ask for fewer hosts",
			  EMULATE_PORT_FIRST, EMULATE_PORT_LAST);
}

static enum assay_status place_host(struct bringup *b, size_t i, int *next_port, struct assay_error *err)
{
	struct emulate_host *host = &b->hosts[i];
	struct in_addr address = { htonl(b->site.network + 2 + (uint32_t)i) };
	char text[INET_ADDRSTRLEN] = "127.0.0.1";
	enum assay_status st = ASSAY_OK;

	host->name = mem_format("emu%0*zu", b->options->n_hosts > 99 ? (b->options->n_hosts > 999 ? 4 : 3) : 2, i + 1);
	host->profile = &b->profiles[i % b->n_profiles];
	host->directory = mem_format("%s/run/%s", b->site.base, host->name);
	host->port = 22;
	if (b->site.namespaces)
		inet_ntop(AF_INET, &address, text, sizeof(text));
	else
		st = reserve_port(host, next_port, err);
	host->address = mem_string(text);
	return st ? st : emulate_host_prepare(&b->site, host, err);
}

static enum assay_status start_hosts(struct bringup *b, struct assay_error *err)
{
	size_t n = b->options->n_hosts;
	int next_port = EMULATE_PORT_FIRST;
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < n; i++)
		st = place_host(b, i, &next_port, err);
	for (size_t i = 0; !st && i < n; i++)
		st = b->listener && b->listener->cancelled && *b->listener->cancelled ?
			 assay_fail(err, ASSAY_E_IO, "interrupted") :
			 emulate_host_start(&b->site, &b->hosts[i], err);
	for (size_t i = 0; !st && i < n && b->site.namespaces; i++)
		st = emulate_host_connect(&b->site, &b->hosts[i], i, err);
	for (size_t i = 0; !st && i < n; i++)
		st = emulate_host_finish(&b->hosts[i], err);
	return st ? st :
		    emulate_wait(b->hosts, n, ANSWER_MS + ANSWER_HOST_MS * (int64_t)n,
				 b->listener ? b->listener->cancelled : NULL, err);
}

/* ---- all of it ---- */

/* A laboratory of the user's stays untouched: this comes before anything is made. */
static enum assay_status refuse_foreign(const char *directory, struct assay_error *err)
{
	char *path = mem_format("%s/.assay/emulated/state", directory);
	struct emulate_state state;
	bool made = false;
	enum assay_status st = emulate_state_read(path, &state, err);

	for (size_t i = 0; i < state.n; i++)
		made = made || state.things[i].kind == EMULATE_THING_LABORATORY;
	if (!st)
		st = emulate_lab_check(directory, made, err);
	emulate_state_release(&state);
	free(path);
	return st;
}

static enum assay_status clear_earlier(struct bringup *b, struct assay_error *err)
{
	char *path = mem_format("%s/state", b->site.base);
	bool found = false;
	enum assay_status st = emulate_site_clear(&b->site, b->listener, &found, err);

	if (!st)
		st = emulate_state_begin(path, b->site.tag, &b->site.state, err);
	free(path);
	return st;
}

static enum assay_status bring_up(struct bringup *b, struct assay_error *err)
{
	enum assay_status st = make_laboratory(&b->site, err);

	if (st)
		return st;
	choose_network(b);
	st = choose_groups(b, err);
	if (!st)
		st = start_hosts(b, err);
	return st ? st : emulate_lab_write(&b->site, b->hosts, b->options->n_hosts, err);
}

static void hand_out(const struct bringup *b, struct emulate_fleet *out)
{
	size_t n = b->options->n_hosts;

	*out = (struct emulate_fleet){ .directory = mem_string(b->site.directory),
				       .user = mem_string(b->site.user),
				       .namespaces = b->site.namespaces,
				       .hosts = mem_new(n, sizeof(*out->hosts)),
				       .n = n };
	for (size_t i = 0; i < n; i++) {
		const struct emulate_host *host = &b->hosts[i];

		out->hosts[i] = (struct emulated){ mem_string(host->name), mem_string(host->address),
						   mem_string(host->profile->name), host->port };
	}
}

static void bringup_release(struct bringup *b)
{
	for (size_t i = 0; i < b->options->n_hosts; i++)
		emulate_host_release(&b->hosts[i]);
	for (size_t i = 0; i < b->n_profiles; i++)
		emulate_profile_release(&b->profiles[i]);
	free(b->hosts);
	free(b->profiles);
	emulate_site_close(&b->site);
}

enum assay_status emulate_up(const struct emulate_options *options, struct emulate_listener *listener, struct emulate_fleet *out,
			     struct assay_error *err)
{
	struct bringup b = { .options = options, .listener = listener, .site = { .netlink = -1, .state = -1, .lock = -1 } };
	struct assay_error ignored;
	bool found;
	enum assay_status st;

	ASSAY_BUG_IF(!options->n_hosts || options->n_hosts > EMULATE_HOSTS_MAX);
	*out = (struct emulate_fleet){ 0 };
	b.hosts = mem_new(options->n_hosts, sizeof(*b.hosts));
	for (size_t i = 0; i < options->n_hosts; i++)
		b.hosts[i].reserved = b.hosts[i].channel = -1;
	st = load_profiles(&b, err);
	if (!st)
		st = refuse_foreign(options->directory, err);
	if (!st)
		st = emulate_site_open(options->directory, true, &b.site, err);
	if (!st)
		st = emulate_site_check(&b.site, err);
	if (!st)
		st = clear_earlier(&b, err);
	if (!st) {
		st = bring_up(&b, err);
		if (st)
			emulate_site_clear(&b.site, NULL, &found, &ignored);
	}
	if (!st)
		hand_out(&b, out);
	bringup_release(&b);
	return st;
}

void emulate_fleet_release(struct emulate_fleet *fleet)
{
	for (size_t i = 0; i < fleet->n; i++) {
		free(fleet->hosts[i].name);
		free(fleet->hosts[i].address);
		free(fleet->hosts[i].profile);
	}
	free(fleet->hosts);
	free(fleet->directory);
	free(fleet->user);
	*fleet = (struct emulate_fleet){ 0 };
}
