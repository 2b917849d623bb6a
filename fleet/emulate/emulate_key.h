/* SSH keys of emulated hosts and of their user: ed25519, without a passphrase, in OpenSSH's own format (PROTOCOL.key of OpenSSH).
 */
#ifndef FLEET_EMULATE_KEY_H
#define FLEET_EMULATE_KEY_H

#include "base/error.h"

/* The key pair `path` (mode 600) and `path`.pub: made where one of the two is missing, else kept. *line is the public key as
 * "ssh-ed25519 BASE64"; free() it. */
enum assay_status emulate_key_make(const char *path, const char *comment, char **line, struct assay_error *err);

/* Writes a file of the fleet: with this mode, not synced (it is made again by the next `up`). */
enum assay_status emulate_write(const char *path, const char *bytes, size_t n, unsigned mode, struct assay_error *err);

#endif
