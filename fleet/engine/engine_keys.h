/* Private keys, each read once a run. Private to fleet/. */
#ifndef FLEET_ENGINE_KEYS_H
#define FLEET_ENGINE_KEYS_H

#include <libssh/libssh.h>
#include <stdbool.h>
#include <stddef.h>

struct engine_key_file {
	char *path;
	ssh_key key;      /* NULL: cannot be used */
	bool absent;      /* there is no such file */
	char reason[256]; /* why it cannot be used, with the remedy; never anything of its contents */
};

struct engine_keys {
	struct engine_key_file **files;
	size_t n, capacity;
};

const struct engine_key_file *engine_keys_get(struct engine_keys *keys, const char *path);
void engine_keys_release(struct engine_keys *keys);

#endif
