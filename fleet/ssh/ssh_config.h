/* The published subset of ~/.ssh/config that assay honours (docs/formats.md): blocks `Host` with patterns, in them HostName, User,
 * Port, IdentityFile, ProxyJump, UserKnownHostsFile; as in OpenSSH the first value found counts. Keys that change what a
 * connection is and are not in the subset (Match, Include, ProxyCommand, HostKeyAlias, CertificateFile, ...) are errors when their
 * block matches a host that is used; keys that change only comfort (ForwardAgent, ServerAliveInterval, ...) are skipped; keys that
 * nobody knows are errors. */
#ifndef FLEET_SSH_CONFIG_H
#define FLEET_SSH_CONFIG_H

#include "base/error.h"

#include <stddef.h>

#define SSH_CONFIG_BYTES_MAX (1u << 20)

struct ssh_config; /* the file, parsed */

struct ssh_settings {
	char *host_name, *user, *proxy_jump; /* NULL: not said */
	int port;                            /* 0: not said */
	char **identity_files;               /* [n_identity_files], all that match, "~" and %d %u %h %r expanded */
	size_t n_identity_files;
	char **known_hosts_files;            /* [n_known_hosts_files] of UserKnownHostsFile */
	size_t n_known_hosts_files;
};

/* From text; `name` is for messages. *out NULL on failure; ssh_config_free() it. */
enum assay_status ssh_config_parse(const char *name, const char *text, size_t n, struct ssh_config **out, struct assay_error *err);
/* Of a file; one that does not exist is an empty configuration. */
enum assay_status ssh_config_read(const char *path, struct ssh_config **out, struct assay_error *err);
void ssh_config_free(struct ssh_config *config);

/* What it says of a host as it is called in lab.yaml (its address there). *out is overwritten; ssh_settings_release() it. */
enum assay_status ssh_config_look_up(const struct ssh_config *config, const char *host, struct ssh_settings *out, struct assay_error *err);
void ssh_settings_release(struct ssh_settings *settings);

#endif
