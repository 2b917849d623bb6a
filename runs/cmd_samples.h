/* What `assay samples` shows; private to cmd_samples*.c. */
#ifndef RUNS_CMD_SAMPLES_H
#define RUNS_CMD_SAMPLES_H

#include "base/buf.h"
#include "base/cli.h"
#include "base/json.h"
#include "runs/inside/samples/samples.h"

/* What is in one file; `name` is that of the file. */
void cmd_samples_human(const char *name, const struct samples *samples, struct buf *out);
cJSON *cmd_samples_json(const char *name, const struct samples *samples);

/* Is it APP[@VERSION], and no file? */
bool cmd_samples_is_selector(const char *text);
/* The files that the laboratory has of a version; `show` (may be NULL): what is in those whose hash begins so. */
enum assay_status cmd_samples_stored(const struct cli *cli, const char *selector, const char *show, struct buf *out, struct assay_error *err);

#endif
