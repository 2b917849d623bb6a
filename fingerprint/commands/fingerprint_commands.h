/* Sub-commands of this folder, for the table in main.c. */
#ifndef FINGERPRINT_COMMANDS_H
#define FINGERPRINT_COMMANDS_H

#include "base/command.h"

extern const struct command host_check_command, host_measure_command, fingerprint_show_command, fingerprint_diff_command,
    catalog_list_command, host_show_command, catalog_types_command, check_command, host_drift_command, host_accept_command,
    host_rename_command, host_retire_command, host_trust_command;

#endif
