/* The keys of ssh_config(5), and what becomes of each. Private to ssh_config*.c. */
#ifndef FLEET_SSH_CONFIG_KEYS_H
#define FLEET_SSH_CONFIG_KEYS_H

#include <stddef.h>

enum ssh_config_kind {
	SSH_CONFIG_SKIPPED, /* comfort: changes neither whom a connection reaches, nor as whom, nor how it is protected */
	SSH_CONFIG_REFUSED, /* matters, and is not in the subset */
	SSH_CONFIG_HOST,
	SSH_CONFIG_MATCH,
	SSH_CONFIG_IGNORE_UNKNOWN,
	SSH_CONFIG_HOST_NAME,
	SSH_CONFIG_USER,
	SSH_CONFIG_PORT,
	SSH_CONFIG_IDENTITY_FILE,
	SSH_CONFIG_PROXY_JUMP,
	SSH_CONFIG_PROXY_COMMAND, /* refused, but "none" and an earlier ProxyJump make it harmless */
	SSH_CONFIG_KNOWN_HOSTS,
};

struct ssh_config_key {
	const char *name;
	enum ssh_config_kind kind;
	const char *harmless; /* of a refused key: the value that changes nothing, or NULL */
	const char *instead;  /* of a refused key: what to do, or NULL */
};

extern const struct ssh_config_key ssh_config_keys[];
extern const size_t ssh_config_keys_n;

const struct ssh_config_key *ssh_config_key_find(const char *name); /* case does not matter; NULL when nobody knows it */
const char *ssh_config_key_nearest(const char *name);               /* NULL when none is near enough to be meant */

#endif
