/* Is the machine that answers the one that the catalog knows under this name? */
#ifndef FINGERPRINT_CATALOG_IDENTITY_H
#define FINGERPRINT_CATALOG_IDENTITY_H

#include "base/buf.h"
#include "base/error.h"
#include "fingerprint/catalog/catalog.h"
#include "fleet/agent/facts.h"

#include <stdbool.h>
#include <stdint.h>

/* Compares the evidence of `facts` with the catalog: ASSAY_E_CONFLICT when the machine with this id had another machine-id, board or
 * CPU (a swap), or when another machine with fingerprints has this machine-id or board (a clone, or a second name). Never merged silently.
 */
enum assay_status identity_check(const struct catalog *catalog, const char *id, const struct facts *facts, struct assay_error *err);

/* Makes a machine of the catalog one whose system was installed again: `facts` may have another machine-id, and nothing else that
 * identity_check() refuses. `evidence` gets what was compared, in words. A machine that the catalog does not know stays unknown. */
enum assay_status identity_reinstall(struct catalog *catalog, const char *id, const struct facts *facts, struct buf *evidence,
				     struct assay_error *err);

/* Returns the command that gives a machine another name, or completes that, for a shell. free() it. */
char *identity_rename_command(const char *from, const char *to);

/* Writes the evidence into the machine; what the facts do not say stays. */
void identity_take(struct machine_identity *identity, const struct facts *facts);

#endif
