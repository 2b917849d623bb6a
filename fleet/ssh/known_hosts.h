/* Known host keys in OpenSSH's format (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT): reads the files once, then looks up each host. Supports
 * hashed names, wildcards and negation, [host]:port, @revoked and @cert-authority. As in OpenSSH, an unknown host with another port than
 * 22 is also looked up without its port. Not thread-safe.
 * Cost: the first lookup of a host is O(lines), 0.2 us per hashed line. Results are kept, so later lookups are O(log hosts). */
#ifndef FLEET_KNOWN_HOSTS_H
#define FLEET_KNOWN_HOSTS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- one key, in wire format and as users compare it ---- */

#define HOSTKEY_TYPE_BYTES  64
#define HOSTKEY_SHOWN_BYTES 64

struct hostkey {
	unsigned char *blob; /* [n] key in wire format; owned */
	size_t n;
	char type[HOSTKEY_TYPE_BYTES];	 /* type of the key, such as "ssh-ed25519" */
	char shown[HOSTKEY_SHOWN_BYTES]; /* fingerprint "SHA256:...", as ssh-keygen -l prints it */
};

/* Reads a key from base64 text up to white space or the end. False: the text is not a key. Overwrites *out; hostkey_release() it. */
bool hostkey_from_base64(const char *text, struct hostkey *out);
void hostkey_release(struct hostkey *key);

/* ---- known keys ---- */

#define KNOWN_HOSTS_BYTES_MAX (64u << 20)

struct known_hosts; /* lines of all files */

struct known_hosts *known_hosts_new(void);
void known_hosts_free(struct known_hosts *known); /* accepts NULL */

/* Adds the lines of a text, in O(bytes). An invalid line is an error that names the line: skipping it could miss a revoked key. */
enum assay_status known_hosts_parse(struct known_hosts *known, const char *name, const char *text, size_t n, struct assay_error *err);
/* Adds the lines of a file. Does nothing if the file was added before or is missing. */
enum assay_status known_hosts_read(struct known_hosts *known, const char *path, struct assay_error *err);

enum known_hosts_answer {
	KNOWN_HOSTS_OK,
	KNOWN_HOSTS_UNKNOWN,	    /* no key of the host is known */
	KNOWN_HOSTS_CHANGED,	    /* the host's known keys, of the same type or of other types, differ from this key */
	KNOWN_HOSTS_REVOKED,	    /* a line for this host marks the key as @revoked */
	KNOWN_HOSTS_ONLY_AUTHORITY, /* only a @cert-authority is known for the host, but the host sent a plain key */
};

/* The host to look up. */
struct known_hosts_subject {
	const char *host;
	int port;
	const char *const *files; /* [n_files] names of the files to use, as given to known_hosts_parse(); NULL: all files */
	size_t n_files;
};

/* Judges a key. Sets *file (borrowed) and *line to the deciding line; NULL and 0 if no line applies. */
enum known_hosts_answer known_hosts_ask(const struct known_hosts *known, const struct known_hosts_subject *who, const struct hostkey *key,
					const char **file, size_t *line);

/* Returns `offered`, a comma-separated list of host-key algorithms, with those of the host's known keys first. So the server does not
 * choose a type for which no key is known. A known RSA key counts for rsa-sha2-512 and rsa-sha2-256. free() it. */
char *known_hosts_algorithms(const struct known_hosts *known, const struct known_hosts_subject *who, const char *offered);

/* Returns the known_hosts line for a key, without a newline. The name is "[host]:port" unless the port is 22. free() it. */
char *known_hosts_line(const char *host, int port, const struct hostkey *key);

#endif
