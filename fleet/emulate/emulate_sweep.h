/* Ending every process of an emulated fleet, however it was left. */
#ifndef FLEET_EMULATE_SWEEP_H
#define FLEET_EMULATE_SWEEP_H

#include "base/error.h"
#include "fleet/emulate/emulate_state.h"

#include <stddef.h>

/* Kills what the state names (same pid and same start), everything below it (each sshd is a subreaper, so nothing that a session
 * started escapes from below it), members of its control groups, and whatever carries its mark in its environment (ASSAY_FLEET)
 * or writes to a log below `directory`. Returns when none is left: *ended processes; ASSAY_E_IO names one that would not end.
 * O(processes of the machine) a round. */
enum assay_status emulate_sweep(const struct emulate_state *state, const char *directory, size_t *ended, struct assay_error *err);

/* Adds to the state the links and control groups on this machine that carry its tag and stand in no state: the directory of a
 * fleet was removed while it stood. */
void emulate_sweep_orphans(struct emulate_state *state);

#endif
