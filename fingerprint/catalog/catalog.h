/* The catalog: machines/, one file per machine. */
#ifndef FINGERPRINT_CATALOG_CATALOG_H
#define FINGERPRINT_CATALOG_CATALOG_H

#include "base/error.h"
#include "fingerprint/catalog/machine.h"
#include "fingerprint/stored/fingerprint.h"
#include "fleet/lab/lab.h"

#include <stddef.h>

#define CATALOG_FILE_BYTES_MAX (16u << 20)

struct catalog {
	char *directory;
	struct machine *machines; /* [n], by id */
	size_t n;
};

/* All faults of a catalog, one line each. */
struct catalog_problems {
	char **texts; /* [n] */
	size_t n, capacity;
};
void catalog_problems_release(struct catalog_problems *problems);

/* Reads all machines; a missing directory is an empty catalog. With problems == NULL, the first invalid file is the error; otherwise
 * invalid files are excluded and listed. Overwrites *out; catalog_release() it. */
enum assay_status catalog_load(const char *directory, struct catalog_problems *problems, struct catalog *out, struct assay_error *err);
void catalog_release(struct catalog *catalog);

const struct machine *catalog_find(const struct catalog *catalog, const char *id); /* NULL: not found */

/* Returns the machine with this id, a new one if necessary; valid until the next call. */
struct machine *catalog_machine(struct catalog *catalog, const char *id);

/* Adds the summaries of all fingerprints in the store to the catalog (in memory). */
void catalog_put(struct catalog *catalog, const struct fingerprint_set *set);

/* Writes the machines whose file is missing or differs; *written: how many. */
enum assay_status catalog_save(const struct catalog *catalog, size_t *written, struct assay_error *err);

/* Sets aside the hosts whose machines are retired. Skips unreadable files. */
enum assay_status catalog_set_aside(struct lab *lab, struct assay_error *err);

/* ---- arguments that name a fingerprint or a machine ---- */

/* Finds a complete fingerprint of the store by MACHINE (its latest one), id, or MACHINE@DATE, where DATE is the start of exactly one of the
 * machine's times ("2026-11-20T10"). Several or none is an error that lists the existing ones. */
enum assay_status choose_fingerprint(const struct fingerprint_set *set, const char *word, const struct fingerprint **out,
				     struct assay_error *err);

/* Finds the machine of the catalog with this id; else an error names the nearest one. */
enum assay_status choose_machine(const struct catalog *catalog, const char *id, struct machine **out, struct assay_error *err);

#endif
