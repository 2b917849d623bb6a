/* Commands of this folder, for the table in main.c. */
#ifndef FLEET_COMMANDS_H
#define FLEET_COMMANDS_H

#include "base/command.h"

extern const struct command init_command, host_up_command, host_down_command, host_copy_command, host_exec_command, backup_command;

#endif
