#include "fleet/fleet_setup.h"

#include "base/mem.h"

static const char *home(void)
{
	const char *directory = getenv("HOME");

	return directory && *directory == '/' ? directory : NULL;
}

static enum assay_status read_known(struct known_hosts *known, const char *directory, const char *file, struct assay_error *err)
{
	char *path = mem_format("%s/%s", directory, file);
	enum assay_status st = known_hosts_read(known, path, err);

	free(path);
	return st;
}

enum assay_status fleet_setup_open(const struct lab *lab, const volatile sig_atomic_t *cancelled, struct fleet_setup *out,
				   struct assay_error *err)
{
	struct fleet_setup setup = { .known = known_hosts_new() };
	char *config = mem_format("%s/.ssh/config", home() ? home() : "");
	enum assay_status st = read_known(setup.known, lab->directory, "known_hosts", err);

	if (!st && home())
		st = read_known(setup.known, home(), ".ssh/known_hosts", err);
	if (!st)
		st = read_known(setup.known, "/etc/ssh", "ssh_known_hosts", err);
	if (!st && home())
		st = ssh_config_read(config, &setup.config, err);
	setup.options = (struct fleet_options){ .directory = lab->directory, .known = setup.known, .config = setup.config,
						.cancelled = cancelled };
	free(config);
	*out = setup;
	if (st)
		fleet_setup_release(out);
	return st;
}

void fleet_setup_release(struct fleet_setup *setup)
{
	known_hosts_free(setup->known);
	ssh_config_free(setup->config);
	*setup = (struct fleet_setup){ 0 };
}
