/* Sample files that a program has left in a directory: `assay probe`, `assay emulate run` and `assay record`. */
#ifndef RUNS_CMD_MADE_H
#define RUNS_CMD_MADE_H

#include "base/error.h"

/* ASSAY_E_USAGE where the directory has sample files: with those of another run they would look like one run that did both. */
enum assay_status cmd_made_none_yet(const char *directory, struct assay_error *err);

/* Says on standard error how many samples there are now, and what to do with them. ASSAY_E_NODATA if there are none: because samples were
 * dropped or lost, no file came (no_file), or nothing was called (no_call). */
enum assay_status cmd_made(const char *directory, const char *no_file, const char *no_call, struct assay_error *err);

#endif
