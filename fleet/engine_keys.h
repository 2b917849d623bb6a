/* Private keys, each read once a run. Private to fleet/. */
#ifndef FLEET_ENGINE_KEYS_H
#define FLEET_ENGINE_KEYS_H

#include <libssh/libssh.h>
#include <stdbool.h>
#include <stddef.h>

struct key_file {
	char *path;
	ssh_key key;      /* NULL: cannot be used */
	bool absent;      /* there is no such file */
	char reason[256]; /* why it cannot be used, with the remedy; never anything of its contents */
};

struct keys {
	struct key_file **files;
	size_t n, capacity;
};

const struct key_file *keys_get(struct keys *keys, const char *path);
void keys_release(struct keys *keys);

#endif
