/* Checks whether a host is the machine that the catalog has under this id. */
#ifndef FINGERPRINT_CATALOG_IDENTITY_H
#define FINGERPRINT_CATALOG_IDENTITY_H

#include "base/buf.h"
#include "base/error.h"
#include "fingerprint/catalog/catalog.h"
#include "fleet/agent/facts.h"

#include <stdbool.h>
#include <stdint.h>

/* Compares the evidence in `facts` with the catalog. Never merges machines. ASSAY_E_CONFLICT: machine `id` had another machine-id, board or
 * CPU (swapped hardware), or another machine with fingerprints has the same machine-id or board (a clone, or a second name). */
enum assay_status identity_check(const struct catalog *catalog, const char *id, const struct facts *facts, struct assay_error *err);

/* Records that the system of machine `id` was reinstalled: its machine-id may differ. Any other conflict of identity_check() is an error.
 * `evidence` gets the comparison as text. Does not add a machine that the catalog lacks. */
enum assay_status identity_record_reinstall(struct catalog *catalog, const char *id, const struct facts *facts, struct buf *evidence,
					    struct assay_error *err);

/* Returns the shell command that renames a machine, or completes an interrupted renaming. free() it. */
char *identity_rename_command(const char *from, const char *to);

/* Copies evidence into *identity. Keeps old values where `facts` has none. */
void identity_update(struct machine_identity *identity, const struct facts *facts);

#endif
