/* The catalog of machines: the directory machines/, which has one file per machine. */
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
	struct machine *machines; /* [n], sorted by id */
	size_t n;
};

/* Errors of all invalid files of a catalog. Each text is one line. */
struct catalog_problems {
	char **texts; /* [n] */
	size_t n, capacity;
};
void catalog_problems_release(struct catalog_problems *problems);

/* Reads all machines into *out. A missing directory gives an empty catalog. If `problems` is NULL, the first invalid file is an error.
 * Otherwise, invalid files are excluded and listed in *problems. The caller calls catalog_release(). */
enum assay_status catalog_load(const char *directory, struct catalog_problems *problems, struct catalog *out, struct assay_error *err);
void catalog_release(struct catalog *catalog);

const struct machine *catalog_find(const struct catalog *catalog, const char *id); /* Returns NULL if there is no such machine. */

/* Returns the machine with this id; adds an empty machine if there is none. The pointer is valid until the next call. */
struct machine *catalog_ensure_machine(struct catalog *catalog, const char *id);

/* Adds the summaries of all fingerprints in `set` to the catalog in memory, but not to its files. */
void catalog_put(struct catalog *catalog, const struct fingerprint_set *set);

/* Writes each machine whose file is missing or differs. *written gets the number of written files. */
enum assay_status catalog_save(const struct catalog *catalog, size_t *written, struct assay_error *err);

/* Excludes the hosts of retired machines, so that no command uses them. Ignores unreadable files. */
enum assay_status catalog_exclude_retired(struct lab *lab, struct assay_error *err);

/* ---- command-line arguments that name a fingerprint or a machine ---- */

/* Finds a complete fingerprint by its id, by MACHINE (the latest one of this machine) or by MACHINE@DATE. DATE is the start of the time of
 * exactly one fingerprint, such as "2026-11-20T10". If none or several match, the error lists the candidates. */
enum assay_status choose_fingerprint(const struct fingerprint_set *set, const char *word, const struct fingerprint **out,
				     struct assay_error *err);

/* Finds the catalog's machine with this id. If there is none, the error suggests the most similar id. */
enum assay_status choose_machine(const struct catalog *catalog, const char *id, struct machine **out, struct assay_error *err);

#endif
