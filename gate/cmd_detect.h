/* What `assay detect` and `assay model train` share. */
#ifndef GATE_CMD_DETECT_H
#define GATE_CMD_DETECT_H

#include "base/command.h"
#include "gate/detect/side.h"
#include "model/anomaly/detector.h"

/* A directory of samples, or APP@VERSION of the laboratory; type NULL: any. Remarks on what of it is left out. */
enum assay_status cmd_detect_side(const char *word, const char *type, struct side *out, struct assay_error *err);

/* For the option --model. */
enum assay_status cmd_detect_scorer(const char *text, void *to, struct assay_error *err);

size_t cmd_detect_threads(void); /* processors */

#define CMD_DETECT_RATE_LEAST 1e-6
#define CMD_DETECT_RATE_MOST  .5
#define CMD_DETECT_SEED_MAX   (INT64_C(1) << 53)

#endif
