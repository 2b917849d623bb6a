/* Sub-commands of this folder, for the table in main.c. */
#ifndef FINGERPRINT_COMMANDS_H
#define FINGERPRINT_COMMANDS_H

#include "base/command.h"

extern const struct command fingerprint_run_command, fingerprint_show_command, fingerprint_diff_command;
extern const struct command catalog_list_command, catalog_show_command, catalog_types_command, catalog_check_command, catalog_drift_command;
extern const struct command catalog_accept_drift_command, catalog_rename_command, catalog_retire_command, fleet_trust_command;

#endif
