/* Hardware types: machines that are the same to a model. All validation and counting is by type, because machines of one type repeat the
 * same information. In this order:
 *   1. the type that was given for the fingerprint (the column `type` of `host import`);
 *   2. the type of the host in lab.yaml;
 *   3. the profile of an emulated host;
 *   4. CPU model, sockets x cores x threads and memory size, where the catalog knows them;
 *   5. average-linkage clusters of the logged medians of the steady CPU stressors over all fingerprints of the battery that
 *      have none of the former (docs/evidence/statistics.md). */
#ifndef FINGERPRINT_CATALOG_TYPES_H
#define FINGERPRINT_CATALOG_TYPES_H

#include "base/error.h"
#include "fingerprint/catalog/catalog.h"
#include "fleet/agent/facts.h"
#include "fleet/lab/lab.h"

#include <stddef.h>

#define TYPES_CUT .3 /* average Euclidean distance of natural logs: clusters with less are one type */

struct types_member {
	const struct machine *machine;
	const struct machine_fingerprint *fingerprint; /* both in the catalog, borrowed */
	size_t type;
};

struct types_type {
	char *name;
	char *why; /* why its members are one type */
};

struct types {
	struct types_type *types; /* [n], by name */
	size_t n;
	struct types_member *members; /* [n_members], every fingerprint of the catalog, by fingerprint id */
	size_t n_members;
};

/* Finds all types. The catalog must outlive the result. O(fingerprints^2). Overwrites *out; types_release() it. */
void types_of(const struct catalog *catalog, const struct lab_config *config, struct types *out);
void types_release(struct types *types);

/* Returns the present type of a host, by rules 2 to 4; NULL: unknown. free() it. */
char *types_of_host(const struct host *host, const struct facts *facts);

/* Returns the type of a fingerprint; SIZE_MAX: it is not in the catalog. */
size_t types_find(const struct types *types, const char *fingerprint_id);

#endif
