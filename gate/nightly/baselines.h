/* Reads baselines.yaml, the file in the laboratory that lists the baselines that users have accepted. Users edit this file and keep it in
 * git. If several entries apply to an application, the last entry that has not expired counts. */
#ifndef GATE_NIGHTLY_BASELINES_H
#define GATE_NIGHTLY_BASELINES_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define BASELINES_FILE	 "baselines.yaml"
#define BASELINES_DAY_MS INT64_C(86400000)

struct baseline {
	char *application; /* NAME, or NAME/INPUT for one input; an entry for NAME applies to inputs without an entry of their own */
	char *version, *reason;
	int64_t accepted_ms; /* start of the day on which a user accepted the baseline, UTC, ms since 1970 */
	int64_t until_ms;    /* end of the last day on which the entry is valid, UTC, ms since 1970; INT64_MAX if the entry never expires */
	size_t line;
};

struct baselines {
	struct baseline *items; /* [n], in the order of the file */
	size_t n;
};

/* Reads the laboratory's baselines.yaml. If the file does not exist, *out has no entries. Overwrites *out, which is empty after a failure.
 * The caller releases *out by baselines_release(). */
enum assay_status baselines_read(const char *laboratory, struct baselines *out, struct assay_error *err);
enum assay_status baselines_parse(const char *name, const char *text, size_t n, struct baselines *out, struct assay_error *err);
void baselines_release(struct baselines *baselines); /* Accepts a zeroed struct. */

/* Returns the entry that counts for an application (NAME or NAME/INPUT) at the time `now_ms`; NULL if no entry counts. */
const struct baseline *baselines_find(const struct baselines *baselines, const char *application, int64_t now_ms);

/* Returns an entry that had expired at `now_ms` but would otherwise count instead of an earlier entry; NULL if there is no such entry. */
const struct baseline *baselines_find_expired(const struct baselines *baselines, const char *application, int64_t now_ms);

/* Returns a text such as "accepted on 2026-11-23, until 2026-12-31: REASON". Appends a note on `expired`, a later entry that has expired,
 * unless `expired` is NULL. The caller frees the text. */
char *baselines_text(const struct baseline *baseline, const struct baseline *expired);
/* Returns a text such as "'v2' expired on 2026-12-31". The caller frees it. */
char *baselines_expired_text(const struct baseline *expired);

#endif
