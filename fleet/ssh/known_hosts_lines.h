/* The lines of known_hosts files, and which of them are about a host. Private to known_hosts*.c. */
#ifndef FLEET_KNOWN_HOSTS_LINES_H
#define FLEET_KNOWN_HOSTS_LINES_H

#include "fleet/ssh/known_hosts.h"

#define KNOWN_HOSTS_HASH_BYTES 20 /* SHA-1; salts are as long */

enum known_hosts_marker { KNOWN_HOSTS_PLAIN, KNOWN_HOSTS_REVOKED_MARK, KNOWN_HOSTS_AUTHORITY_MARK };

struct known_hosts_entry {
	enum known_hosts_marker marker;
	char *hosts;           /* holds the patterns, in lower case */
	const char **patterns; /* [n_patterns]; NULL when the name is hashed */
	size_t n_patterns;
	bool literal;          /* one name, without wildcards */
	unsigned char salt[KNOWN_HOSTS_HASH_BYTES], hash[KNOWN_HOSTS_HASH_BYTES];
	char *type;            /* of the key */
	unsigned char *blob;   /* [n_blob] */
	size_t n_blob;
	const char *file;      /* of known_hosts.files */
	size_t line;
};

/* What has been found about one name: hashed lines are not asked twice. */
struct known_hosts_matches {
	char *name;
	const struct known_hosts_entry **entries; /* [n], in the order of the files */
	size_t n;
};

struct known_hosts_cache {
	struct known_hosts_matches *names; /* [n], sorted */
	size_t n, capacity;
};

struct known_hosts {
	struct known_hosts_entry *entries; /* [n] */
	size_t n, capacity;
	char **files; /* [n_files] */
	size_t n_files, files_capacity;
	struct known_hosts_cache *cache;
};

/* Lines about `name`, which is in lower case and has its port as in the files. Borrowed until the next call. */
const struct known_hosts_matches *known_hosts_match(const struct known_hosts *known, const char *name);
void known_hosts_forget_matches(struct known_hosts *known);

#endif
