/* The versions that people have accepted as baselines: baselines.yaml in the laboratory, kept in git with the rest of what people say. The
 * last entry that names an application counts, unless it has expired; then the one before it. */
#ifndef GATE_NIGHTLY_BASELINES_H
#define GATE_NIGHTLY_BASELINES_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define BASELINES_FILE	 "baselines.yaml"
#define BASELINES_DAY_MS INT64_C(86400000)

struct baseline {
	char *application; /* NAME, or NAME/INPUT; NAME is of all inputs that have no entry of their own */
	char *version, *reason;
	int64_t accepted_ms; /* the start of that day, UTC */
	int64_t until_ms;    /* its end, UTC; INT64_MAX: it does not expire */
	size_t line;
};

struct baselines {
	struct baseline *items; /* [n], as the file has them */
	size_t n;
};

/* Where there is no file there are none. *out is overwritten, empty after a failure; baselines_release() it. */
enum assay_status baselines_read(const char *laboratory, struct baselines *out, struct assay_error *err);
enum assay_status baselines_parse(const char *name, const char *text, size_t n, struct baselines *out, struct assay_error *err);
void baselines_release(struct baselines *baselines); /* accepts zeroed */

/* The entry that counts for an application (NAME or NAME/INPUT) at that time; NULL: none does. */
const struct baseline *baselines_find(const struct baselines *baselines, const char *application, int64_t now_ms);

/* The entry that would count if it had not expired by then; NULL: none was accepted after the one that counts. */
const struct baseline *baselines_expired(const struct baselines *baselines, const char *application, int64_t now_ms);

/* "accepted on 2026-11-23, until 2026-12-31: it does more", and which one that was accepted later has expired (NULL: none); free() it. */
char *baselines_text(const struct baseline *baseline, const struct baseline *expired);
/* "'v2', accepted on 2026-11-23, expired on 2026-12-31"; free() it. */
char *baselines_expired_text(const struct baseline *expired);

#endif
