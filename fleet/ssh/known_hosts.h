/* Known host keys in OpenSSH's format (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT). The files are read once; then hosts are looked up. Supports
 * hashed names, wildcards and negation, [host]:port, @revoked and @cert-authority. Like OpenSSH, looks up an unknown host with another port
 * than 22 also without its port. Not thread-safe. The first lookup of a host takes O(lines), 0.2 us per hashed line. Its result is kept, so
 * later lookups take O(log hosts). */
#ifndef FLEET_KNOWN_HOSTS_H
#define FLEET_KNOWN_HOSTS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- a host key: wire format and fingerprint ---- */

#define HOSTKEY_TYPE_BYTES	  64
#define HOSTKEY_FINGERPRINT_BYTES 64

struct hostkey {
	unsigned char *blob; /* [n] key in wire format; owned */
	size_t n;
	char type[HOSTKEY_TYPE_BYTES];			  /* type of the key, such as "ssh-ed25519" */
	char fingerprint_text[HOSTKEY_FINGERPRINT_BYTES]; /* fingerprint "SHA256:...", as `ssh-keygen -l` prints it */
};

/* Reads a key from base64 text, up to white space or the end. Returns false if it is no key. Overwrites *out; call hostkey_release(). */
bool hostkey_from_base64(const char *text, struct hostkey *out);
void hostkey_release(struct hostkey *key);

/* ---- the known host keys of all files ---- */

#define KNOWN_HOSTS_BYTES_MAX (64u << 20)

struct known_hosts; /* lines of all files that were read */

struct known_hosts *known_hosts_new(void);
void known_hosts_free(struct known_hosts *known); /* accepts NULL */

/* Adds the lines of a text, in O(bytes). An invalid line is an error that names the line, because skipping it could miss a revoked key. */
enum assay_status known_hosts_parse(struct known_hosts *known, const char *name, const char *text, size_t n, struct assay_error *err);
/* Adds the lines of a file. Does nothing if the file was added before or does not exist. */
enum assay_status known_hosts_read(struct known_hosts *known, const char *path, struct assay_error *err);

enum known_hosts_result {
	KNOWN_HOSTS_OK,
	KNOWN_HOSTS_UNKNOWN,	    /* no key of the host is known */
	KNOWN_HOSTS_CHANGED,	    /* keys of the host are known, of any type, but not this key */
	KNOWN_HOSTS_REVOKED,	    /* a line for this host marks the key as @revoked */
	KNOWN_HOSTS_ONLY_AUTHORITY, /* only a @cert-authority is known for the host, but the host sent a key without certificate */
};

/* The host to look up, and the files to use. */
struct known_hosts_query {
	const char *host;
	int port;
	const char *const *files; /* [n_files] names of files, as given to known_hosts_parse(); NULL for all files */
	size_t n_files;
};

/* Judges a key that a host sent. *file (borrowed) and *line name the line that decides; they are NULL and 0 if no line applies. */
enum known_hosts_result known_hosts_check(const struct known_hosts *known, const struct known_hosts_query *who, const struct hostkey *key,
					  const char **file, size_t *line);

/* Returns `offered`, a comma-separated list of host-key algorithms, reordered: those of the host's known keys come first, so that the
 * server chooses a type for which a key is known. A known RSA key counts for rsa-sha2-512 and rsa-sha2-256. free() it. */
char *known_hosts_algorithms(const struct known_hosts *known, const struct known_hosts_query *who, const char *offered);

/* Returns the known_hosts line for a key, without a newline. The host is "[host]:port" unless the port is 22. The caller frees the line. */
char *known_hosts_line(const char *host, int port, const struct hostkey *key);

#endif
