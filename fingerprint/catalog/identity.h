/* Checks whether a host is the machine that the catalog knows by this name. */
#ifndef FINGERPRINT_CATALOG_IDENTITY_H
#define FINGERPRINT_CATALOG_IDENTITY_H

#include "base/buf.h"
#include "base/error.h"
#include "fingerprint/catalog/catalog.h"
#include "fleet/agent/facts.h"

#include <stdbool.h>
#include <stdint.h>

/* Compares the evidence in `facts` with the catalog. ASSAY_E_CONFLICT: the machine with this id had another machine-id, board or CPU (a
 * swap), or another machine with fingerprints has this machine-id or board (a clone, or a second name). Never merges silently. */
enum assay_status identity_check(const struct catalog *catalog, const char *id, const struct facts *facts, struct assay_error *err);

/* Records that a machine of the catalog was reinstalled: `facts` may have another machine-id, but nothing else that identity_check()
 * refuses. `evidence` gets the compared evidence as text. A machine unknown to the catalog stays unknown. */
enum assay_status identity_reinstall(struct catalog *catalog, const char *id, const struct facts *facts, struct buf *evidence,
				     struct assay_error *err);

/* Returns the shell command that renames a machine, or completes that. free() it. */
char *identity_rename_command(const char *from, const char *to);

/* Stores the evidence in the machine; keeps values that the facts lack. */
void identity_take(struct machine_identity *identity, const struct facts *facts);

#endif
