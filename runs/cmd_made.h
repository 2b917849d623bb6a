/* Files of samples that a program has left in a directory: `assay probe` and `assay emulate run`. */
#ifndef RUNS_CMD_MADE_H
#define RUNS_CMD_MADE_H

#include "base/buf.h"
#include "base/error.h"

/* Names of the files of samples that are in the directory before the program runs, one after each NUL. buf_release() them. */
void cmd_made_before(const char *directory, struct buf *names);

/* Says on standard error how many samples came since, and what to do with them. ASSAY_E_NODATA when there are none; then `nothing` says
 * why, unless they were dropped. */
enum assay_status cmd_made(const char *directory, const struct buf *before, const char *nothing, struct assay_error *err);

#endif
