/* lab.yaml first, then ~/.ssh/config, then what OpenSSH takes when nobody says anything. */
#include "fleet/engine/engine_internal.h"

#include "base/mem.h"

#include <pwd.h>
#include <unistd.h>

static const char *const default_keys[] = { "id_ed25519", "id_ecdsa", "id_rsa" };

static char *expand(const struct engine_targets *targets, const char *directory, const char *path)
{
	if (strncmp(path, "~/", 2) == 0)
		return mem_format("%s%s", targets->home, path + 1);
	if (path[0] == '/' || !directory || strcmp(directory, ".") == 0)
		return mem_string(path);
	return mem_format("%s/%s", directory, path);
}

static void find_identities(const struct engine_targets *targets, struct engine_target *target, const struct host *host,
			    const char *directory)
{
	const struct ssh_settings *settings = &target->settings;
	size_t n_defaults = sizeof(default_keys) / sizeof(default_keys[0]);

	target->identities_named = host->identity_file || settings->n_identity_files;
	target->n_identities = host->identity_file ? 1 : settings->n_identity_files ? settings->n_identity_files : n_defaults;
	target->identities = mem_new(target->n_identities, sizeof(char *));
	for (size_t i = 0; i < target->n_identities; i++) {
		if (host->identity_file)
			target->identities[i] = expand(targets, directory, host->identity_file);
		else if (settings->n_identity_files)
			target->identities[i] = mem_string(settings->identity_files[i]);
		else
			target->identities[i] = mem_format("%s/.ssh/%s", targets->home, default_keys[i]);
	}
}

static void describe(const struct engine_targets *targets, struct engine_target *target, const struct host *host,
		     const struct fleet_options *options)
{
	struct ssh_settings *settings = &target->settings;
	struct assay_error err;

	if (options->config && ssh_config_look_up(options->config, host->address, settings, &err)) {
		*settings = (struct ssh_settings){ 0 };
		target->problem = mem_string(err.text);
		return;
	}
	target->address = settings->host_name ? settings->host_name : host->address;
	target->port = host->port ? host->port : settings->port ? settings->port : 22;
	target->user = host->user ? host->user : settings->user ? settings->user : targets->user;
	target->jump = settings->proxy_jump && strcmp(settings->proxy_jump, "none") != 0 ? settings->proxy_jump : NULL;
	find_identities(targets, target, host, options->directory);
}

void engine_targets_init(struct engine_targets *targets, const struct host *const *hosts, size_t n,
			 const struct fleet_options *options)
{
	const struct passwd *me = getpwuid(geteuid());
	const char *home = getenv("HOME");

	*targets = (struct engine_targets){ .items = mem_new(n, sizeof(*targets->items)), .n = n };
	targets->user = mem_string(me ? me->pw_name : "root");
	targets->home = mem_string(home && *home ? home : me ? me->pw_dir : "/");
	for (size_t i = 0; i < n; i++) {
		if (!hosts[i]->local)
			describe(targets, &targets->items[i], hosts[i], options);
	}
}

void engine_targets_release(struct engine_targets *targets)
{
	for (size_t i = 0; i < targets->n; i++) {
		struct engine_target *target = &targets->items[i];

		for (size_t k = 0; k < target->n_identities; k++)
			free(target->identities[k]);
		free(target->identities);
		ssh_settings_release(&target->settings);
		free(target->problem);
	}
	free(targets->items);
	free(targets->user);
	free(targets->home);
	*targets = (struct engine_targets){ 0 };
}
