/* The laboratory's own file of host keys: what `assay fleet trust` does to it. */
#ifndef FLEET_TRUST_H
#define FLEET_TRUST_H

#include "base/buf.h"
#include "base/error.h"
#include "fleet/ssh/known_hosts.h"

#include <stdbool.h>

enum trust_action { TRUST_RECORDED, TRUST_REPLACED, TRUST_KNOWN, TRUST_REFUSED };

/* What is to be done with the key that a host has shown. */
struct trust_step {
	enum trust_action action;
	char message[256]; /* one line; "" when there is nothing to say */
};

/* The parts of a line as known_hosts_line() makes it. False when it is none. free(*host), hostkey_release(key). */
bool trust_parse(const char *line, char **host, int *port, struct hostkey *key);

/* Changes `text`, the contents of the laboratory's own file (`own` is its path), so that the host is known by the key of `line`.
 * `known` is all that is known so far. A changed key is refused unless `replace`: then lines of this host alone are taken out of the
 * text. A revoked key is always refused. */
enum assay_status trust_key(struct buf *text, const char *own, const struct known_hosts *known, const char *line, bool replace,
			    struct trust_step *out, struct assay_error *err);

#endif
