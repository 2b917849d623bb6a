/* What a command stresses on this machine: run again and again for some time, without a laboratory, and measured by the kernel. */
#ifndef GATE_PROFILE_HERE_H
#define GATE_PROFILE_HERE_H

#include "base/document.h"
#include "base/error.h"

#include <stdbool.h>

/* words[n]: the command, which gets no input. It runs as often as the budget allows, at least once and at most HERE_RUNS_MAX times, under
 * the box's lock, as everything that is measured. ASSAY_E_NODATA when it fails. */
#define HERE_RUNS_MAX 200
enum assay_status here_profile(const char *const *words, size_t n, double budget_s, bool progress, struct document *d,
			       struct assay_error *err);

#endif
