/* Is the machine that answers the one that the catalog knows under this name? */
#ifndef FINGERPRINT_CATALOG_IDENTITY_H
#define FINGERPRINT_CATALOG_IDENTITY_H

#include "base/error.h"
#include "fingerprint/catalog/catalog.h"
#include "fleet/agent/facts.h"

/* Compares the evidence of `facts` with the catalog: ASSAY_E_CONFLICT when the machine with this id had another machine-id, board or
 * CPU (a swap), or when another machine has this machine-id or board (a clone, or a second name). Never merged silently. */
enum assay_status identity_check(const struct catalog *catalog, const char *id, const struct facts *facts, struct assay_error *err);

/* Can they be one machine? ASSAY_E_CONFLICT when some evidence says that they are not. */
enum assay_status identity_contradict(const struct machine *a, const struct machine *b, struct assay_error *err);

/* Do they look like two, by their latest fingerprints: one emulated and the other not, or with another profile, of another architecture, of
 * another given type, or with other processors? ASSAY_E_CONFLICT, which says in what; parts can be changed, so it is no proof. */
enum assay_status identity_differ(const struct machine *a, const struct machine *b, struct assay_error *err);

/* The command that makes `other` one with `id`, for a shell; one that completes a renaming is the same. free() it. */
char *identity_merge_command(const char *other, const char *id);

/* Writes the evidence into the machine; what the facts do not say stays. */
void identity_take(struct machine_identity *identity, const struct facts *facts);

#endif
