/* What ~/.ssh/config says of one host, read by OpenSSH itself (`ssh -G`), so that Include, Match, patterns and tokens mean what they mean
 * there. What we cannot do is refused by name. */
#ifndef FLEET_SSH_CONFIG_H
#define FLEET_SSH_CONFIG_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct ssh_settings {
	char *host_name, *user;
	int port;
	char *proxy_jump, *host_key_alias; /* NULL: none */
	char **identity_files;		   /* [n_identity_files], expanded */
	size_t n_identity_files;
	bool identities_named; /* identity_files are the user's; else OpenSSH's default ones count */
	bool identities_only;  /* of the agent's keys, only those that identity_files name */
	bool no_agent;
	char **known_hosts_files; /* [n_known_hosts_files], of the user and of the system */
	size_t n_known_hosts_files;
};

/* The command for sh whose output is the settings of a host as lab.yaml has it: config NULL for OpenSSH's defaults; port 0 and user NULL
 * where lab.yaml does not say. free() it. */
char *ssh_config_command(const char *config, const char *host, int port, const char *user);

/* Its output as settings. `defaults` is that of the command without a config; `host` is as in lab.yaml; user and home are ours. *out is
 * overwritten; ssh_settings_release() it. ASSAY_E_FORMAT names what cannot be honoured. */
enum assay_status ssh_settings_parse(const char *text, const char *defaults, const char *host, const char *user, const char *home,
				     struct ssh_settings *out, struct assay_error *err);
void ssh_settings_release(struct ssh_settings *settings);

/* One value of that output, as it stands there; free() it. NULL: none. */
char *ssh_settings_value(const char *text, const char *key);

/* Who may write the file decides where connections go: as OpenSSH, one that others may write is refused. *there: it exists. */
enum assay_status ssh_config_check(const char *path, bool *there, struct assay_error *err);

#endif
