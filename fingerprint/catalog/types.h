/* Hardware types: machines that a model treats as the same. Models are validated by type and count by type, because machines of one type
 * repeat the same information. The first rule that applies gives the type:
 * 1. the type that was given for the fingerprint (the column `type` of `host import`);
 * 2. the type of the host in lab.yaml;
 * 3. the profile of an emulated host;
 * 4. CPU model, sockets x cores x threads and memory size, if the catalog knows them;
 * 5. average-linkage clusters of all other fingerprints of the battery, by the logarithms of the medians of the steady CPU stressors
 * (docs/evidence/statistics.md). */
#ifndef FINGERPRINT_CATALOG_TYPES_H
#define FINGERPRINT_CATALOG_TYPES_H

#include "base/error.h"
#include "fingerprint/catalog/catalog.h"
#include "fleet/agent/facts.h"
#include "fleet/lab/lab.h"

#include <stddef.h>

#define TYPES_CUT .3 /* maximum average Euclidean distance, in natural logarithms, within a cluster of one type */

struct types_member {
	const struct machine *machine;
	const struct machine_fingerprint *fingerprint; /* `machine` and `fingerprint` are owned by the catalog */
	size_t type;
};

struct hardware_type_entry {
	char *name;
	char *reason; /* reason why the members are of one type */
};

struct types {
	struct hardware_type_entry *types; /* [n], sorted by name */
	size_t n;
	struct types_member *members; /* [n_members] all fingerprints of the catalog, sorted by fingerprint id */
	size_t n_members;
};

/* Finds all types. The catalog must outlive *out. O(fingerprints^2). Overwrites *out; the caller calls types_release(). */
void types_compute(const struct catalog *catalog, const struct lab_config *config, struct types *out);
void types_release(struct types *types);

/* Returns the type of a host by rules 2 to 4, from its present facts; NULL if unknown. free() it. */
char *types_find_host_type(const struct host *host, const struct facts *facts);

/* Returns the index of the fingerprint's type; SIZE_MAX if the catalog does not have the fingerprint. */
size_t types_find(const struct types *types, const char *fingerprint_id);

#endif
