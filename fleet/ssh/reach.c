#include "fleet/ssh/reach.h"

#include "base/mem.h"

#include <pwd.h>
#include <unistd.h>

static char *home_file(const char *name)
{
	const char *home = getenv("HOME");
	const struct passwd *me = home && *home ? NULL : getpwuid(getuid());

	return mem_format("%s/.ssh/%s", home && *home ? home : me ? me->pw_dir : "", name);
}

/* The files that UserKnownHostsFile names for any of the hosts, each once. What is wrong with the configuration of one host is
 * said when that host is contacted. */
static enum assay_status read_named(struct reach *reach, const struct host *const *hosts, size_t n, struct assay_error *err)
{
	char **seen = NULL;
	size_t n_seen = 0, capacity = 0;
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < n; i++) {
		struct ssh_settings settings = { 0 };

		if (hosts[i]->local || ssh_config_look_up(reach->config, hosts[i]->address, &settings, err))
			continue;
		for (size_t f = 0; !st && f < settings.n_known_hosts_files; f++) {
			size_t k = 0;

			while (k < n_seen && strcmp(seen[k], settings.known_hosts_files[f]) != 0)
				k++;
			if (k < n_seen)
				continue;
			seen = mem_grow(seen, n_seen, &capacity, sizeof(*seen));
			seen[n_seen++] = mem_string(settings.known_hosts_files[f]);
			st = known_hosts_read(reach->known, seen[k], err);
		}
		ssh_settings_release(&settings);
	}
	for (size_t k = 0; k < n_seen; k++)
		free(seen[k]);
	free(seen);
	return st;
}

enum assay_status reach_init(const char *directory, const struct host *const *hosts, size_t n, struct reach *out,
			     struct assay_error *err)
{
	struct reach reach = { .directory = mem_string(directory), .own = mem_format("%s/known_hosts", directory),
			       .known = known_hosts_new() };
	char *users = home_file("known_hosts"), *config = home_file("config");
	enum assay_status st = ssh_config_read(config, &reach.config, err);

	if (!st)
		st = known_hosts_read(reach.known, reach.own, err);
	if (!st)
		st = known_hosts_read(reach.known, users, err);
	if (!st)
		st = known_hosts_read(reach.known, "/etc/ssh/ssh_known_hosts", err);
	if (!st)
		st = read_named(&reach, hosts, n, err);
	free(users);
	free(config);
	*out = reach;
	if (st)
		reach_release(out);
	return st;
}

void reach_release(struct reach *reach)
{
	ssh_config_free(reach->config);
	known_hosts_free(reach->known);
	free(reach->directory);
	free(reach->own);
	*reach = (struct reach){ 0 };
}

struct fleet_options reach_options(const struct reach *reach)
{
	return (struct fleet_options){ .directory = reach->directory, .config = reach->config, .known = reach->known };
}
