/* All fingerprints of the store, incomplete ones too, without their rates; and the raw cells of one. */
#ifndef FINGERPRINT_STORED_LISTING_H
#define FINGERPRINT_STORED_LISTING_H

#include "base/error.h"
#include "fingerprint/stored/fingerprint.h"
#include "fleet/lab/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct listing_item {
	char id[FINGERPRINT_ID_BYTES];
	char *machine, *battery, *battery_hash, *stress_ng, *architecture, *origin;
	char *profile, *conditions; /* or NULL */
	int64_t taken_ms, passes;   /* passes that have a cell */
	int64_t measured, missing;  /* cells with a rate above 0, and those without */
	bool complete;
};

struct listing {
	struct listing_item *items; /* [n], by machine, then time, then id */
	size_t n;
};

/* *out is overwritten; listing_release() it. */
enum assay_status listing_load(struct store *store, struct listing *out, struct assay_error *err);
void listing_release(struct listing *listing);

struct listing_cell {
	char *stressor;
	int64_t pass;
	double per_s, real_per_s; /* NaN: not measured, not known */
	char *reason;             /* why not, else NULL */
};

/* By stressor, then pass: the cells of one fingerprint. *out[*n]; listing_cells_free() them. */
enum assay_status listing_cells(struct store *store, const char *id, struct listing_cell **out, size_t *n, struct assay_error *err);
void listing_cells_free(struct listing_cell *cells, size_t n);

#endif
