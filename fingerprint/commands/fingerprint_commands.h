/* Commands of this folder, for the table in main.c. */
#ifndef FINGERPRINT_COMMANDS_H
#define FINGERPRINT_COMMANDS_H

#include "base/command.h"

extern const struct command host_check_command, host_measure_command, host_show_command, check_command, host_drift_command,
    host_accept_command, host_rename_command, host_retire_command, host_trust_command;

/* Shows the fingerprint `which` with all its passes. If `which` is NULL, lists all fingerprints. */
enum assay_status fingerprint_passes_show(struct lab *lab, const char *which, struct document *d, struct assay_error *err);

#endif
