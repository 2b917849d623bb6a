/* Which fingerprint does a word of the user mean? */
#ifndef FINGERPRINT_CATALOG_CHOOSE_H
#define FINGERPRINT_CATALOG_CHOOSE_H

#include "base/error.h"
#include "fingerprint/catalog/catalog.h"

/* MACHINE (its latest fingerprint), a fingerprint's id, or MACHINE@DATE, where DATE is the beginning of exactly one of the machine's
 * times ("2026-11-20T10"). Complete fingerprints of the store only. Several or none is an error that lists what there is. */
enum assay_status choose_fingerprint(const struct fingerprint_set *set, const char *word, const struct fingerprint **out,
				     struct assay_error *err);

/* The machine of the catalog with this id; an error that names the nearest one when there is none. */
enum assay_status choose_machine(const struct catalog *catalog, const char *id, struct machine **out, struct assay_error *err);

#endif
