/* What other programs do for emulated hosts: `ip` makes their networks, `ssh-keygen` their keys. */
#ifndef FLEET_EMULATE_TOOLS_H
#define FLEET_EMULATE_TOOLS_H

#include "base/error.h"

#include <stdint.h>

#define EMULATE_NET_PREFIX 22 /* addresses of one fleet: 10.x.y.0/22 */

/* The key pair `path` (mode 600) and `path`.pub, ed25519 without a passphrase: made where one of the two is missing, else kept.
 * *line is the public key as "ssh-ed25519 BASE64"; free() it. */
enum assay_status emulate_key_make(const char *path, const char *comment, char **line, struct assay_error *err);

/* A private network (its address in host order) that no route of this machine touches, the default route apart; `seed` spreads
 * laboratories. */
enum assay_status emulate_net_choose(uint32_t seed, uint32_t *network, struct assay_error *err);
/* Runs lines of ip(8), such as "link set lo up", until one fails: "cannot WHAT: ...". Needs CAP_NET_ADMIN. */
enum assay_status emulate_net_change(const char *what, const char *lines, struct assay_error *err);

#endif
