/* The catalog: machines/, one file a machine. */
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

/* Everything that is wrong with a catalog, one line each. */
struct catalog_problems {
	char **texts; /* [n] */
	size_t n, capacity;
};
void catalog_problems_release(struct catalog_problems *problems);

/* Reads all machines; a directory that is missing is an empty catalog. With problems == NULL the first file that is not valid is
 * the error; otherwise such files are excluded and listed. *out is overwritten; catalog_release() it. */
enum assay_status catalog_load(const char *directory, struct catalog_problems *problems, struct catalog *out, struct assay_error *err);
void catalog_release(struct catalog *catalog);

const struct machine *catalog_find(const struct catalog *catalog, const char *id); /* NULL when not there */

/* The machine with this id, made when it is not there; valid until the next call. */
struct machine *catalog_machine(struct catalog *catalog, const char *id);

/* Brings the summaries of all fingerprints in the store into the catalog (in memory). */
void catalog_put(struct catalog *catalog, const struct fingerprint_set *set);

/* Writes the machines whose file is missing or differs; *written is their number. */
enum assay_status catalog_save(const struct catalog *catalog, size_t *written, struct assay_error *err);

/* Sets the hosts aside whose machines are retired. Files that cannot be read are skipped. */
enum assay_status catalog_set_aside(struct lab *lab, struct assay_error *err);

/* ---- which one does a word of the user mean? ---- */

/* MACHINE (its latest fingerprint), a fingerprint's id, or MACHINE@DATE, where DATE is the start of exactly one of the machine's
 * times ("2026-11-20T10"). Complete fingerprints of the store only. Several or none is an error that lists what there is. */
enum assay_status choose_fingerprint(const struct fingerprint_set *set, const char *word, const struct fingerprint **out,
				     struct assay_error *err);

/* The machine of the catalog with this id; an error that names the nearest one when there is none. */
enum assay_status choose_machine(const struct catalog *catalog, const char *id, struct machine **out, struct assay_error *err);

#endif
