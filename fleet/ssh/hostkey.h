/* Public keys of hosts, as on the wire and as people compare them. */
#ifndef FLEET_HOSTKEY_H
#define FLEET_HOSTKEY_H

#include <stdbool.h>
#include <stddef.h>

#define HOSTKEY_TYPE_BYTES  64
#define HOSTKEY_SHOWN_BYTES 64

struct hostkey {
	unsigned char *blob; /* [n] as on the wire; free() it */
	size_t n;
	char type[HOSTKEY_TYPE_BYTES];   /* "ssh-ed25519" */
	char shown[HOSTKEY_SHOWN_BYTES]; /* "SHA256:...", as ssh-keygen -l shows it */
};

/* From base64 text (up to a blank or the end). False when it is no key. *out is overwritten; hostkey_release() it. */
bool hostkey_from_base64(const char *text, struct hostkey *out);
void hostkey_release(struct hostkey *key);

#endif
