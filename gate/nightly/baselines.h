/* The versions that users accepted as baselines: baselines.yaml in the laboratory, kept in git with the other files that users write. The
 * last entry that names an application counts, unless it has expired; then the one before it. */
#ifndef GATE_NIGHTLY_BASELINES_H
#define GATE_NIGHTLY_BASELINES_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define BASELINES_FILE	 "baselines.yaml"
#define BASELINES_DAY_MS INT64_C(86400000)

struct baseline {
	char *application; /* NAME, or NAME/INPUT; NAME applies to all inputs without an entry of their own */
	char *version, *reason;
	int64_t accepted_ms; /* start of the day of acceptance, UTC */
	int64_t until_ms;    /* end of the last day on which it counts, UTC; INT64_MAX: it does not expire */
	size_t line;
};

struct baselines {
	struct baseline *items; /* [n], in the order of the file */
	size_t n;
};

/* Reads the laboratory's file; none if there is no file. *out is overwritten, empty after a failure; baselines_release() it. */
enum assay_status baselines_read(const char *laboratory, struct baselines *out, struct assay_error *err);
enum assay_status baselines_parse(const char *name, const char *text, size_t n, struct baselines *out, struct assay_error *err);
void baselines_release(struct baselines *baselines); /* accepts zeroed */

/* Returns the entry that counts for an application (NAME or NAME/INPUT) at that time; NULL if none does. */
const struct baseline *baselines_find(const struct baselines *baselines, const char *application, int64_t now_ms);

/* Returns the expired entry that would otherwise count at that time; NULL if there is none after the one that counts. */
const struct baseline *baselines_expired(const struct baselines *baselines, const char *application, int64_t now_ms);

/* Returns "accepted on 2026-11-23, until 2026-12-31: REASON", and a later entry that has expired (NULL: none). free() it. */
char *baselines_text(const struct baseline *baseline, const struct baseline *expired);
/* Returns "'v2' expired on 2026-12-31". free() it. */
char *baselines_expired_text(const struct baseline *expired);

#endif
