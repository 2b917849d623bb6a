/* What a night compares, resolved once at its beginning: branches to commits, "the last release" to a version, patterns to names. */
#ifndef GATE_NIGHTLY_FREEZE_H
#define GATE_NIGHTLY_FREEZE_H

#include "fleet/lab/lab.h"
#include "gate/nightly/night.h"
#include "gate/nightly/suite.h"

#include <signal.h>

/* `suite`: its file's name is `file`, for messages. only: these applications (patterns); n == 0: all. A comparison without a baseline is
 * among them, with its reason in `detail`. What contradicts the laboratory (unknown hosts, applications, versions) is ASSAY_E_USAGE. *out
 * is overwritten; night_comparisons_release() it. */
enum assay_status nightly_freeze(struct lab *lab, const char *file, const struct suite *suite, const struct manifest_words *only,
				 const volatile sig_atomic_t *cancelled, struct night_comparisons *out, struct assay_error *err);

#endif
