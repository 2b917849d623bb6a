/* Sub-commands of this folder, for the table in main.c. */
#ifndef FLEET_COMMANDS_H
#define FLEET_COMMANDS_H

#include "base/command.h"

extern const struct command init_command, fleet_up_command, fleet_down_command, fleet_list_command, fleet_check_command,
    fleet_import_command, fleet_put_command, fleet_get_command, fleet_exec_command, backup_command;

#endif
