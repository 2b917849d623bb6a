/* Keys of hosts, as OpenSSH keeps them (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT): read once, then asked for every host. Hashed names,
 * wildcards and negation, [host]:port, @revoked and @cert-authority. As with OpenSSH, a host of another port of which nothing is
 * known is looked up without the port too.
 * Cost: the first question about a host is O(lines), .2 us a hashed line; what was found is kept, so that later ones are O(log
 * hosts). Not for several threads at a time. */
#ifndef FLEET_KNOWN_HOSTS_H
#define FLEET_KNOWN_HOSTS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- a key, as on the wire and as people compare it ---- */

#define HOSTKEY_TYPE_BYTES  64
#define HOSTKEY_SHOWN_BYTES 64

struct hostkey {
	unsigned char *blob; /* [n] as on the wire; free() it */
	size_t n;
	char type[HOSTKEY_TYPE_BYTES];	 /* "ssh-ed25519" */
	char shown[HOSTKEY_SHOWN_BYTES]; /* "SHA256:...", as ssh-keygen -l shows it */
};

/* From base64 text (up to a blank or the end). False when it is not a key. *out is overwritten; hostkey_release() it. */
bool hostkey_from_base64(const char *text, struct hostkey *out);
void hostkey_release(struct hostkey *key);

/* ---- what is known ---- */

#define KNOWN_HOSTS_BYTES_MAX (64u << 20)

struct known_hosts; /* all lines of all files */

struct known_hosts *known_hosts_new(void);
void known_hosts_free(struct known_hosts *known); /* accepts NULL */

/* Adds the lines of a text. A line that cannot be read is an error that names it (a known_hosts that is half understood is not
 * safe). O(bytes). */
enum assay_status known_hosts_parse(struct known_hosts *known, const char *name, const char *text, size_t n, struct assay_error *err);
/* Adds a file, once; one that does not exist adds nothing. */
enum assay_status known_hosts_read(struct known_hosts *known, const char *path, struct assay_error *err);

enum known_hosts_answer {
	KNOWN_HOSTS_OK,
	KNOWN_HOSTS_UNKNOWN,	    /* nothing is known of this host */
	KNOWN_HOSTS_CHANGED,	    /* another key of this kind, or only keys of other kinds, are known */
	KNOWN_HOSTS_REVOKED,	    /* the key is marked @revoked (for this host) */
	KNOWN_HOSTS_ONLY_AUTHORITY, /* only a @cert-authority is known, and the host has shown a plain key */
};

/* Whose key it is: the name that was connected to, in any case of letters, and the files that count for it. */
struct known_hosts_who {
	const char *host;
	int port;
	const char *const *files; /* [n_files], names as given to known_hosts_parse(); NULL: all */
	size_t n_files;
};

/* *line and *file (borrowed) name the line that decided, when there is one. */
enum known_hosts_answer known_hosts_ask(const struct known_hosts *known, const struct known_hosts_who *who, const struct hostkey *key,
					const char **file, size_t *line);

/* The host-key algorithms to ask the host for, those of its known keys first, as a comma-separated list out of `offered` (comma-separated):
 * an attacker's key of another kind is not even asked for, and a known RSA key is met by rsa-sha2-512, rsa-sha2-256. free() it. */
char *known_hosts_algorithms(const struct known_hosts *known, const struct known_hosts_who *who, const char *offered);

/* The line for a key, with the name as OpenSSH writes it ("[host]:port" unless the port is 22), no newline. free() it. */
char *known_hosts_line(const char *host, int port, const struct hostkey *key);

#endif
