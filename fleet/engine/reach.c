#include "fleet/engine/reach.h"

#include "base/command.h"
#include "base/mem.h"

#include <errno.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the path of a file in the .ssh directory of the account's home; the variable HOME has no effect. OpenSSH uses the same directory
 * when it reads the configuration and connects to jump hosts. */
static char *home_file(const char *name)
{
	const struct passwd *me = getpwuid(geteuid());

	return mem_format("%s/.ssh/%s", me ? me->pw_dir : "", name);
}

/* Refuses a file that other users can write, as OpenSSH does, because they could redirect connections. Sets *there if the file exists. */
static enum assay_status ssh_config_check(const char *path, bool *there, struct assay_error *err)
{
	struct stat info;

	*there = stat(path, &info) == 0;
	if (!*there && errno != ENOENT && errno != ENOTDIR)
		return assay_fail_errno(err, errno, "cannot read '%s'", path);
	if (*there && ((info.st_uid != 0 && info.st_uid != geteuid()) || (info.st_mode & 022)))
		return assay_fail(err, ASSAY_E_FORMAT, "'%s' belongs to another user or is writable by others: chown and chmod 600 it",
				  path);
	return ASSAY_OK;
}

enum assay_status reach_init(const struct lab *lab, struct reach *out, struct assay_error *err)
{
	struct reach reach = { .directory = mem_string(lab->directory),
			       .known_hosts_path = mem_format("%s/known_hosts", lab->directory),
			       .config = home_file("config"),
			       .known = known_hosts_new(),
			       .fanout = (size_t)lab->config.fanout };
	char *files[] = { mem_string(reach.known_hosts_path), home_file("known_hosts"), home_file("known_hosts2"),
			  mem_string("/etc/ssh/ssh_known_hosts"), mem_string("/etc/ssh/ssh_known_hosts2") };
	bool there = false;
	enum assay_status st = ssh_config_check(reach.config, &there, err);

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (!st)
			st = known_hosts_read(reach.known, files[i], err);
		free(files[i]);
	}
	if (!there) {
		free(reach.config);
		reach.config = NULL;
	}
	*out = reach;
	if (st)
		reach_release(out);
	return st;
}

void reach_release(struct reach *reach)
{
	free(reach->config);
	known_hosts_free(reach->known);
	mem_free(reach->directory, reach->known_hosts_path);
	*reach = (struct reach){ 0 };
}

struct fleet_options reach_fleet_options(const struct reach *reach)
{
	return (struct fleet_options){
		.fanout = reach->fanout, .directory = reach->directory, .config = reach->config, .known = reach->known, .note = cli_note
	};
}
