/* What the fingerprints of one machine are to each other when `catalog drift` looks for changes. */
#ifndef FINGERPRINT_COMPARE_DRIFT_H
#define FINGERPRINT_COMPARE_DRIFT_H

#include "fingerprint/catalog/machine.h"

#include <stdbool.h>
#include <stdint.h>

/* Is it the latest of its kind (battery, stress-ng, architecture) of this machine, of those that are not after now_ms? */
bool drift_is_latest(const struct machine *machine, const struct machine_fingerprint *f, int64_t now_ms);

/* The version of stress-ng of the fingerprint before, of the same battery and architecture, when f is the first of another one; else NULL.
 */
const char *drift_version_before(const struct machine *machine, const struct machine_fingerprint *f);

/* What a fingerprint of the machine is compared with: the one that was accepted last, else its first. *acceptance (may be NULL): of
 * it, or NULL. */
const struct machine_fingerprint *drift_reference(const struct machine *machine, const struct machine_fingerprint *latest,
						  const struct machine_acceptance **acceptance);

#endif
