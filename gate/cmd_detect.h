/* What `assay detect` and `assay model` share. */
#ifndef GATE_CMD_DETECT_H
#define GATE_CMD_DETECT_H

#include "base/cli.h"
#include "gate/detect/side.h"

/* A directory of samples, or APP@VERSION of the laboratory in `directory`; type NULL: any. */
enum assay_status detect_side(const char *directory, const char *word, const char *type, struct side *out, struct assay_error *err);
/* Says what of it was left out. */
void detect_side_note(const struct cli *cli, const struct side *side);
/* Makes samples of both, as 'assay run APP --versions OLD,NEW --probe'. */
enum assay_status detect_run(const struct cli *cli, const char *old, const char *new, struct assay_error *err);
/* Processors. */
size_t detect_threads(void);

#endif
