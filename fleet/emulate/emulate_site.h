/* The laboratory's side of an emulated fleet: its directory and lock, and what this machine must have. Private to
 * fleet/emulate*.c. */
#ifndef FLEET_EMULATE_SITE_H
#define FLEET_EMULATE_SITE_H

#include "fleet/emulate/emulate.h"
#include "fleet/emulate/emulate_host.h"

/* Finds the directory (makes it when `make`) and takes the lock of its fleet; ASSAY_E_NOTFOUND where there never was one. *out is
 * overwritten; emulate_site_close() it. */
enum assay_status emulate_site_open(const char *directory, bool make, struct emulate_site *out, struct assay_error *err);
void emulate_site_close(struct emulate_site *site); /* accepts zeroed with descriptors of -1 */

/* sshd is installed, and it would let this user in. Fills site->sshd and site->user. */
enum assay_status emulate_site_check(struct emulate_site *site, struct assay_error *err);

/* Whether this process may make namespaces and a network; *reason (static) why not. */
bool emulate_site_may_unshare(const char **reason);

/* Takes everything away that the state names, with the lock held. */
enum assay_status emulate_site_clear(struct emulate_site *site, struct emulate_listener *listener, bool *found,
				     struct assay_error *err);

/* Tells the listener, who may be NULL. */
void emulate_step(struct emulate_listener *listener, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
