/* Baselines that users accepted: baselines.yaml in the laboratory, kept in git with the other files that users write. For an application,
 * the last entry that has not expired counts. */
#ifndef GATE_NIGHTLY_BASELINES_H
#define GATE_NIGHTLY_BASELINES_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define BASELINES_FILE	 "baselines.yaml"
#define BASELINES_DAY_MS INT64_C(86400000)

struct baseline {
	char *application; /* NAME or NAME/INPUT; NAME applies to all inputs without an own entry */
	char *version, *reason;
	int64_t accepted_ms; /* start of the day of acceptance, UTC, ms since 1970 */
	int64_t until_ms;    /* end of the last day of validity, UTC, ms since 1970; INT64_MAX if the entry does not expire */
	size_t line;
};

struct baselines {
	struct baseline *items; /* [n], in file order */
	size_t n;
};

/* Reads baselines.yaml; no file gives no entries. Overwrites *out, which is empty after a failure; baselines_release() it. */
enum assay_status baselines_read(const char *laboratory, struct baselines *out, struct assay_error *err);
enum assay_status baselines_parse(const char *name, const char *text, size_t n, struct baselines *out, struct assay_error *err);
void baselines_release(struct baselines *baselines); /* accepts a zeroed struct */

/* Returns the entry that counts for an application (NAME or NAME/INPUT) at `now_ms`; NULL if none does. */
const struct baseline *baselines_find(const struct baselines *baselines, const char *application, int64_t now_ms);

/* Returns the expired entry that stands after the entry that counts at `now_ms` and would otherwise replace it; NULL if there is none. */
const struct baseline *baselines_expired(const struct baselines *baselines, const char *application, int64_t now_ms);

/* Returns "accepted on 2026-11-23, until 2026-12-31: REASON", then the text of a later entry that has `expired` (NULL: none). free() it. */
char *baselines_text(const struct baseline *baseline, const struct baseline *expired);
/* Returns "'v2' expired on 2026-12-31". free() it. */
char *baselines_expired_text(const struct baseline *expired);

#endif
