/* ~/.ssh/config as it is written. Private to ssh_config*.c. */
#ifndef FLEET_SSH_CONFIG_PARSE_H
#define FLEET_SSH_CONFIG_PARSE_H

#include "fleet/ssh/ssh_config.h"
#include "fleet/ssh/ssh_config_keys.h"

#include <stdbool.h>

/* `Host` or `Match` and what follows it; the first block is what stands above both, and has no key. */
struct ssh_config_block {
	const struct ssh_config_key *key;
	char **patterns; /* [n_patterns] of Host */
	size_t n_patterns;
	size_t line;
};

/* One line that counts: skipped keys are not kept. */
struct ssh_config_value {
	const struct ssh_config_key *key;
	char **words; /* [n_words], at least one */
	size_t n_words;
	size_t line;
	size_t block;
};

struct ssh_config {
	char *name; /* for messages */
	struct ssh_config_block *blocks; /* [n_blocks] */
	size_t n_blocks, blocks_capacity;
	struct ssh_config_value *values; /* [n_values], in the order of the file */
	size_t n_values, values_capacity;
};

#endif
