/* Keys of hosts in OpenSSH's format (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT): read once, then looked up for every host. Supports hashed
 * names, wildcards and negation, [host]:port, @revoked and @cert-authority. As in OpenSSH, an unknown host with another port is looked up
 * without the port, too. Not thread-safe.
 * Cost: the first lookup of a host is O(lines), 0.2 us per hashed line. Results are kept: later lookups are O(log hosts). */
#ifndef FLEET_KNOWN_HOSTS_H
#define FLEET_KNOWN_HOSTS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- a key, in wire format and in the form that users compare ---- */

#define HOSTKEY_TYPE_BYTES  64
#define HOSTKEY_SHOWN_BYTES 64

struct hostkey {
	unsigned char *blob; /* [n] in wire format; free() it */
	size_t n;
	char type[HOSTKEY_TYPE_BYTES];	 /* "ssh-ed25519" */
	char shown[HOSTKEY_SHOWN_BYTES]; /* "SHA256:...", as ssh-keygen -l shows it */
};

/* Reads base64 text (up to a blank or the end). False: it is no key. Overwrites *out; hostkey_release() it. */
bool hostkey_from_base64(const char *text, struct hostkey *out);
void hostkey_release(struct hostkey *key);

/* ---- known keys ---- */

#define KNOWN_HOSTS_BYTES_MAX (64u << 20)

struct known_hosts; /* all lines of all files */

struct known_hosts *known_hosts_new(void);
void known_hosts_free(struct known_hosts *known); /* accepts NULL */

/* Adds the lines of a text. An invalid line is an error that names it: a known_hosts that is understood in part is not safe. O(bytes). */
enum assay_status known_hosts_parse(struct known_hosts *known, const char *name, const char *text, size_t n, struct assay_error *err);
/* Adds a file once; a missing file adds nothing. */
enum assay_status known_hosts_read(struct known_hosts *known, const char *path, struct assay_error *err);

enum known_hosts_answer {
	KNOWN_HOSTS_OK,
	KNOWN_HOSTS_UNKNOWN,	    /* nothing is known of this host */
	KNOWN_HOSTS_CHANGED,	    /* another key of this type, or only keys of other types, are known */
	KNOWN_HOSTS_REVOKED,	    /* the key is marked @revoked (for this host) */
	KNOWN_HOSTS_ONLY_AUTHORITY, /* only a @cert-authority is known, but the host has shown a plain key */
};

/* The host of a key: the name in the connection request (case is ignored), and the files that count for it. */
struct known_hosts_who {
	const char *host;
	int port;
	const char *const *files; /* [n_files], names as given to known_hosts_parse(); NULL: all */
	size_t n_files;
};

/* Judges a key. *line and *file (borrowed): the line that decided, if there is one. */
enum known_hosts_answer known_hosts_ask(const struct known_hosts *known, const struct known_hosts_who *who, const struct hostkey *key,
					const char **file, size_t *line);

/* Returns the host-key algorithms to request, as a comma-separated list from `offered` (comma-separated), those of the host's known keys
 * first. So an attacker's key of another type is not requested. A known RSA key gives rsa-sha2-512, rsa-sha2-256. free() it. */
char *known_hosts_algorithms(const struct known_hosts *known, const struct known_hosts_who *who, const char *offered);

/* Returns the line for a key, with the name as OpenSSH writes it ("[host]:port" unless the port is 22), without a newline. free() it. */
char *known_hosts_line(const char *host, int port, const struct hostkey *key);

#endif
