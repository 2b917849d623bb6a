/* Sub-commands of this folder, for the table in main.c. */
#ifndef FLEET_CMD_H
#define FLEET_CMD_H

#include "base/command.h"

extern const struct command init_command, fleet_up_command, fleet_down_command, fleet_list_command;

int cmd_fleet_trust(int argc, char **argv, const char *directory);
int cmd_fleet_check(int argc, char **argv, const char *directory);
int cmd_fleet_put(int argc, char **argv, const char *directory);
int cmd_fleet_get(int argc, char **argv, const char *directory);
int cmd_fleet_exec(int argc, char **argv, const char *directory);

#endif
