/* A fingerprint while it is taken: everything is committed as it arrives, so that an interruption loses nothing, and counts as a
 * fingerprint only once it is complete. */
#ifndef FINGERPRINT_TAKE_TAKING_H
#define FINGERPRINT_TAKE_TAKING_H

#include "base/error.h"
#include "fingerprint/battery/battery.h"
#include "fingerprint/battery/stressng.h"
#include "fingerprint/stored/fingerprint.h"

#include <stdbool.h>
#include <stdint.h>

/* An interrupted fingerprint is resumed so long after its beginning, and a complete one not taken anew. */
#define TAKING_RESUME_MS (24 * 3600 * 1000)

struct taking {
	char id[FINGERPRINT_ID_BYTES];
	bool complete; /* it was when it was opened: nothing is left to do */
	int64_t passes;
	bool *done; /* [passes x battery->n]: this stressor was tried in this pass */
	size_t n;   /* battery->n */
};

/* TAKING_RESUME_COUNTED: a complete one without counters of stressors is not complete. */
enum taking_mode { TAKING_NEW, TAKING_RESUME, TAKING_RESUME_COUNTED };

/* Starts a fingerprint; or, unless `mode` is TAKING_NEW, goes on with the latest one of the same machine, profile, battery, stress-ng
 * version and architecture that began less than TAKING_RESUME_MS before key->taken_ms, which may be complete. conditions: JSON text;
 * profile: of an emulated host, or NULL. *out is overwritten; taking_release() it. */
enum assay_status taking_open(struct store *store, const struct fingerprint_key *key, const struct battery *battery, const char *origin,
			      const char *profile, const char *conditions, enum taking_mode mode, struct taking *out,
			      struct assay_error *err);
void taking_release(struct taking *taking);

/* The next cell to measure, passes first: false when all are done. */
bool taking_next(const struct taking *taking, int64_t *pass, size_t *entry);

/* What came of a cell; committed before it returns. With metrics, which are measured, `text` is what stress-ng wrote and `signature` that
 * of its run (signature_text(); NULL: none); without (NULL), why there are none. */
enum assay_status taking_keep(struct store *store, struct taking *taking, int64_t pass, size_t entry, const char *name,
			      const struct stressng_metrics *metrics, const char *text, const char *signature, struct assay_error *err);

/* Makes it a fingerprint, with the conditions known by now (NULL: those of the beginning). One in which nothing at all was measured stays
 * incomplete: ASSAY_E_NODATA, with the most common reason. */
enum assay_status taking_complete(struct store *store, const struct taking *taking, const char *conditions, struct assay_error *err);

#endif
