/* Counters of a fingerprint, for people and as JSON. */
#ifndef FINGERPRINT_COUNTERS_COUNTERS_PRINT_H
#define FINGERPRINT_COUNTERS_COUNTERS_PRINT_H

#include "base/buf.h"
#include "base/json.h"
#include "fingerprint/counters/counters.h"

/* Nothing when the fingerprint has no counters. */
enum assay_status counters_print(struct store *store, const char *fingerprint, struct buf *out, struct assay_error *err);
/* *out: an object, or JSON null when there are none; cJSON_Delete() it. */
enum assay_status counters_json(struct store *store, const char *fingerprint, cJSON **out, struct assay_error *err);

#endif
